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
		"preemptionMap": filePreemption{}, "estimatesMap": fileEstimates{}, "spare": fileLabel{}, "limit": fileLimit{}, "sharing": fileSharing{}, "horizon": fileHorizon{},
		"minRuntime": fileMinRuntime{}, "grace": fileGrace{}, "overKillMap": fileOverKill{}, "evictionsMap": fileEvictions{},
		"reservationsMap": fileReservations{}, "debugMap": fileDebug{}, "charges": fileCharges{}, "sessions": fileSessions{}} {
		want := yamlx.Keys(shape)
		slices.Sort(want)
		if diff := cmp.Diff(want, s.Keys(def)); diff != "" {
			t.Errorf("keys of %q (-code,+schema):\n%s", def, diff)
		}
	}
	for def, want := range map[string][]string{"term": termNames[:], "usage": usageNames[:], "blocking": blockingNames[:], "decide": decideNames[:],
		"placer": placerNames[:], "preempt": preemptNames[:], "estimate": estimateNames[:], "guard": guardNames[:],
		"none": {wordNone}, "evictionWord": {wordUnlimited, wordNone}} {
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
		preemptNames[:], estimateNames[:], usageNames[:], guardNames[:], []string{wordNone, wordUnlimited}, Names())
	for _, shape := range []any{fileLabel{}, fileLimit{}, fileSharing{}, fileMinRuntime{}, fileGrace{}, fileOverKill{}, fileEvictions{}, fileReservations{},
		fileDebug{}, fileCharges{}, fileSessions{}} {
		words = append(words, yamlx.Keys(shape)...)
	}
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
		p, err := Parse("policies.yaml", []byte(text))
		if err != nil {
			t.Errorf("example %d of docs/policies.md: %v", i+1, err)
			continue
		}
		if want := DefaultSharing(); p.Sharing != nil && !cmp.Equal(&want, p.Sharing) {
			t.Errorf("example %d of docs/policies.md does not show the defaults of sharing: %s", i+1, cmp.Diff(&want, p.Sharing))
		}
	}
}

// Schema and code agree on these files: an editor warns of what the program refuses.
func TestSchemaOfSharing(t *testing.T) {
	s, err := yamlxtest.Load("../docs/schema/policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string, want bool) {
		t.Helper()
		_, errCode := Parse("p.yaml", []byte(text))
		root, err := yamlx.Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if errSchema := s.Check(root); (errCode == nil) != want || (errSchema == nil) != want {
			t.Errorf("%s: the code says %v, the schema %v; want both to take it: %t", text, errCode, errSchema, want)
		}
	}
	for _, text := range []string{
		"sharing: {}",
		"sharing: {window: 1h, interval: 1h, creditCap: none, guard: entitlement, hysteresis: 1}",
		"sharing: {minRuntime: {cap: 4h}, grace: {unallocated: 0s}, sessions: {max: 1h}}",
		"sharing: {overKill: none, evictions: none, reservations: none, debug: none}",
		"sharing: {overKill: {times: 2}, evictions: {every: 12s}, reservations: {nodes: 100%}, debug: {nodes: 2.5%}}",
		"sharing: {weights: {gpus: {H100: 2.5, A100: 0}, cpu: 0.01}}",
		"sharing: {reservations: {count: 0}, debug: {nodes: 0%}}",
		"{blocking: skip, preemption: none, sharing: {inTeam: true, backOff: false, evictions: unlimited}}",
		"preemption: {by: priority, spare: {label: a, value: b}}\nlimit: {teamUnpreemptible: 0.5%}",
	} {
		check(text, true)
	}
	for _, text := range []string{
		"sharing: none",
		"sharing: {windw: 7d}",
		"sharing: {window: 168}",
		"sharing: {creditCap: all}",
		"sharing: {creditCap: 0.25}",
		"sharing: {creditCap: 101%}",
		"sharing: {creditCap: 2.25%}",
		"sharing: {guard: share}",
		"sharing: {hysteresis: 0.9}",
		"sharing: {minRuntime: 8h}",
		"sharing: {grace: {all: 1m}}",
		"sharing: {weights: {H100: 2}}",
		"sharing: {weights: {cpu: 101}}",
		"sharing: {overKill: unlimited}",
		"sharing: {overKill: {times: 0}}",
		"sharing: {evictions: 12s}",
		"sharing: {reservations: 3}",
		"sharing: {reservations: {count: -1}}",
		"sharing: {debug: {gpus: 1.5}}",
		"preemption: {by: priority, spare: {value: b}}",
		"preemption: {by: priority, spare: {label: a}}",
		"preemption: {by: priority, spare: {label: a, value: b}}\nlimit: {}",
		"preemption: {by: priority, spare: {label: a, value: b}}\nlimit: {teamUnpreemptible: 10}",
	} {
		check(text, false)
	}
}
