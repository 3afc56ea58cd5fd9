package sim

import (
	"math"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/splitmix"
	"github.com/escala-sched/escala/workload"
)

// Forecast is how wrong the demand is that real-time applications declare; the zero
// value takes it as it is.
type Forecast struct {
	// Error is the standard deviation of the error of a value, as a part of the value (0.1 =
	// 10 %). Errors of values next to each other are alike (first-order autoregression, 0.9).
	// What is really needed is what the workload says.
	Error float64
	Seed  uint64
}

// alike is the correlation of the errors of neighbouring values.
const alike = 0.9

// blur returns a curve with errors: what the scheduler is told of one that is known.
func (f Forecast) blur(c workload.Curve, job int32) workload.Curve {
	rng := splitmix.Source(f.Seed*0x9e3779b97f4a7c15 + uint64(job) + 1)
	out := c
	out.Values = make([]int32, len(c.Values))
	z := normal(&rng)
	for i, v := range c.Values {
		if i > 0 {
			z = float64(alike*z) + float64(math.Sqrt(1-alike*alike)*normal(&rng))
		}
		out.Values[i] = int32(math.Round(max(0, float64(v)*(1+float64(f.Error*z)))))
	}
	return out
}

// normal is the sum of twelve uniform numbers less six: near enough to the normal
// distribution, and the same on every machine.
func normal(rng *splitmix.Source) float64 {
	s := int64(0)
	for range 12 {
		s += int64(rng.Next() >> 40)
	}
	return float64(s-6<<24) / (1 << 24)
}

// misforecast gives the scheduler forecasts with errors instead of the demands that the
// workload declares, and keeps what is really needed.
func (r *run) misforecast() {
	f := r.o.Forecast
	if f.Error == 0 {
		return
	}
	copied := false
	for i := range r.jobs {
		s := r.jobs[i].Service
		if s == nil {
			continue
		}
		if !copied {
			copied = true
			r.jobs = append([]workload.Job(nil), r.jobs...)
			r.actual = append([]workload.Actual(nil), r.actual...)
		}
		if r.actual[i].Demand == nil {
			r.actual[i].Demand = &s.Demand
		}
		told := *s
		told.Demand = f.blur(s.Demand, int32(i))
		r.jobs[i].Service = &told
	}
}

// needs is the curve that a real-time application really follows.
func (r *run) needs(n int32) *workload.Curve {
	if d := r.actual[n].Demand; d != nil {
		return d
	}
	return &r.jobs[n].Service.Demand
}

// serviceBegins tells what an application needs at first, and plans its end.
func (r *run) serviceBegins(n int32) error {
	r.events.push(event{at: r.serviceEnd(n), kind: retire, subject: n})
	return r.demand(n)
}

// serviceEnd is when an application is taken down, whenever it came up.
func (r *run) serviceEnd(n int32) workload.Time { return r.jobs[n].Submit + r.actual[n].Duration }

// demand tells what an application needs from now on.
func (r *run) demand(n int32) error {
	if gpus, ok := r.from.demand(n, r.now); ok {
		r.fact = fact.Fact{Kind: fact.DemandChanged, At: r.now, Job: n, Node: -1, Demand: gpus}
		return r.tell(&r.fact)
	}
	c := r.needs(n)
	if t := c.Next(r.now); t < r.serviceEnd(n) {
		r.events.push(event{at: t, kind: demand, subject: n})
	}
	r.fact = fact.Fact{Kind: fact.DemandChanged, At: r.now, Job: n, Node: -1, Demand: c.At(r.now)}
	return r.tell(&r.fact)
}

// retire takes down an application that waits; one that runs finishes.
func (r *run) retire(n int32) error {
	s, res := &r.state[n], &r.res.Jobs[n]
	if s.on || !s.waits || res.State != Unstarted && res.State != Requeued {
		return nil
	}
	r.waited(n)
	s.waits = false
	res.State, res.Outcome, res.Finish = Ended, r.actual[n].Outcome, r.now
	r.end(n)
	r.fact = fact.Fact{Kind: fact.JobCancelled, At: r.now, Job: n, Node: -1}
	return r.tell(&r.fact)
}

// resize gives a running application other GPUs.
func (r *run) resize(a *fact.Action) {
	s, res := &r.state[a.Job], &r.res.Jobs[a.Job]
	res.Assigned = plus(res.Assigned, times(s.milli, r.now-s.assigned))
	s.assigned, s.milli, s.tasks = r.now, a.Milli, a.Tasks
	if r.places != nil {
		r.places[a.Job] = append(r.places[a.Job][:0], a.Place...)
	}
}
