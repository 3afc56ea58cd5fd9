package slurm

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/internal/yamlx/yamlxtest"
)

// The schema that editors use names the same keys and words as the code, and so does the documentation.
func TestContractsSchema(t *testing.T) {
	s, err := yamlxtest.Load("../../docs/schema/contracts.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for def, shape := range map[string]any{"": contractsFile{}, "terms": termsFile{}} {
		want := yamlx.Keys(shape)
		slices.Sort(want)
		if diff := cmp.Diff(want, s.Keys(def)); diff != "" {
			t.Errorf("keys of %q (-code,+schema):\n%s", def, diff)
		}
	}
	for def, want := range map[string][]string{"class": slices.Sorted(maps.Keys(classes)), "kind": kinds} {
		if diff := cmp.Diff(want, s.Enum(def)); diff != "" {
			t.Errorf("words of %q (-code,+schema):\n%s", def, diff)
		}
	}
	doc, err := os.ReadFile("../../docs/slurm.md")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{siteFile}
	for _, block := range strings.Split(string(doc), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		files = append(files, text)
	}
	if len(files) < 2 {
		t.Error("docs/slurm.md shows no contracts")
	}
	for _, text := range files {
		if _, err := ParseContracts("c.yaml", []byte(text)); err != nil {
			t.Error(err)
		}
		root, err := yamlx.Parse("c.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(root); err != nil {
			t.Error(err)
		}
	}
	for _, word := range slices.Concat(contractKeys, yamlx.Keys(termsFile{})) {
		if !strings.Contains(string(doc), "`"+word+"`") {
			t.Errorf("docs/slurm.md does not tell of %s", word)
		}
	}
	// What only a site may say is not taken from a job, and all else is.
	if diff := cmp.Diff([]string{"class", "kind", "priority"}, slices.DeleteFunc(yamlx.Keys(termsFile{}), func(k string) bool { return slices.Contains(contractKeys, k) })); diff != "" {
		t.Error(diff)
	}
}
