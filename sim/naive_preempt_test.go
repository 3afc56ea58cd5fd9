package sim_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestPreemptionEqualsNaive: srtf, srsf and priority on a count of GPUs, with
// checkpoints and restarts that cost time, come to the same starts, ends, lost
// work and restart overhead as a scheduler that works all of it out from the
// history of each job at each event (docs/semantics.md 17, 24, 26 and 27).
func TestPreemptionEqualsNaive(t *testing.T) {
	const gpus = 8
	for _, name := range []string{"srtf", "srsf", "priority"} {
		t.Run(name, func(t *testing.T) {
			p := shipped(t, name)
			for seed := range seeds(600) {
				r := rand.New(rand.NewPCG(uint64(seed), 3))
				w := randomJobs(r, 25, gpus, exact)
				a := sim.Assumptions{Checkpoint: []workload.Span{-1, 0, 2000}[r.IntN(3)], RestartCost: workload.Span(r.IntN(3)) * 1500}
				want := newNaivePool(w, gpus, name, a).run()
				got := simulateAssuming(t, w, &cluster.Spec{Name: "pool", Count: gpus}, p, a)
				for i := range want {
					g := &got.Jobs[i]
					have := naiveOutcome{g.FirstStart, g.Finish, g.Queued, g.Ran, g.Lost, g.Restart}
					if have != want[i] {
						t.Fatalf("seed %d: job %d, %+v:\n got %+v\nwant %+v", seed, i, a, have, want[i])
					}
				}
			}
		})
	}
}

// TestLASEqualsNaive: the same with queues by attained service: a job falls into
// the next one at the very moment its service says so, and may give way then.
func TestLASEqualsNaive(t *testing.T) {
	const gpus = 8
	for seed := range seeds(600) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		w := randomJobs(r, 25, gpus, exact)
		levels := [][]int64{{3000}, {5000, 20000}, {1000, 10000, 40000}}[r.IntN(3)]
		p := *shipped(t, "las")
		p.Order = slices.Clone(p.Order)
		p.Order[0].Thresholds = levels
		naive := newNaivePool(w, gpus, "las", sim.Assumptions{})
		naive.levels = levels
		want := naive.run()
		got := simulateAssuming(t, w, &cluster.Spec{Name: "pool", Count: gpus}, &p, sim.Assumptions{})
		for i := range want {
			g := &got.Jobs[i]
			have := naiveOutcome{g.FirstStart, g.Finish, g.Queued, g.Ran, g.Lost, g.Restart}
			if have != want[i] {
				t.Fatalf("seed %d: job %d:\n got %+v\nwant %+v", seed, i, have, want[i])
			}
		}
	}
}

// naiveOutcome is the part of [sim.JobResult] that is compared.
type naiveOutcome struct {
	firstStart, finish workload.Time
	queued, ran        workload.Span
	lost, restart      int64 // milli-GPU x ms
}

// naivePool schedules with preemption on a count of GPUs.
type naivePool struct {
	w      *workload.Workload
	policy string
	assume sim.Assumptions
	// levels are the ends of las's queues, in GPU-milliseconds.
	levels []int64
	free   int64
	jobs   []naiveJob
	// winners have victims that left at this instant, and start next.
	waiting, running, winners []int
}

type naiveJob struct {
	gpus   int64
	runs   int
	kept   workload.Span // work that is safe
	since  workload.Time // start of the present run
	queued workload.Time // last entry into the queue
	out    naiveOutcome
}

func newNaivePool(w *workload.Workload, gpus int64, policy string, a sim.Assumptions) *naivePool {
	s := &naivePool{w: w, policy: policy, assume: a, free: gpus}
	for i := range w.Jobs {
		s.jobs = append(s.jobs, naiveJob{gpus: int64(w.Jobs[i].Need.GPUs), queued: w.Jobs[i].Submit,
			out: naiveOutcome{firstStart: workload.Unknown, finish: workload.Unknown}})
	}
	return s
}

// restart is what a job's present run spends before it works: the first has nothing to load.
func (s *naivePool) restart(i int) workload.Span {
	if s.jobs[i].runs > 1 {
		return s.assume.RestartCost
	}
	return 0
}

// done is the work a running job has done in all by now, saved of it what a stop leaves.
func (s *naivePool) done(i int, now workload.Time) workload.Span {
	return s.jobs[i].kept + max(now-s.jobs[i].since-s.restart(i), 0)
}

func (s *naivePool) saved(i int, done workload.Span) workload.Span {
	switch every := s.assume.Checkpoint; {
	case every == 0:
		return done
	case every > 0:
		return max(s.jobs[i].kept, done/every*every)
	}
	return s.jobs[i].kept
}

// key is the order of a job that has done so much, small first. An estimate is never 0.
func (s *naivePool) key(i int, done workload.Span) int64 {
	if s.policy == "las" {
		return int64(s.level(done * s.jobs[i].gpus))
	}
	left := max(s.w.Actual[i].Duration, 1) - done
	switch s.policy {
	case "srtf":
		return left
	case "srsf":
		return left * s.jobs[i].gpus
	}
	return -s.w.Jobs[i].Priority
}

func (s *naivePool) level(had int64) (q int) {
	for q < len(s.levels) && had >= s.levels[q] {
		q++
	}
	return q
}

// demotion is when a running job falls into the next queue of las.
func (s *naivePool) demotion(i int, after workload.Time) workload.Time {
	j := &s.jobs[i]
	for _, end := range s.levels {
		if at := j.since + (end-j.kept*j.gpus+j.gpus-1)/j.gpus; at > after {
			return at
		}
	}
	return workload.Never
}

