package scenario

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
)

// What the documents and the examples show is a horizon that can be planned.
func TestDocumentsAreRight(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "horizon.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Fatal("docs/horizon.md shows no scenario")
	}
	day, err := os.ReadFile(filepath.Join(root, "examples", "day.json"))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range append(blocks, [][]byte{nil, day}) {
		p, err := Read(bytes.NewReader(b[1]))
		if err != nil {
			t.Errorf("scenario %d: %v", i, err)
			continue
		}
		r, err := horizon.Fast(p, horizon.Options{Work: 50})
		if err != nil {
			t.Errorf("scenario %d: %v", i, err)
			continue
		}
		if v := legal.Check(r.Plan); len(v) > 0 {
			t.Errorf("scenario %d: %v", i, v)
		}
	}
}
