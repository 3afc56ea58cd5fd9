package services

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/trace"
)

// FuzzAdd gives the reader whatever somebody may point it at. What it takes must come
// through the format that loses nothing, and what it refuses must have a place.
func FuzzAdd(f *testing.F) {
	f.Add([]byte(everyKey), []byte(files["dir/even.csv"]))
	f.Add([]byte("services: [{name: x, requests: {file: r.csv, time: at, column: load, gpusPer: 0.1, step: 7m, gaps: interpolate}}]"), []byte(files["dir/rates.csv"]))
	bad, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range bad {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, []byte(files["dir/even.csv"]))
	}
	escala, _ := trace.Lookup("escala")
	f.Fuzz(func(t *testing.T, data, log []byte) {
		w := jobs()
		w.Epoch = 1_600_000_000_000
		out, err := Add(w, Input{File: "apps.yaml", Data: data, Read: func(string) ([]byte, error) { return log, nil }})
		if err != nil {
			var inYAML *yamlx.Error
			var inLog *trace.Error
			if !errors.As(err, &inYAML) && !errors.As(err, &inLog) {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		if err := out.Check(); err != nil {
			t.Fatal(err)
		}
		trace.Describe(out, 8)
		var first, second bytes.Buffer
		if err := escala.Write(&first, out); err != nil {
			t.Fatal(err)
		}
		back, err := trace.ReadBytes("again.jsonl", first.Bytes(), trace.Options{Format: "escala"})
		if err != nil {
			t.Fatalf("%v\n%s", err, first.Bytes())
		}
		back.Hash, back.Format = out.Hash, out.Format
		if err := escala.Write(&second, back); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("written as\n%s\nand then as\n%s", first.Bytes(), second.Bytes())
		}
	})
}
