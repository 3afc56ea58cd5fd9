package trace

import (
	"bytes"
	"testing"
)

// BenchmarkReadCSV reads the size at which a study still waits for its input.
// It needs well under 0.35 s of user CPU for a million rows; memory is that of
// the jobs (bytes/op), since names and IDs are parts of the input.
func BenchmarkReadCSV(b *testing.B) {
	for name, jobs := range map[string]int{"10k": 10_000, "1M": 1_000_000} {
		b.Run(name, func(b *testing.B) {
			w, err := Generate(GenOptions{Jobs: jobs, Nodes: 128, GPUsPerNode: 8, Load: 0.95, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			var out bytes.Buffer
			if err := writeCSV(&out, w); err != nil {
				b.Fatal(err)
			}
			data := out.Bytes()
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err = ReadBytes("bench.csv", data, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(jobs)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
