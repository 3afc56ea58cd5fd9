package trace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every parser gets whatever bytes a user may point it at. It must return a
// workload that keeps the promises of all readers, or an error; never panic.

func fuzzFormat(f *testing.F, format string, samples ...string) {
	f.Helper()
	for _, s := range samples {
		data, err := os.ReadFile(filepath.Join("testdata", "samples", s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	bad, err := filepath.Glob(filepath.Join("testdata", "bad", format+"_*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range bad {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, opts := range []Options{{Format: format}, {Format: format, GPUOnly: true, KeepUnscheduled: true}, {}} {
			w, err := ReadBytes("fuzz", bytes.Clone(data), opts)
			if err != nil {
				var e *Error
				if !errors.As(err, &e) {
					t.Fatalf("error without a place: %v", err)
				}
				continue
			}
			mustHold(t, w)
			var out bytes.Buffer
			if err := writeEscala(&out, w); err != nil {
				t.Fatal(err)
			}
			Describe(w, 8)
			Anonymize(w, []byte("k"), true)
		}
	})
}

func FuzzCSV(f *testing.F) {
	fuzzFormat(f, "csv", "plain.csv", "all_columns.csv", "quoted.csv", "windows.csv")
}
func FuzzSWF(f *testing.F)    { fuzzFormat(f, "swf", "small.swf") }
func FuzzHelios(f *testing.F) { fuzzFormat(f, "helios", "helios.csv", "helios_slice.csv") }
func FuzzPhilly(f *testing.F) { fuzzFormat(f, "philly", "philly.csv") }
func FuzzPhillyJSON(f *testing.F) {
	fuzzFormat(f, "philly-json", "philly.json")
}
func FuzzAcme(f *testing.F)          { fuzzFormat(f, "acme", "seren.csv", "kalos.csv") }
func FuzzAcmeConverted(f *testing.F) { fuzzFormat(f, "acme-converted", "kalos_converted.csv") }
func FuzzMuri(f *testing.F)          { fuzzFormat(f, "muri", "muri.csv") }
func FuzzOpenb(f *testing.F)         { fuzzFormat(f, "openb", "openb_pods.csv") }
func FuzzSlurm(f *testing.F) {
	fuzzFormat(f, "slurm", "sacct.txt", "sacct_odd_delimiter.txt", "xdmod.log")
}
func FuzzSlurmJSON(f *testing.F) {
	fuzzFormat(f, "slurm", "sacct_21.08.json", "sacct_23.02.json", "sacct_23.11.json", "sacct_25.05.json")
}
func FuzzEscala(f *testing.F) { fuzzFormat(f, "escala", "workload.jsonl", "services.jsonl") }

func FuzzOpenbNodes(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "samples", "openb_nodes.csv"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := ReadOpenbNodes("fuzz", data)
		if err == nil && spec.Check() != nil {
			t.Fatal(spec.Check())
		}
	})
}

func FuzzParseGPUs(f *testing.F) {
	for _, s := range []string{"gpu:v100:3(IDX:0,4-5)", "cpu=10,mem=100G,node=1,gres/gpu=1,gres/gpu:a100=1", "PER_NODE:gpu:8", "(null)", "gpu:a:1,gpu:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGPUs(s)
		if err == nil && (g.Count < 0 || strings.Contains(s, "=") && g.PerNode) {
			t.Fatalf("%q: %+v", s, g)
		}
		tresAmount(s, "cpu")
		slurmMiB(s)
		slurmSpan(s)
	})
}

func FuzzGzip(f *testing.F) {
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01\x00\x00\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = ReadBytes("fuzz.gz", append([]byte("\x1f\x8b"), data...), Options{})
	})
}
