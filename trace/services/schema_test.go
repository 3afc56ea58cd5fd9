package services

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/internal/yamlx/yamlxtest"
)

// shapes are the objects of a file, by their names in the schema.
var shapes = map[string]any{"": file{}, "service": application{}, "curve": curve{}, "requests": requests{}, "swaps": swaps{}}

// The schema that editors use names the same keys and words as the code.
func TestSchemaSaysWhatTheCodeReads(t *testing.T) {
	s, err := yamlxtest.Load("../../docs/schema/services.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for def, shape := range shapes {
		want := yamlx.Keys(shape)
		slices.Sort(want)
		if diff := cmp.Diff(want, s.Keys(def)); diff != "" {
			t.Errorf("keys of %q (-code,+schema):\n%s", def, diff)
		}
	}
	if diff := cmp.Diff(aggregateNames, s.Enum("aggregate")) + cmp.Diff(gapsNames, s.Enum("gaps")); diff != "" {
		t.Errorf("words (-code,+schema):\n%s", diff)
	}
	for _, text := range append(examples(t), everyKey) {
		root, err := yamlx.Parse("apps.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(root); err != nil {
			t.Error(err)
		}
	}
}

// The reference names every key, and its examples are read.
func TestReferenceIsComplete(t *testing.T) {
	text := manual(t)
	words := slices.Concat(aggregateNames, gapsNames)
	for _, shape := range shapes {
		if _, ok := shape.(swaps); !ok { // shown as an example
			words = append(words, yamlx.Keys(shape)...)
		}
	}
	for _, w := range words {
		if !strings.Contains(text, "`"+w+"`") {
			t.Errorf("docs/services.md does not explain `%s`", w)
		}
	}
	log := func(string) ([]byte, error) { return []byte("offset_s,requests_per_s\n0,120\n3600,340.5\n"), nil }
	for i, yaml := range examples(t) {
		if _, err := Add(jobs(), Input{File: "services.yaml", Data: []byte(yaml), Read: log}); err != nil {
			t.Errorf("example %d of docs/services.md: %v", i+1, err)
		}
	}
}

func manual(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func examples(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, block := range strings.Split(manual(t), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		out = append(out, text)
	}
	return out
}
