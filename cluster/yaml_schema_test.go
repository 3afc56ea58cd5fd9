package cluster

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/internal/yamlx/yamlxtest"
)

// The schema that editors use names the same keys and words as the code.
func TestSchemaSaysWhatTheCodeReads(t *testing.T) {
	s, err := yamlxtest.Load("../docs/schema/cluster.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for def, shape := range map[string]any{"": yamlFile{}, "group": yamlGroup{}, "gpuType": yamlType{}, "outage": yamlOutage{}} {
		want := yamlx.Keys(shape)
		slices.Sort(want)
		if diff := cmp.Diff(want, s.Keys(def)); diff != "" {
			t.Errorf("keys of %q (-code,+schema):\n%s", def, diff)
		}
	}
	if diff := cmp.Diff(changeNames, s.Enum("change")); diff != "" {
		t.Errorf("changes (-code,+schema):\n%s", diff)
	}
	root, err := yamlx.Parse("c.yaml", everyKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(root); err != nil {
		t.Error(err)
	}
}

// The reference names every key, and its examples are read.
func TestReferenceIsComplete(t *testing.T) {
	data, err := os.ReadFile("../docs/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	words := slices.Concat(yamlx.Keys(yamlFile{}), yamlx.Keys(yamlGroup{}), yamlx.Keys(yamlType{}), yamlx.Keys(yamlOutage{}), changeNames)
	for _, w := range words {
		if !strings.Contains(string(data), "`"+w+"`") {
			t.Errorf("docs/clusters.md does not explain `%s`", w)
		}
	}
	for i, block := range strings.Split(string(data), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if _, err := ParseYAML("clusters.yaml", []byte(text)); err != nil {
			t.Errorf("example %d of docs/clusters.md: %v", i+1, err)
		}
	}
}
