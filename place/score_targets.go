package place

import (
	"cmp"
	"slices"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// Target is a kind of job and how often it is asked for.
type Target struct {
	Need   workload.Need
	Weight int64
}

// Targets counts the needs of jobs, in order of first appearance.
func Targets(jobs []workload.Job) []Target {
	var out []Target
	at := make(map[workload.Need]int)
	for i := range jobs {
		k, ok := at[jobs[i].Need]
		if !ok {
			k = len(out)
			at[jobs[i].Need] = k
			out = append(out, Target{Need: jobs[i].Need})
		}
		out[k].Weight++
	}
	return out
}

// SetTargets tells placement fgd what the workload typically asks for, in place
// of what was asked for so far; nil turns it back. Other placements ignore it.
func (p *Placer) SetTargets(ts []Target) {
	r, ok := p.scorer.(*gradient)
	if !ok {
		return
	}
	r.targets.given = ts != nil
	r.targets.clear()
	for i := range ts {
		s := p.Shape(ts[i].Need, "")
		r.targets.add(s, ts[i].Weight)
	}
	r.rebuild()
}

// Asked counts a job of the shape among what is asked for: placement fgd learns
// from it what is typical, unless it was told by SetTargets. A caller who counts
// every submission makes what is learned a function of the submissions; of a
// shape that it never counted, the first placement counts as one.
func (p *Placer) Asked(s *Shape) {
	if r, ok := p.scorer.(*gradient); ok {
		r.asked(s)
	}
}

// target is one task of a kind; memory is left out, as in the study.
type target struct {
	cpu         int64
	gpus, milli int32
	types       string
	weight      int64
}

func (t *target) allows(gpuType string) bool {
	n := workload.Need{GPUTypes: t.types}
	return n.AllowsType(gpuType)
}

// targets counts tasks by kind.
type targets struct {
	given  bool
	all    []target
	at     map[target]int // by kind: with weight 0
	weight int64
	// next is the weight at which the tables are made anew.
	next int64
}

func (ts *targets) clear() { *ts = targets{given: ts.given, at: map[target]int{}} }

func (ts *targets) add(s *Shape, weight int64) {
	if len(s.cuts) == 0 || weight <= 0 {
		return // for no pool: nothing that any node could be kept free for
	}
	c := s.cuts[0]
	kind := target{cpu: s.Need.CPU, gpus: c.GPUs, types: s.Need.GPUTypes}
	if c.GPUs > 0 {
		kind.milli = s.Need.MilliPerGPU()
	}
	k, ok := ts.at[kind]
	if !ok {
		k = len(ts.all)
		ts.at[kind] = k
		ts.all = append(ts.all, kind)
	}
	weight *= int64(c.Tasks)
	ts.all[k].weight += weight
	ts.weight += weight
}

var Popular int64 = 95

// typical are the most frequent kinds that together make up 95 % of the tasks.
func (ts *targets) typical() []target {
	out := slices.Clone(ts.all)
	slices.SortFunc(out, func(a, b target) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.milli, a.milli),
			cmp.Compare(b.gpus, a.gpus), strings.Compare(b.types, a.types))
	})
	var sum int64
	for k := range out {
		if sum += out[k].weight; sum >= ts.weight-ts.weight/100*(100-Popular) {
			return out[:k+1]
		}
	}
	return out
}

func (r *gradient) asked(s *Shape) {
	s.asked = true
	ts := &r.targets
	if ts.given {
		return
	}
	if ts.at == nil {
		ts.clear()
	}
	ts.add(s, 1)
	// Ever rarer, so that what scores rest on seldom changes: after each quarter more.
	if ts.weight >= ts.next {
		ts.next = ts.weight + ts.weight/4 + 1
		r.rebuild()
	}
}

// learn counts a shape that nobody counted.
func (r *gradient) learn(s *Shape) {
	if !s.asked {
		r.asked(s)
	}
}

func (r *gradient) rebuild() {
	r.version++
	ts := r.targets.typical()
	for i := range r.pools {
		r.pools[i] = newFragTable(ts, &r.layout.Pools[i])
	}
}
