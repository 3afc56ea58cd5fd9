package policy

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
	s, err := yamlxtest.Load("../docs/schema/policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for def, shape := range map[string]any{"": file{}, "termMap": fileTerm{}, "weights": fileWeights{}, "placementMap": filePlacement{},
		"preemptionMap": filePreemption{}, "estimatesMap": fileEstimates{}} {
		want := yamlx.Keys(shape)
		slices.Sort(want)
		if diff := cmp.Diff(want, s.Keys(def)); diff != "" {
			t.Errorf("keys of %q (-code,+schema):\n%s", def, diff)
		}
	}
	for def, want := range map[string][]string{"term": termNames[:], "usage": usageNames[:], "blocking": blockingNames[:], "decide": decideNames[:],
		"placer": placerNames[:], "preempt": preemptNames[:], "estimate": estimateNames[:]} {
		if diff := cmp.Diff(want, s.Enum(def)); diff != "" {
			t.Errorf("words of %q (-code,+schema):\n%s", def, diff)
		}
	}
	for _, name := range Names() {
		source, _ := ShippedSource(name)
		p, _ := Shipped(name)
		for form, data := range map[string][]byte{"as shipped": source, "as written": p.YAML()} {
			root, err := yamlx.Parse(name, data)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(root); err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
			}
		}
	}
}

// The reference names every word, key and shipped policy.
func TestReferenceIsComplete(t *testing.T) {
	data, err := os.ReadFile("../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	words := slices.Concat(yamlx.Keys(file{}), yamlx.Keys(fileWeights{}), termNames[:], blockingNames[:], decideNames[:], placerNames[:],
		preemptNames[:], estimateNames[:], usageNames[:], Names())
	for key := range termKeys {
		words = append(words, key)
	}
	for _, w := range words {
		if !strings.Contains(string(data), "`"+w+"`") {
			t.Errorf("docs/policies.md does not explain `%s`", w)
		}
	}
	for i, block := range strings.Split(string(data), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if strings.Contains(text, "by: cel") {
			continue // package celexpr reads this one
		}
		if _, err := Parse("policies.yaml", []byte(text)); err != nil {
			t.Errorf("example %d of docs/policies.md: %v", i+1, err)
		}
	}
}
