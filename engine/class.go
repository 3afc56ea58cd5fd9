package engine

import (
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// classKey tells classes apart. Under a static order the need and the partition
// do; under a dynamic one also what its terms read of a job beside its submission.
type classKey struct {
	need      workload.Need
	partition string
	account   string
	team      string
	spare     bool
	estimate  workload.Span
	priority  int64
	job       int32
	// Under shares: the account, the protection of the next start, and whether it is
	// charged to nobody.
	leaf          int32
	span          workload.Span
	fill, session bool
	// While there are windows: which of them keep it off, and if any do by when it is gone.
	view  int32
	limit workload.Span
}

func (e *Engine) classFor(n int32) int32 {
	j := &e.jobs[n]
	s := j.spec
	k := classKey{need: s.Need, job: none, view: none}
	if e.layout.Partitioned {
		k.partition = s.Partition
	}
	// Where some may displace others, those of a class must have the same rights.
	if e.pol.Preemption.By == policy.PreemptPriority {
		k.priority = s.Priority
	}
	if e.pol.Preemption.By != policy.PreemptNone && !e.pol.Preemption.CrossTeam {
		k.team = s.Team
	}
	if k.spare = e.spared(s); k.spare && e.limit.most > 0 {
		k.team = s.Team
	}
	if e.order.dynamic {
		k.estimate, k.priority = j.est, s.Priority
		if e.order.shares != nil {
			k.account = e.order.shares.account(s)
		}
		if e.order.perJob {
			k.job = n
		}
	}
	if s := e.sharing; s != nil {
		k.leaf, k.span = s.jobs[n].leaf, s.span(n, j.spec)
		k.fill, k.session = k.span == 0, session(j.spec)
	}
	if len(e.windows.list) > 0 {
		if k.view = e.view(s); k.view != none {
			if k.limit = s.Limit; e.predicts {
				k.estimate = j.est
			}
		}
	}
	if c, ok := e.classOf[k]; ok {
		return c
	}
	c := class{root: none, head: none, cur: none, keyOf: none, shape: e.shapeFor(&k), spare: k.spare, capped: none, view: k.view}
	if k.spare {
		c.capped = e.limit.of(k.team)
	}
	c.leaf, c.span, c.fill, c.session = k.leaf, k.span, k.fill, k.session
	c.never, c.reason = e.neverFits(&c)
	e.coresOnly = e.coresOnly || c.shape.Need.GPUs == 0
	e.straddles = e.straddles || len(c.shape.Pools) > 1
	id := int32(len(e.classes))
	c.self = id
	if e.sharing != nil {
		e.sharing.sit(e, &c, k.partition)
	}
	e.classes = append(e.classes, c)
	e.classOf[k] = id
	return id
}

// shapeFor shares one shape among the classes of a need, and with it what is
// remembered of it: under a time-dependent order they are many.
func (e *Engine) shapeFor(k *classKey) *place.Shape {
	key := shapeKey{k.need, k.partition}
	s := e.shapes[key]
	if s == nil {
		s = e.placer.Shape(k.need, k.partition)
		e.shapes[key] = s
	}
	return s
}

type shapeKey struct {
	need      workload.Need
	partition string
}

// Never tells whether a job could run on the empty cluster, all its nodes healthy, before it is submitted;
// if not, why. It changes nothing.
func (e *Engine) Never(j *workload.Job) (fact.Reason, bool) {
	k := classKey{need: j.Need}
	if e.layout.Partitioned {
		k.partition = j.Partition
	}
	c := class{shape: e.placer.Shape(k.need, k.partition), capped: none} // one of its own: others remember what they have met
	never, why := e.neverFits(&c)
	if !never && e.limit.most > 0 && e.spared(j) && c.shape.Milli > e.limit.most {
		return e.limit.reason(c.shape.Milli), true
	}
	return why, never
}

// neverFits asks the empty cluster, all its nodes healthy.
func (e *Engine) neverFits(c *class) (bool, fact.Reason) {
	if e.empty == nil {
		for i := range e.layout.Pools {
			e.empty = append(e.empty, cluster.NewFree(e.layout, int32(i)))
		}
	}
	s := c.shape
	sizes := s.Rigid()
	if sizes != nil {
		s = sizes[len(sizes)-1]
	}
	for k, p := range s.Pools {
		if e.placer.FitsIn(e.empty[p], s, k) {
			if c.capped != none && s.Milli > e.limit.most {
				return true, e.limit.reason(s.Milli)
			}
			return false, fact.Reason{}
		}
	}
	have, want := e.placer.Most(e.empty, s)
	if len(s.Pools) == 0 {
		return true, fact.Reason{Code: e.placer.NoPool(&s.Need), For: none, Have: have, Want: want}
	}
	return true, fact.Reason{Code: fact.NeverFits, For: none, Have: have, Want: want}
}

// estimate is the predicted run time of a job: what came with its submission,
// else its estimate, else its limit, else the policy's default, else forever.
func (e *Engine) estimate(f *fact.Fact) workload.Span {
	for _, d := range [...]workload.Span{f.Estimate, f.Submitted.Estimate, f.Submitted.Limit, e.pol.DefaultEstimate} {
		if d > 0 {
			return d
		}
	}
	return forever
}

// forever is the estimate of a job that gives none: longer than anything, yet
// safe to add to a time.
const forever workload.Span = 1 << 60

// remaining is the predicted work left after done; a job past its estimate is
// predicted to need twice as long, and twice that (SEMANTICS 15).
func (e *Engine) remaining(j *job, done workload.Span) workload.Span {
	total := j.est
	for total <= done {
		total *= 2
	}
	return total - done
}

// duration is the shortest that the job's next run could be by prediction: on
// its fastest GPU type, with the most tasks. It is what the queue filters by;
// whoever starts the job looks at the real place.
func (e *Engine) duration(j *job) workload.Span {
	d := e.remaining(j, j.kept)
	fast := int32(1000)
	for _, s := range j.spec.Speed {
		fast = max(fast, s.Milli)
	}
	d = scale(d, fast)
	if n := &j.spec.Need; n.MaxTasks > n.Tasks && d < forever {
		d = d * int64(n.Tasks) / int64(n.MaxTasks)
	}
	return d + e.restart(j)
}

// scale turns work into time on GPUs of a relative speed.
func scale(d workload.Span, milli int32) workload.Span {
	if milli == 1000 || milli <= 0 || d >= forever {
		return d
	}
	return (d*1000 + int64(milli) - 1) / int64(milli)
}

// durationIn is the predicted length of the next run in a pool with that many tasks.
func (e *Engine) durationIn(j *job, pool, tasks int32) workload.Span {
	d := scale(e.remaining(j, j.kept), e.speed(j, pool))
	if tasks > 0 && tasks != j.spec.Need.Tasks && d < forever {
		d = (d*int64(j.spec.Need.Tasks) + int64(tasks) - 1) / int64(tasks)
	}
	return d + e.restart(j)
}

func (e *Engine) speed(j *job, pool int32) int32 {
	if len(j.spec.Speed) > 0 {
		t := e.layout.Pools[pool].GPUType
		for _, s := range j.spec.Speed {
			if s.GPUType == t {
				return s.Milli
			}
		}
	}
	return 1000
}

// progress is the work the present run has done by now, in reference time.
func (e *Engine) progress(j *job, now workload.Time) workload.Span {
	if j.state == starting || now <= j.work {
		return 0
	}
	d := now - j.work
	if m := e.speed(j, j.pool); m != 1000 {
		d = d * int64(m) / 1000
	}
	if j.tasks > 0 && j.tasks != j.spec.Need.Tasks {
		d = d * int64(j.tasks) / int64(j.spec.Need.Tasks)
	}
	return d
}
