package metrics

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// script plays a hand-written run into a collector: it keeps the gauge by
// itself, so that tests state only what happens.
type script struct {
	c     *Collector
	w     *workload.Workload
	g     sim.Gauge
	holds map[int32]int64
	facts []fact.Fact
	acts  []fact.Action
	// confirm are the jobs whose start the world confirms at once.
	confirm []int32
}

func newScript(c *Collector, w *workload.Workload, gpus int64) *script {
	return &script{c: c, w: w, g: sim.Gauge{Installed: gpus * 1000, Available: gpus * 1000}, holds: map[int32]int64{}}
}

func (s *script) fact(f fact.Fact) { s.facts = append(s.facts, f) }

func (s *script) submit(job int32) {
	j := &s.w.Jobs[job]
	s.fact(fact.Fact{Kind: fact.JobSubmitted, Job: job, Submitted: j})
	s.g.WaitingJobs++
	s.g.WaitingMilli += j.Need.TotalMilli()
}

func (s *script) start(job int32, place ...fact.Grant) {
	n := &s.w.Jobs[job].Need
	s.acts = append(s.acts, fact.Action{Do: fact.Start, Job: job, Count: n.TotalGPUs(), Milli: n.TotalMilli(), Place: place})
	s.g.WaitingJobs--
	s.g.WaitingMilli -= n.TotalMilli()
	s.g.RunningJobs++
	s.holds[job] = n.TotalMilli()
	s.g.Assigned += n.TotalMilli()
}

func (s *script) release(job int32) {
	s.g.Assigned -= s.holds[job]
	s.g.RunningJobs--
	delete(s.holds, job)
}

func (s *script) finish(job int32) {
	s.fact(fact.Fact{Kind: fact.JobFinished, Job: job})
	s.release(job)
}

func (s *script) stop(job int32, cause fact.Cause, lost, restart workload.Span) {
	s.fact(fact.Fact{Kind: fact.JobStopped, Job: job, Cause: cause, Lost: lost, Restart: restart})
	s.release(job)
	s.g.WaitingJobs++
	s.g.WaitingMilli += s.w.Jobs[job].Need.TotalMilli()
}

// at hands the collector the instant made up since the last call.
func (s *script) at(t workload.Time) {
	for i := range s.facts {
		s.facts[i].At = t
		s.c.Fact(&s.facts[i])
	}
	for i := range s.acts {
		s.acts[i].At = t
		s.c.Action(&s.acts[i])
	}
	for _, job := range s.confirm {
		s.c.Fact(&fact.Fact{Kind: fact.JobStarted, Job: job, At: t})
	}
	s.facts, s.acts, s.confirm = s.facts[:0], s.acts[:0], s.confirm[:0]
	s.g.At = t
	s.c.Instant(&s.g)
}

// on grants GPUs first..first+n-1 of a node.
func on(node, first, n int32) fact.Grant {
	return fact.Grant{Node: node, Milli: 1000, GPUs: (1<<n - 1) << first}
}

// jobs makes a workload of whole-GPU jobs: submit, duration (s) and GPUs each.
func jobs(rows ...[3]int64) *workload.Workload {
	w := &workload.Workload{Name: "test", Epoch: workload.Unknown}
	for i, r := range rows {
		w.Jobs = append(w.Jobs, workload.Job{
			ID: string(rune('a' + i)), Team: string(rune('A' + i%2)),
			Submit: r[0] * workload.Second, Need: workload.Need{GPUs: int32(r[2])},
		})
		w.Actual = append(w.Actual, workload.Actual{Duration: r[1] * workload.Second})
	}
	return w
}

// twoTypes is one node of 2 GPUs of each of two types.
func twoTypes() *cluster.Spec {
	return &cluster.Spec{
		Nodes: []cluster.Node{{Name: "n1", GPUType: "fast", GPUs: 2}, {Name: "n2", GPUType: "slow", GPUs: 2}},
		Types: []cluster.Type{
			{Name: "fast", PricePerHour: 4, IdleWatts: 100, ActiveWatts: 500},
			{Name: "slow", PricePerHour: 1, IdleWatts: 50, ActiveWatts: 300},
		},
		PUE: 1.5,
	}
}
