package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

func doc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDocsNameEveryWord holds the closed list against what is implemented.
func TestDocsNameEveryWord(t *testing.T) {
	text := doc(t, "facts.md")
	for _, w := range slices.Concat(kindWords, doWords, codeWords, causeWords, outcomeWords, []string{timerWord}) {
		if w != "" && !strings.Contains(text, "`"+w+"`") {
			t.Errorf("docs/facts.md does not explain `%s`", w)
		}
	}
	text = doc(t, "journal.md")
	for _, f := range fieldNames {
		if !strings.Contains(text, "`"+f+"`") {
			t.Errorf("docs/journal.md does not explain the field `%s`", f)
		}
	}
}

// TestDocsExample writes the example anew, and decides it again.
func TestDocsExample(t *testing.T) {
	_, rest, _ := strings.Cut(doc(t, "journal.md"), "```json\n")
	want, _, _ := strings.Cut(rest, "```")
	m := workload.Minute
	w := &workload.Workload{Name: "demo", Epoch: workload.Unknown, Jobs: []workload.Job{
		{ID: "night", User: "ann", Team: "vision", Need: workload.Need{Tasks: 2, GPUs: 4},
			Contract: workload.Contract{CheckpointInterval: 10 * m, RestartCost: m}},
		{ID: "urgent", User: "ben", Team: "speech", Submit: 15 * m, Priority: 5, Need: workload.Need{GPUs: 2}}},
		Actual: []workload.Actual{{Duration: 60 * m}, {Duration: 20 * m}}}
	data, _ := record(t, sim.Options{Workload: w, Cluster: cluster.Uniform("2x4", 2, 4), Policy: shipped(t, "priority"),
		Assume: sim.Assumptions{Grace: 30 * workload.Second}})
	if got := string(bytes.Replace(data, []byte(`"engine":"test"`), []byte(`"engine":"0.1.0"`), 1)); got != want {
		t.Errorf("docs/journal.md shows\n%s\nbut it is\n%s", want, got)
	}
	if _, err := Replay(reader(t, []byte(want)), true); err != nil {
		t.Error(err)
	}
}
