package metrics

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// openRuns keeps the grants of the runs that are open. The engine's memory must
// not be kept, and slots are reused so that a start allocates nothing.
type openRuns struct {
	slots [][]fact.Grant
	free  []int32
}

// put copies place and returns its slot, -1 for none.
func (o *openRuns) put(place []fact.Grant) int32 {
	if len(place) == 0 {
		return -1
	}
	var s int32
	if n := len(o.free); n > 0 {
		s = o.free[n-1]
		o.free = o.free[:n-1]
	} else {
		s = int32(len(o.slots))
		o.slots = append(o.slots, nil)
	}
	o.slots[s] = append(o.slots[s][:0], place...)
	return s
}

// of returns the grants of a slot, none for -1. They are good until the next put.
func (o *openRuns) of(s int32) []fact.Grant {
	if s < 0 {
		return nil
	}
	return o.slots[s]
}

// take returns the grants of a slot and frees it. They are good until the next put.
func (o *openRuns) take(s int32) []fact.Grant {
	if s < 0 {
		return nil
	}
	o.free = append(o.free, s)
	return o.of(s)
}

// RunPart is what one run of a job had of one node: a box of the node x time picture.
type RunPart struct {
	Job int32
	// Node index, -1 on a cluster without nodes.
	Node int32
	// Milli is the GPU capacity held, in milli-GPU.
	Milli int64
	// GPUs is the set of GPUs, bit i = GPU i of the node.
	GPUs       uint64
	Start, End workload.Time
}

// Runs is who ran where. Where a run had more parts than were to be kept, the
// parts with the largest GPU-time were: they are what a picture can show.
type Runs struct {
	Parts []RunPart
	// Dropped is the number of parts left out, DroppedGPUHours their GPU-time.
	Dropped         int
	DroppedGPUHours float64
}

// runStore keeps the limit largest parts: it fills up to twice the limit and
// then throws the smaller half away, so the work per part is constant.
type runStore struct {
	limit       int
	parts       []RunPart
	dropped     int
	droppedArea area
}

func (p *RunPart) size() float64 { return float64(p.Milli) * float64(p.End-p.Start) }

func (s *runStore) add(job int32, start, end workload.Time, place []fact.Grant, milli int64) {
	if place == nil && milli > 0 {
		s.put(RunPart{Job: job, Node: -1, Milli: milli, Start: start, End: end})
		return
	}
	for i := range place {
		g := &place[i]
		if m := milliOf(g); m > 0 {
			s.put(RunPart{Job: job, Node: g.Node, Milli: m, GPUs: g.GPUs, Start: start, End: end})
		}
	}
}

func (s *runStore) put(p RunPart) {
	if p.End <= p.Start {
		return
	}
	if len(s.parts) >= 2*s.limit {
		s.trim()
	}
	s.parts = append(s.parts, p)
}

func (s *runStore) trim() {
	if len(s.parts) <= s.limit {
		return
	}
	slices.SortStableFunc(s.parts, func(a, b RunPart) int { return cmp.Compare(b.size(), a.size()) })
	for i := s.limit; i < len(s.parts); i++ {
		s.dropped++
		s.droppedArea.add(s.parts[i].Milli, s.parts[i].End-s.parts[i].Start)
	}
	s.parts = s.parts[:s.limit]
}

// Runs returns who ran where up to end, by start, with runs still open then; nil
// if none were to be kept.
func (c *Collector) Runs(end workload.Time) *Runs {
	if c.runs.limit <= 0 {
		return nil
	}
	s := runStore{limit: c.runs.limit, parts: slices.Clone(c.runs.parts),
		dropped: c.runs.dropped, droppedArea: c.runs.droppedArea}
	for i := range c.jobs {
		j := &c.jobs[i]
		if !j.known || j.start == workload.Unknown {
			continue
		}
		s.add(int32(i), j.start, max(end, c.prev.At), c.open.of(j.slot), j.milli)
	}
	s.trim()
	slices.SortFunc(s.parts, func(a, b RunPart) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Node, b.Node))
	})
	return &Runs{Parts: s.parts, Dropped: s.dropped, DroppedGPUHours: s.droppedArea.gpuHours()}
}
