package engine

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// order evaluates the policy's chain of terms. A chain whose terms do not change
// while a job waits is static: each job's key is computed once, when it enters
// the queue. A chain with a time-dependent term is dynamic: jobs equal in all
// its inputs but the submission form a class, all these terms favour the one
// that waited longest, so only the head of each class is evaluated.
type order struct {
	terms []policy.Term
	// static is the number of keys a job, 0 for a dynamic order.
	static  int
	dynamic bool
	// perJob: a term reads something that differs from job to job (an
	// expression over time): every job is a class of its own.
	perJob bool
	// needsRunning: terms look at running jobs.
	needsRunning bool
	attained     *policy.Term
	shares       *shares
	interval     workload.Span
	vars         policy.Vars
	promotions   promotions
}

func (o *order) init(p *policy.Policy) error {
	o.terms = p.Order
	for n := len(o.terms); n > 0 && o.terms[n-1].Kind == policy.BySubmit && !o.terms[n-1].Descending; n-- {
		o.terms = o.terms[:n-1] // submission ends every order anyhow
	}
	if len(o.terms) > maxTerms {
		return fmt.Errorf("order has %d terms; at most %d", len(o.terms), maxTerms)
	}
	o.interval = p.Interval
	mixed := false
	for i := range o.terms {
		t := &o.terms[i]
		switch t.Kind {
		case policy.ByWFP3, policy.ByUNICEP:
			o.dynamic = true
		case policy.ByMultifactor:
			o.dynamic = true
			if t.Multifactor.FairShare > 0 {
				o.shares = newShares(&t.Multifactor)
				o.needsRunning = true
			}
		case policy.ByExpr:
			if t.Expr.TimeDependent() {
				o.dynamic, o.perJob = true, true
			}
			mixed = true
		case policy.ByAttained:
			o.attained = t
			o.needsRunning = true
			mixed = true
		case policy.ByRemaining, policy.ByRemainingArea, policy.ByDeadline, policy.ByF1:
			mixed = true
		}
		if t.Descending {
			mixed = true
		}
	}
	if o.dynamic && mixed {
		o.perJob = true
	}
	if !o.dynamic {
		o.static = len(o.terms)
	}
	return nil
}

// key computes the static keys of a waiting job.
func (o *order) key(e *Engine, n int32, out []int64) {
	if o.dynamic {
		return
	}
	for i := range o.terms {
		out[i] = o.value(e, &o.terms[i], n, e.now)
	}
}

// value is what a waiting job counts under a term: smaller goes first.
func (o *order) value(e *Engine, t *policy.Term, n int32, now workload.Time) int64 {
	j := &e.jobs[n]
	return directed(t, o.quantity(e, t, n, e.remaining(j, j.kept), j.attained, now))
}

// runningValue is the same for a running job, with the work it has done by now.
func (o *order) runningValue(e *Engine, t *policy.Term, n int32, now workload.Time) int64 {
	j := &e.jobs[n]
	attained := j.attained
	if now > j.since {
		attained += j.milli * (now - j.since)
	}
	return directed(t, o.quantity(e, t, n, e.remaining(j, j.kept+e.progress(j, now)), attained, now))
}

func directed(t *policy.Term, v int64) int64 {
	if t.Descending {
		return negated(v)
	}
	return v
}

func (o *order) quantity(e *Engine, t *policy.Term, n int32, remaining workload.Span, attained int64, now workload.Time) int64 {
	j := &e.jobs[n]
	s := j.spec
	milli := e.classes[j.class].shape.Milli
	switch t.Kind {
	case policy.BySubmit:
		return s.Submit
	case policy.ByPriority:
		return negated(s.Priority)
	case policy.ByEstimate:
		return j.est
	case policy.ByGPUs:
		return milli
	case policy.ByArea:
		return area(milli, j.est)
	case policy.ByRemaining:
		return remaining
	case policy.ByRemainingArea:
		return area(milli, remaining)
	case policy.ByAttained:
		return queueOf(t, attained)
	case policy.ByDeadline:
		if s.Deadline == 0 {
			return workload.Never
		}
		return s.Deadline
	case policy.ByWFP3:
		r := wait(s, now) / seconds(j.est)
		return quantise(-float64(r*r*r) * gpus(milli))
	case policy.ByUNICEP:
		// One GPU would divide by log2(1) = 0; it counts as two.
		return quantise(-wait(s, now) / float64(math.Log2(math.Max(gpus(milli), 2))*seconds(j.est)))
	case policy.ByF1:
		return quantise(float64(math.Log10(seconds(j.est))*gpus(milli)) + float64(870*math.Log10(math.Max(float64(s.Submit)/1000, 1))))
	case policy.ByMultifactor:
		return quantise(-e.multifactor(t, n, now))
	case policy.ByExpr:
		o.vars = policy.Vars{Job: s, Now: float64(now) / 1000, Wait: wait(s, now), Estimate: seconds(j.est),
			Remaining: seconds(remaining), Attained: float64(attained) / 1e6, Preemptions: int64(max(j.attempt-1, 0))}
		v, err := t.Expr.Eval(&o.vars)
		if err != nil {
			return math.MaxInt64
		}
		return quantise(v)
	}
	return 0
}

// negated turns an order round; the smallest number has no opposite of its own.
func negated(v int64) int64 {
	if v == math.MinInt64 {
		return math.MaxInt64
	}
	return -v
}

// queueOf is the queue of discretised 2D-LAS that an attained service, in
// milli-GPU x ms, falls into; thresholds are GPU x ms.
func queueOf(t *policy.Term, attained int64) int64 {
	for i, limit := range t.Thresholds {
		if attained < limit*1000 {
			return int64(i)
		}
	}
	return int64(len(t.Thresholds))
}

func wait(s *workload.Job, now workload.Time) float64 { return float64(max(now-s.Submit, 0)) / 1000 }

// seconds of a span, at least a millisecond, so that it can divide and have a logarithm.
func seconds(d workload.Span) float64 { return float64(max(d, 1)) / 1000 }

func gpus(milli int64) float64 { return float64(milli) / 1000 }

// quantise turns an order term into a fixed-point number of 2^-20 (SEMANTICS 1),
// so that the last bit of a float never decides.
func quantise(v float64) int64 {
	x := math.RoundToEven(float64(v * (1 << 20)))
	switch {
	case x != x || x >= math.MaxInt64:
		return math.MaxInt64
	case x <= -math.MaxInt64:
		return -math.MaxInt64
	}
	return int64(x)
}

// area multiplies without overflow: what is too large counts as the largest.
func area(milli int64, d workload.Span) int64 {
	hi, lo := bits.Mul64(uint64(max(milli, 0)), uint64(max(d, 0)))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// headKey brings the key of a class's current job up to date under a dynamic order.
func (e *Engine) headKey(c *class, now workload.Time) {
	if o := &e.order; o.dynamic {
		if o.interval > 0 {
			now -= now % o.interval
		}
		if c.keyOf == c.cur && c.keyAt == now {
			return
		}
		for i := range o.terms {
			c.key[i] = o.value(e, &o.terms[i], c.cur, now)
		}
		c.keyOf, c.keyAt = c.cur, now
	}
}

// before is the order of the present candidates of two classes.
func (e *Engine) before(a, b int32) bool {
	ca, cb := &e.classes[a], &e.classes[b]
	if e.order.dynamic {
		for i := range e.order.terms {
			if ca.key[i] != cb.key[i] {
				return ca.key[i] < cb.key[i]
			}
		}
	}
	return e.q.less(ca.cur, cb.cur)
}
