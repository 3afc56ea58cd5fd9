package engine

import (
	"math/bits"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// mayInterrupt tells whether the plan may interrupt a job once its protection is over: the policy
// lets it, the job declares a minimum runtime, and can go on later.
func (e *Engine) mayInterrupt(j *job) bool {
	return e.pol.Horizon.Interrupt && j.spec.Contract.HasMinRuntime && !j.spec.Contract.NotResumable && j.spec.Service == nil
}

// interruptible fills in, for such a job, how long a start is protected and what another
// start costs: what is lost since the last checkpoint, and the restart, a step at least, so
// that nobody is stopped for nothing.
func (h *ahead) interruptible(e *Engine, job *horizon.Job, j *job, now workload.Time) {
	c := e.contract(j)
	safe := e.protection(j)
	job.MinSteps = h.steps(e, safe)
	lost := workload.Span(0)
	if job.Running != nil {
		left := 0
		if d := j.since + safe - now; d > 0 {
			left = h.steps(e, d)
		} else if j.state != running {
			left = 1 // on its way up
		}
		job.Running.Elapsed = max(0, job.MinSteps-left)
		done := j.kept + e.progress(j, now)
		lost = done - Kept(c, j.kept, done)
	}
	job.Restart = h.steps(e, c.RestartCost+lost)
}

// protection is for how long a start is safe from a plan: the declared minimum runtime,
// twice as long with each start before, so that what is stopped again and again gets done.
func (e *Engine) protection(j *job) workload.Span {
	starts := j.runs
	if j.state == running || j.state == stopping && j.up {
		starts--
	}
	safe := j.spec.Contract.MinRuntime
	if starts > 0 {
		safe = max(safe, e.pol.Horizon.Step)
	}
	for ; starts > 0 && safe < forever>>1; starts-- {
		safe *= 2
	}
	return safe
}

// goesOn tells whether the plan lets a running job go on where it is.
func goesOn(plan *horizon.Plan, i int) bool {
	r := plan.Problem.Jobs[i].Running
	for k := range plan.Placed {
		if s := &plan.Placed[k]; s.Job == i && s.Start == 0 && s.Offset == r.Offset {
			return true
		}
	}
	return false
}

// inTheWay returns the running jobs on a block that the plan does not let go on.
func (h *ahead) inTheWay(e *Engine, o *outlook, plan *horizon.Plan, first, n int) []int32 {
	var list []int32
	for i := range o.p.Jobs {
		j := &o.p.Jobs[i]
		if j.Running == nil || j.MinSteps == 0 || j.Running.Offset >= first+n || first >= j.Running.Offset+j.Slots {
			continue
		}
		if k := o.jobs[i]; e.jobs[k].state == running && !e.jobs[k].leaving && !goesOn(plan, i) {
			list = append(list, k)
		}
	}
	return list
}

// makeRoom stops what is in the way of a job and keeps its place until that has gone. It
// tells whether that was all that was missing.
func (h *ahead) makeRoom(e *Engine, d *decision, ci, n int32, st *horizon.Stretch, victims []int32) bool {
	c := &e.classes[ci]
	b := h.block(e, c)
	nodes, gpus := h.row.split(e.layout, st.Offset, st.Size)
	pool := e.layout.PoolOf[h.row.node[h.firstReal(st.Offset)]]
	t, grace := e.scratchOf(pool), workload.Span(0)
	t.CopyFrom(e.frees[pool])
	for _, v := range victims {
		t.Give(e.jobs[v].grants)
		grace = max(grace, e.contract(&e.jobs[v]).Grace)
	}
	from := len(d.arena)
	arena, ok := e.placer.OnBlock(t, b.shape, b.shape.PoolIndex(pool), nodes, gpus, d.arena)
	if d.arena = arena; !ok || e.barredPlace(d.arena[from:], n, 0, d.now+grace) || h.hit(e, n, d.arena[from:], d.now, grace+e.durationIn(&e.jobs[n], pool, b.tasks)) {
		d.arena = d.arena[:from]
		return false
	}
	hold := fact.Action{Do: fact.Hold, Job: n, Attempt: e.jobs[n].attempt + 1, For: none, Tasks: b.tasks, Count: devices(b.shape.Milli), Milli: b.shape.Milli,
		At: d.now, Place: d.arena[from:len(d.arena):len(d.arena)], Reason: fact.Reason{Code: fact.Leaving, For: victims[0], Want: int32(len(victims))}}
	// What is free of it now is out of reach for those behind.
	to := len(d.arena)
	f := e.frees[pool]
	for _, g := range hold.Place {
		g.GPUs &= f.Mask(e.layout.Local[g.Node])
		g.Count = int32(bits.OnesCount64(g.GPUs))
		d.arena = append(d.arena, g)
	}
	f.Take(d.arena[to:])
	d.undo = append(d.undo, undo{pool: pool, from: to, to: len(d.arena)})
	d.actions = append(d.actions, hold)
	for _, v := range victims {
		h.stop(e, d, v, n)
	}
	return true
}

func (h *ahead) stop(e *Engine, d *decision, v, winner int32) {
	j := &e.jobs[v]
	j.leaving = true
	d.leaving = append(d.leaving, v)
	d.actions = append(d.actions, fact.Action{Do: fact.Stop, Job: v, Attempt: j.attempt, For: winner, Count: devices(j.milli), Milli: j.milli,
		At: d.now, Reason: fact.Reason{Code: fact.GaveWay, For: winner}})
}
