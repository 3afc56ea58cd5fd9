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
// of what was asked for so far; nil makes it learn that again, from nothing.
// Other placements ignore it.
func (p *Placer) SetTargets(ts []Target) {
	r, ok := p.scorer.(*gradient)
	if !ok {
		return
	}
	r.targets = targets{given: ts != nil}
	for i := range ts {
		r.targets.add(p.Shape(ts[i].Need, ""), ts[i].Weight)
	}
	r.rebuild()
}

// Asked counts a job of the shape among what is asked for: placement fgd learns
// from it what is typical, unless SetTargets told it. Where every submission is
// counted, what is learned is a function of the submissions; a shape that was
// never counted counts once when it is first placed.
func (p *Placer) Asked(s *Shape) {
	p.Known(s)
	r, ok := p.scorer.(*gradient)
	if !ok || r.targets.given {
		return
	}
	r.targets.add(s, 1)
	if r.targets.weight >= r.next {
		// Ever more rarely, so that what the scores rest on seldom changes.
		r.next = r.targets.weight + r.targets.weight/4 + 1
		r.rebuild()
	}
}

// target is one task of a kind and how often it is asked for; memory is left
// out, as in the study.
type target struct {
	cpu         int64
	gpus, milli int32
	types       string
	weight      int64
}

// targets counts tasks by kind.
type targets struct {
	given  bool
	all    []target
	at     map[target]int // by kind: the target with weight 0
	weight int64
}

func (ts *targets) add(s *Shape, weight int64) {
	if len(s.cuts) == 0 || weight <= 0 {
		return // no pool may serve it: there is nothing to keep free for it
	}
	c := s.cuts[0]
	kind := target{cpu: s.Need.CPU, gpus: c.GPUs, types: s.Need.GPUTypes}
	if c.GPUs > 0 {
		kind.milli = s.Need.MilliPerGPU()
	}
	k, ok := ts.at[kind]
	if !ok {
		if k = len(ts.all); ts.at == nil {
			ts.at = map[target]int{}
		}
		ts.at[kind] = k
		ts.all = append(ts.all, kind)
	}
	weight *= int64(c.Tasks)
	ts.all[k].weight += weight
	ts.weight += weight
}

// typical returns the most frequent kinds that together make up 95 % of the
// tasks, as the study does.
func (ts *targets) typical() []target {
	out := slices.Clone(ts.all)
	slices.SortFunc(out, func(a, b target) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.milli, a.milli),
			cmp.Compare(b.gpus, a.gpus), strings.Compare(b.types, a.types))
	})
	least := ts.weight - ts.weight/20
	var sum int64
	for k := range out {
		if sum += out[k].weight; sum >= least {
			out = out[:k+1]
			break
		}
	}
	for ; sum > maxWeight; sum >>= 1 {
		for k := range out {
			out[k].weight = (out[k].weight + 1) >> 1
		}
	}
	return out
}

// maxWeight keeps weighted sums over a node's GPUs far from overflow.
const maxWeight = 1 << 30

func (r *gradient) rebuild() { r.tables(r.targets.typical()) }

// tables makes the tables of what is typical.
func (r *gradient) tables(typical []target) {
	r.version++
	r.typical = typical
	for i := range r.pools {
		r.pools[i] = newFragTable(typical, &r.layout.Pools[i])
	}
}
