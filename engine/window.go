package engine

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// windows are the times for which nodes are kept: for maintenance, or for some teams and
// users. All of it is nil while there are none.
type windows struct {
	// list is in the order in which they were set. Those that are over are not in it.
	list []fact.Window
	// on are the windows of each node, by their place in the list.
	on [][]int32
	// views tell apart who may run in which windows: those that a view may not are true.
	// Classes of waiting jobs have one each.
	views  [][]bool
	viewOf map[string]int32
	// shut counts, by node, the windows that those who are looked at must keep off; closed
	// are those windows. confined nodes are shut besides, see [Engine.confine].
	shut     []int16
	closed   []bool
	nClosed  int
	confined []bool
	// idle counts the maintenance windows that have begun, by node; nIdle the nodes that have any.
	idle  []int16
	nIdle int
	// filed: classes were made anew at least once.
	filed bool
}

// windowChanged sets a window or lifts it.
func (e *Engine) windowChanged(f *fact.Fact) error {
	if f.Window == nil {
		return ErrUnknown
	}
	i := e.windowOf(f.Window.ID)
	if f.Kind == fact.WindowLifted {
		if i < 0 {
			return ErrUnknown
		}
		e.dropWindow(i, f.At)
		return nil
	}
	switch {
	case i >= 0:
		return fmt.Errorf("there is a window %s already: %w", f.Window.ID, ErrUnknown)
	case f.Window.Until <= f.At:
		return fmt.Errorf("window %s would be over: %w", f.Window.ID, ErrUnknown)
	}
	if err := f.Window.Check(len(e.layout.Spec.Nodes)); err != nil {
		return err
	}
	e.windows.list = append(e.windows.list, *f.Window)
	e.keepTrack()
	e.refile()
	if f.Window.From <= f.At {
		e.windowBegins(f.Window, f.At)
	}
	e.plan.broken = true // dates may lie in it
	return nil
}

// windowOf finds a window by its ID, -1 for none.
func (e *Engine) windowOf(id string) int {
	return slices.IndexFunc(e.windows.list, func(w fact.Window) bool { return w.ID == id })
}

// passWindows makes windows begin and end that do so by a time.
func (e *Engine) passWindows(now workload.Time) {
	for len(e.windows.list) > 0 {
		next, at := -1, now
		for i := range e.windows.list {
			w := &e.windows.list[i]
			if w.From > e.now && w.From <= at && (next < 0 || w.From < at) {
				next, at = i, w.From
			}
			if w.Until <= at && (next < 0 || w.Until < at) {
				next, at = i, w.Until
			}
		}
		if next < 0 {
			return
		}
		e.now = max(e.now, at)
		// All that begin or end at this very time do so now.
		for i := 0; i < len(e.windows.list); {
			w := &e.windows.list[i]
			if w.From == at {
				e.windowBegins(w, at)
			}
			if w.Until == at {
				e.dropWindow(i, at)
				continue
			}
			i++
		}
	}
}

// windowBegins takes what is idle of nodes under maintenance out of what there is.
func (e *Engine) windowBegins(w *fact.Window, at workload.Time) {
	e.idles(w, 1)
	e.windowTurns(at)
}

// dropWindow ends a window: its nodes are everybody's again.
func (e *Engine) dropWindow(i int, at workload.Time) {
	w := e.windows.list[i]
	if w.From <= at {
		e.idles(&w, -1)
	}
	e.windows.list = slices.Delete(slices.Clone(e.windows.list), i, i+1)
	e.refile()
	e.plan.broken = true // others may come earlier
	e.windowTurns(at)
}

// idles counts a maintenance window that has begun, or takes it back.
func (e *Engine) idles(w *fact.Window, by int16) {
	if !w.Maintenance() {
		return
	}
	s := &e.windows
	if s.idle == nil {
		s.idle = make([]int16, len(e.layout.Spec.Nodes))
	}
	for _, n := range w.Nodes {
		was := s.idle[n]
		if s.idle[n] += by; was == 0 {
			s.nIdle++
		} else if s.idle[n] == 0 {
			s.nIdle--
		}
	}
}

// resting tells whether what is idle of a node takes no work, though it is up.
func (e *Engine) resting(n int32) bool {
	return e.drained[n] || e.windows.nIdle > 0 && e.windows.idle[n] > 0
}

