package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// writeJobs writes four lines for each of n jobs, as a plain simulation does.
func writeJobs(b testing.TB, out io.Writer, n int32) *Writer {
	p, _ := policy.Shipped("fifo")
	w, err := NewWriter(out, &Header{Cluster: cluster.Uniform("1000x8", 1000, 8), Policy: p, Workload: workload.Workload{Epoch: workload.Unknown}})
	if err != nil {
		b.Fatal(err)
	}
	job := &workload.Job{ID: "1234567", User: "user123", Team: "vision", Partition: "vcA", Need: workload.Need{GPUs: 8}}
	place := []fact.Grant{cluster.WholeGrant(517, 0xff)}
	g := &sim.Gauge{}
	for i := range n {
		at := 1_000_000 + int64(i)*1000
		job.Submit = at
		w.Fact(&fact.Fact{Kind: fact.JobSubmitted, At: at, Job: i, Node: -1, Submitted: job, Estimate: 3_600_000})
		w.Action(&fact.Action{Do: fact.Start, At: at, Job: i, Attempt: 1, For: -1, Count: 8, Place: place, Reason: fact.Reason{Code: fact.InOrder, For: -1}})
		w.Fact(&fact.Fact{Kind: fact.JobStarted, At: at, Job: i, Attempt: 1, Node: -1})
		w.Instant(g)
		w.Fact(&fact.Fact{Kind: fact.JobFinished, At: at + 500, Job: i, Attempt: 1, Node: -1, Kept: 500})
		w.Instant(g)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return w
}

func BenchmarkWrite(b *testing.B) {
	for _, jobs := range []int32{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				writeJobs(b, io.Discard, jobs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(4*float64(jobs)), "ns/line")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	const jobs = 100_000
	var buf bytes.Buffer
	writeJobs(b, &buf, jobs)
	b.ReportAllocs()
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		r, err := NewReader("bench", bytes.NewReader(buf.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(4*jobs), "ns/line")
}
