package demo

import (
	"os"
	"strings"
	"testing"
)

func TestWhatItSays(t *testing.T) {
	w, err := Workload()
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs) != 1867 || len(w.Dropped) > 0 || w.Format != "helios" || !strings.HasPrefix(w.Licence, "CC-BY-4.0") {
		t.Errorf("%d jobs, dropped %v, format %s, licence %s", len(w.Jobs), w.Dropped, w.Format, w.Licence)
	}
	c, err := Cluster()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Nodes) != 22 || c.GPUs() != 176 {
		t.Errorf("%d nodes, %d GPUs", len(c.Nodes), c.GPUs())
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// TestTerms: the licence asks that the authors are named wherever the data goes.
func TestTerms(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"README": string(readme), "Attribution": Attribution, "header": string(workloadData[:1000])} {
		for _, want := range []string{"10.1145/3458817.3476223", "CC-BY-4.0", "S-Lab-System-Group/HeliosData"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not name %s", where, want)
			}
		}
	}
}
