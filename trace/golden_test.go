package trace

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestSamples reads every hand-made sample, recognises its format by content,
// and compares all that was read with a golden file in the escala format.
func TestSamples(t *testing.T) {
	tests := map[string]string{
		"plain.csv": "csv", "all_columns.csv": "csv", "quoted.csv": "csv", "windows.csv": "csv",
		"small.swf": "swf", "helios.csv": "helios", "helios_slice.csv": "helios",
		"philly.csv": "philly", "philly.json": "philly-json",
		"seren.csv": "acme", "kalos.csv": "acme", "kalos_converted.csv": "acme-converted",
		"muri.csv": "muri", "openb_pods.csv": "openb",
		"sacct.txt": "slurm", "sacct_odd_delimiter.txt": "slurm", "xdmod.log": "slurm",
		"sacct_21.08.json": "slurm", "sacct_25.05.json": "slurm",
		"workload.jsonl": "escala", "services.jsonl": "escala",
	}
	for name, format := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "samples", name)
			w, err := Read(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, w)
			if w.Format != format {
				t.Errorf("recognised as %q, want %q", w.Format, format)
			}
			var got bytes.Buffer
			if err := writeEscala(&got, w); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "golden", name+".jsonl")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("differs from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// TestSamplesKnowOneFormat: no sample is taken by two formats, so that the order
// in which they are tried does not matter (csv, the fallback, is left out).
func TestSamplesKnowOneFormat(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "samples", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no samples", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var took []string
		for _, f := range Formats() {
			if f.Name != "csv" && f.Detect(data, path) {
				took = append(took, f.Name)
			}
		}
		if len(took) > 1 {
			t.Errorf("%s is taken by %v", path, took)
		}
	}
}
