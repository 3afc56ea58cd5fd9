package policy

import (
	"slices"
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