// windowTurns has all looked at anew.
func (e *Engine) windowTurns(at workload.Time) {
	if s := e.sharing; s != nil {
		s.offered(e, at)
		s.dateChanges++
		s.pending.all, s.pending.swaps = true, true
	}
	e.dirty = true
}

// refile files the waiting jobs anew, by who may run where.
func (e *Engine) refile() {
	s := &e.windows
	s.filed = true
	s.views, s.viewOf, s.on, s.closed = nil, nil, nil, nil
	if len(s.list) > 0 {
		e.indexWindows()
	}
	clear(e.classOf)
	for n := range e.jobs {
		if e.jobs[n].state != waiting {
			continue
		}
		e.extract(int32(n))
		e.jobs[n].class = e.classFor(int32(n))
		e.insert(int32(n))
	}
	if s := e.sharing; s != nil {
		s.dateChanges++
		s.pending.all, s.pending.swaps = true, true
	}
	e.dirty = true
}

// indexWindows makes what follows from the list.
func (e *Engine) indexWindows() {
	s := &e.windows
	nodes := len(e.layout.Spec.Nodes)
	s.on, s.closed = make([][]int32, nodes), make([]bool, len(s.list))
	if s.shut == nil {
		s.shut = make([]int16, nodes)
	}
	for i := range s.list {
		for _, n := range s.list[i].Nodes {
			s.on[n] = append(s.on[n], int32(i))
		}
	}
	s.viewOf = map[string]int32{}
}

// view is that of a team's or user's work, none where it may run in all windows.
func (e *Engine) view(j *workload.Job) int32 {
	s := &e.windows
	key := make([]byte, len(s.list))
	off := make([]bool, len(s.list))
	any := false
	for i := range s.list {
		if !s.list[i].Allows(j.Team, j.User) {
			off[i], key[i], any = true, 1, true
		}
	}
	if !any {
		return none
	}
	v, ok := s.viewOf[string(key)]
	if !ok {
		v = int32(len(s.views))
		s.viewOf[string(key)] = v
		s.views = append(s.views, off)
	}
	return v
}

// keepTrack begins to list what runs, where the policy alone needs no such list.
func (e *Engine) keepTrack() {
	if e.tracks {
		return
	}
	e.tracks = true
	for n := range e.jobs {
		if occupies(e.jobs[n].state) {
			e.track(int32(n))
		}
	}
}

// lastStart is the latest time at which a start of a job is certain to be gone when a window
// begins: where the policy predicts, by its prediction; under contracts by the end of the
// protection; else, and besides, by a hard limit.
func (e *Engine) lastStart(c *class, n int32, span workload.Span, from workload.Time) workload.Time {
	j := &e.jobs[n]
	need := forever
	switch s := e.sharing; {
	case s != nil:
		need = s.safeFor(c, span) + s.pol.GraceAllocated
		if span == 0 {
			need = s.pol.GraceUnallocated
		}
	case e.predicts && j.spec.Service == nil:
		if need = e.longestRun(c, j); need < forever {
			need += e.contract(j).Grace
		}
	}
	if l := j.spec.Limit; l > 0 {
		need = min(need, l)
	}
	return from - max(e.defaults.StartLatency+need, 1)
}

// longestRun is how long a job may run by prediction, on whichever of its pools and with as
// few tasks as it takes.
func (e *Engine) longestRun(c *class, j *job) workload.Span {
	d := workload.Span(0)
	for _, p := range c.wherever().Pools {
		d = max(d, e.durationIn(j, p, j.spec.Need.MinTasks))
	}
	return d
}

// bars tells whether a window keeps off a start of a job after a wait.
func (e *Engine) bars(i int, c *class, n int32, span workload.Span, start workload.Time) bool {
	w := &e.windows.list[i]
	return !w.Allows(e.jobs[n].spec.Team, e.jobs[n].spec.User) && start > e.lastStart(c, n, span, w.From)
}

// barredPlace tells whether some window keeps a start at a time off a place.
func (e *Engine) barredPlace(gs []cluster.Grant, n int32, span workload.Span, start workload.Time) bool {
	if len(e.windows.list) == 0 {
		return false
	}
	c := &e.classes[e.jobs[n].class]
	for i := range gs {
		for _, w := range e.windows.on[gs[i].Node] {
			if e.bars(int(w), c, n, span, start) {
				return true
			}
		}
	}
	return false
}

// Windows are those that are not over, in the order in which they were set: read only.
func (e *Engine) Windows() []fact.Window { return e.windows.list }