func (s *naivePool) run() (out []naiveOutcome) {
	last := workload.Time(-1)
	for next := 0; ; {
		now := workload.Never
		if next < len(s.jobs) {
			now = s.w.Jobs[next].Submit
		}
		for _, i := range s.running {
			now = min(now, s.demotion(i, last))
		}
		for _, i := range s.running {
			now = min(now, s.end(i))
		}
		if now == workload.Never {
			break
		}
		last = now
		s.running = slices.DeleteFunc(s.running, func(i int) bool {
			if s.end(i) > now {
				return false
			}
			j := &s.jobs[i]
			s.free += j.gpus
			j.out.finish = now
			j.out.ran += now - j.since - s.restart(i)
			j.out.restart += s.restart(i) * j.gpus * 1000
			return true
		})
		for ; next < len(s.jobs) && s.w.Jobs[next].Submit == now; next++ {
			s.waiting = append(s.waiting, next)
		}
		for s.decide(now) {
		}
	}
	for i := range s.jobs {
		out = append(out, s.jobs[i].out)
	}
	return out
}

func (s *naivePool) end(i int) workload.Time {
	return s.jobs[i].since + s.restart(i) + s.w.Actual[i].Duration - s.jobs[i].kept
}

func (s *naivePool) start(i int, now workload.Time) {
	j := &s.jobs[i]
	if j.runs++; j.runs == 1 {
		j.out.firstStart = now
	}
	j.since = now
	j.out.queued += now - j.queued
	s.running = append(s.running, i)
}

func (s *naivePool) stop(i int, now workload.Time) {
	j := &s.jobs[i]
	done := s.done(i, now)
	saved := s.saved(i, done)
	j.out.ran += saved - j.kept
	j.out.lost += (done - saved) * j.gpus * 1000
	j.out.restart += min(s.restart(i), now-j.since) * j.gpus * 1000
	j.kept, j.queued = saved, now
	s.free += j.gpus
	s.running = slices.DeleteFunc(s.running, func(k int) bool { return k == i })
	s.waiting = append(s.waiting, i)
}

// decide starts the winners of the decision before, whose GPUs are clear now, goes
// through the queue once, in order, and lets the victims leave. It is asked again at
// the same time as long as something came of the last two: what is left over, and
// what started, may be of use to somebody.
func (s *naivePool) decide(now workload.Time) (again bool) {
	slices.SortFunc(s.waiting, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.key(a, s.jobs[a].kept), s.key(b, s.jobs[b].kept)), cmp.Compare(a, b))
	})
	candidates := slices.Clone(s.running) // what a decision starts does not give way in it
	for _, i := range s.winners {
		s.start(i, now)
	}
	again = len(s.winners) > 0
	s.winners = nil
	var leaving []int
	s.waiting = slices.DeleteFunc(s.waiting, func(i int) bool {
		free := max(s.free, 0) // negative: winners wait for what their victims have
		need := s.jobs[i].gpus - free
		if need <= 0 {
			s.free -= s.jobs[i].gpus
			s.start(i, now)
			return true
		}
		victims := s.victims(i, need, candidates, now)
		if victims == nil {
			return false
		}
		candidates = slices.DeleteFunc(candidates, func(v int) bool { return slices.Contains(victims, v) })
		leaving = append(leaving, victims...)
		s.winners = append(s.winners, i)
		s.free -= s.jobs[i].gpus
		return true
	})
	for _, v := range leaving {
		s.stop(v, now)
	}
	return again || len(leaving) > 0
}

// victims picks who gives way to job i so that need GPUs come free: the worst
// first, and from the last one back those are spared that are not needed.
func (s *naivePool) victims(i int, need int64, candidates []int, now workload.Time) []int {
	type victim struct {
		job, key, lost int64
		since          workload.Time
	}
	var all []victim
	var sum int64
	mine := s.key(i, s.jobs[i].kept)
	for _, k := range candidates {
		j, done := &s.jobs[k], s.done(k, now)
		v := victim{job: int64(k), key: s.key(k, done), since: j.since}
		swap := int64(0) // what the restart counts in the order's unit
		switch s.policy {
		case "srtf":
			swap = s.assume.RestartCost
		case "srsf":
			swap = s.assume.RestartCost * j.gpus
		case "priority":
			v.lost = (done - s.saved(k, done) + s.assume.RestartCost) * j.gpus
		}
		if mine+swap < v.key {
			all = append(all, v)
			sum += j.gpus
		}
	}
	if sum < need {
		return nil
	}
	slices.SortFunc(all, func(a, b victim) int {
		c := cmp.Compare(b.key, a.key)
		if s.policy == "priority" { // who loses least, whatever its priority
			c = cmp.Compare(a.lost, b.lost)
		}
		return cmp.Or(c, cmp.Compare(b.since, a.since), cmp.Compare(b.job, a.job))
	})
	n := 0
	for got := int64(0); got < need; n++ {
		got += s.jobs[all[n].job].gpus
	}
	all = all[:n]
	excess := -need
	for _, v := range all {
		excess += s.jobs[v.job].gpus
	}
	var out []int
	for _, v := range slices.Backward(all) {
		if g := s.jobs[v.job].gpus; g <= excess {
			excess -= g
		} else {
			out = append(out, int(v.job))
		}
	}
	return out
}
