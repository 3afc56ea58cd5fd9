package engine

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/workload"
)

// priceOf is what stopping a run costs: allocated and unallocated work apart.
func (e *Engine) priceOf(v int32, now workload.Time) victim {
	j := &e.jobs[v]
	x := victim{job: v, since: j.since}
	if lost := e.lost(j, now); e.sharing.jobs[v].unallocated {
		x.lost = lost
	} else {
		x.key = lost
		if !resumable(j) {
			x.last = 1 // among equals it goes last: its run is lost for good
		}
		if e.parks(v) {
			x.key = 0 // nobody works there, and nothing is lost
		}
	}
	x.allocated = !e.sharing.jobs[v].unallocated
	return x
}

// setCost is the price of a set under shares (SEMANTICS 26): what allocated work loses,
// how many can never go on, then what stopping any set costs, unallocated work's losses.
type setCost struct {
	allocated, final int64
	cost
}

func (a *setCost) add(v *victim) {
	a.allocated += v.key
	a.final += int64(v.last)
	a.lost += v.lost
	if a.count++; a.count == 1 || v.since > a.since {
		a.since = v.since
	}
	a.last = max(a.last, v.job)
}

func (a *setCost) less(b *setCost) bool {
	switch {
	case a.allocated != b.allocated:
		return a.allocated < b.allocated
	case a.final != b.final:
		return a.final < b.final
	}
	return a.cost.less(b.cost)
}

// dearer tells whether every set of candidates that makes room costs more than one
// that is known: it has one of them at least.
func dearer(cand []victim, within uint64, g int32, best *setCost) bool {
	for i := range cand {
		within &^= cand[i].gpus
	}
	if count(within) >= g {
		return false
	}
	for i := range cand {
		v := &cand[i]
		if v.key < best.allocated || v.key == best.allocated && (int64(v.last) < best.final || int64(v.last) == best.final && v.lost <= best.lost) {
			return false
		}
	}
	return true
}

// sortPriced puts those who go first in front.
func (e *Engine) sortPriced(v []victim) {
	slices.SortFunc(v, func(a, b victim) int {
		return cmp.Or(cmp.Compare(b2i(a.allocated), b2i(b.allocated)), cmp.Compare(a.key, b.key), cmp.Compare(a.last, b.last), cmp.Compare(a.lost, b.lost),
			cmp.Compare(b.since, a.since), cmp.Compare(b.job, a.job))
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
