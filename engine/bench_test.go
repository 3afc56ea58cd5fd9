package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// BenchmarkDecision: one job ends, one arrives, one decision, with a standing
// queue of jobs of eight sizes and many estimates on 128 nodes x 8 GPUs.
func BenchmarkDecision(b *testing.B) {
	for _, name := range []string{"fifo", "fifo-skip", "sjf", "easy", "srtf", "priority"} {
		for _, queue := range []int{500, 5_000, 50_000} {
			b.Run(fmt.Sprintf("%s/queue=%d", name, queue), func(b *testing.B) { benchmarkDecision(b, name, queue) })
		}
	}
}

func benchmarkDecision(b *testing.B, name string, standing int) {
	p, ok := policy.Shipped(name)
	if !ok {
		b.Fatal(name)
	}
	e, err := engine.New(cluster.Uniform("bench", 128, 8), p, engine.Defaults{})
	if err != nil {
		b.Fatal(err)
	}
	w := &feeder{b: b, e: e}
	for range standing + 400 {
		w.submit()
	}
	w.settle()
	b.ReportAllocs()
	for b.Loop() {
		w.now += 1000
		w.finishOne()
		w.submit()
		w.settle()
	}
	b.ReportMetric(float64(e.Gauge().WaitingJobs), "waiting")
}

// feeder is the smallest world: what is started runs until it is picked to end.
type feeder struct {
	b       *testing.B
	e       *engine.Engine
	now     workload.Time
	jobs    []*workload.Job
	attempt []int32
	running []int32
	seed    uint64
	// draft, if set, changes a job before it is submitted; timed is told how long each
	// decision took.
	draft func(*workload.Job)
	timed func(time.Duration)
}

// draw is a fixed sequence: the benchmark is the same each time.
func (w *feeder) draw(n uint64) uint64 {
	w.seed = w.seed*6364136223846793005 + 1442695040888963407
	return w.seed >> 33 % n
}

func (w *feeder) apply(f *fact.Fact) {
	if err := w.e.Apply(f); err != nil {
		w.b.Fatal(err)
	}
}

func (w *feeder) submit() {
	j := &workload.Job{ID: fmt.Sprint(len(w.jobs)), Submit: w.now, Priority: int64(w.draw(3)),
		Estimate: workload.Span(w.draw(1_000_000) + 60_000)}
	j.Need.GPUs = int32(1) << w.draw(8)
	if w.draft != nil {
		w.draft(j)
	}
	n := int32(len(w.jobs))
	w.jobs, w.attempt = append(w.jobs, j), append(w.attempt, 0)
	w.apply(&fact.Fact{Kind: fact.JobSubmitted, At: w.now, Job: n, Submitted: j})
}

func (w *feeder) finishOne() {
	if len(w.running) == 0 {
		return
	}
	k := w.draw(uint64(len(w.running)))
	n := w.running[k]
	w.drop(n)
	w.apply(&fact.Fact{Kind: fact.JobFinished, At: w.now, Job: n, Attempt: w.attempt[n]})
}

func (w *feeder) drop(n int32) {
	for i, r := range w.running {
		if r == n {
			w.running[i] = w.running[len(w.running)-1]
			w.running = w.running[:len(w.running)-1]
			return
		}
	}
}

func (w *feeder) settle() {
	for again := true; again; {
		begin := time.Now()
		d := w.e.Decide(w.now)
		if w.timed != nil {
			w.timed(time.Since(begin))
		}
		again = d.Again
		for i := range d.Actions {
			if err := w.e.Commit(&d.Actions[i]); err != nil {
				w.b.Fatal(err)
			}
		}
		for i := range d.Actions {
			switch a := &d.Actions[i]; a.Do {
			case fact.Start:
				w.attempt[a.Job] = a.Attempt
				w.running = append(w.running, a.Job)
				w.apply(&fact.Fact{Kind: fact.JobStarted, At: w.now, Job: a.Job, Attempt: a.Attempt})
			case fact.Stop:
				w.drop(a.Job)
				w.apply(&fact.Fact{Kind: fact.JobStopped, At: w.now, Job: a.Job, Attempt: a.Attempt, Cause: fact.CausePreempted})
				again = true
			}
		}
	}
}
