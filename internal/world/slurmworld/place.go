package slurmworld

import (
	"context"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// Slurm gives GPUs by number; which ones of a node a job has is its own affair. The engine counts them one
// by one, so those of a job that Slurm started are drawn from what no other run has there.

// used is the set of GPUs of each node that runs have, as the engine counts them.
func (w *World) used() map[int32]uint64 {
	out := map[int32]uint64{}
	for _, r := range w.runs {
		if r.end == nil {
			for i := range r.order.Place {
				out[r.order.Place[i].Node] |= r.order.Place[i].GPUs
			}
		}
	}
	return out
}

// place is where a job that Slurm started runs. ok is false for one that has no GPUs here, and as long as
// others are to start there: these are kept back again first.
func (w *World) place(ctx context.Context, e *entry) (place []fact.Grant, ok bool) {
	j := &e.seen
	ask, err := j.GPUs()
	here := slices.DeleteFunc(slices.Clone(j.Nodes), func(n string) bool { _, known := w.nodeOf[n]; return !known })
	if err == nil && ask.Total == 0 || len(here) == 0 {
		return nil, false
	}
	each := map[string]int64{}
	for _, n := range here {
		switch {
		case j.Exclusive:
			each[n] = int64(w.spec.Nodes[w.nodeOf[n]].GPUs)
		case len(j.Nodes) == 1:
			each[n] = ask.Total
		default:
			each[n] = ask.PerNode
		}
	}
	if !j.Exclusive && (err != nil || ask.PerNode == 0 && len(j.Nodes) > 1) { // Slurm divided it as it liked
		w.spend(callsOfTexts)
		if each, err = w.opts.Slurm.Allocation(ctx, j.ID); err != nil {
			w.log.Warn("what a job has on its nodes cannot be read", "job", j.ID, "err", err)
			return nil, false
		}
	}
	used := w.used()
	pool := ""
	for _, name := range here {
		k := w.nodeOf[name]
		n := &w.spec.Nodes[k]
		if each[name] == 0 {
			continue
		}
		if len(place) > 0 && n.GPUType != pool {
			w.log.Warn("a job runs on GPUs of several types; those of the first are counted", "job", j.ID)
			continue
		}
		pool = n.GPUType
		free := uint64(1)<<n.GPUs - 1
		if n.GPUs == 64 {
			free = ^uint64(0)
		}
		free &^= used[k]
		want := int(min(each[name], int64(n.GPUs)))
		if bits.OnesCount64(free) < want {
			w.pullBack(k, "Slurm started job "+j.ID+" on the place that it was to have")
			return nil, false
		}
		var set uint64
		for range want {
			bit := free & -free
			set, free = set|bit, free&^bit
		}
		g := cluster.WholeGrant(k, set)
		g.CPU = int64(j.NumCPUs) * 1000 / int64(len(j.Nodes))
		place = append(place, g)
	}
	return place, len(place) > 0
}

// pullBack has all that is to start on a node, and has not, kept back again.
func (w *World) pullBack(node int32, why string) {
	for _, e := range w.sorted() {
		r := e.run
		if r == nil || r.state == up || r.back {
			continue
		}
		for i := range r.order.Place {
			if r.order.Place[i].Node == node {
				r.back, r.failed = true, why
				if r.state == asked {
					w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: why})
				}
				break
			}
		}
	}
}
