package horizon

import (
	"cmp"
	"fmt"
	"slices"
)

// The layout of real-time work is a greedy one, and may fail where there is a legal one: an
// application that has to move at one swap a step must begin early enough, and may have to
// hold less than it could for a while. Here is what is tried before a problem is refused.

// insist looks for a layout with everything at hand: first other orders of the applications
// and tastes, then, one application after another, how many GPUs each gives up and takes in
// each step. The layout found stays as it is, whatever jobs come.
func (d *decoder) insist() bool {
	in := d.in
	tries := in.maxTries()
	order := make([]int32, len(in.apps))
	tastes := make([]uint8, len(in.apps))
	for turn := range 2 * len(order) {
		for i := range order { // each first, forwards and backwards
			k := (turn/2 + i) % len(order)
			if turn%2 == 1 {
				k = len(order) - 1 - k
			}
			order[i] = int32(k)
		}
		for like := range uint8(taste) {
			for a := range tastes {
				tastes[a] = like
			}
			for _, solo := range []bool{false, true} {
				if cost, ok := d.layout(in.open, order, tastes, solo); ok {
					d.settle(cost)
					return true
				}
			}
		}
		if cost, ok := d.searchLayout(order, &tries); ok {
			d.settle(cost)
			return true
		}
	}
	return false
}

// settle keeps the layout in rtNew for good.
func (d *decoder) settle(cost int64) {
	s := &settled{cost: cost}
	for a := range d.rtNew {
		s.rt = append(s.rt, slices.Clone(d.rtNew[a]))
	}
	d.in.settled = s
}

// settled is a layout where none can be made at will.
type settled struct {
	rt   [][]uint64
	cost int64
}

// searchLayout lays the applications out in an order, each on what those before leave it.
func (d *decoder) searchLayout(order []int32, tries *int) (int64, bool) {
	in := d.in
	if in.p.Reading.CountSwaps {
		return 0, false // numbers alone matter: the greedy layout finds what there is
	}
	d.left = d.leftOver
	copy(d.left, in.open)
	cost := int64(0)
	for _, a := range order {
		d.foresee()
		c := &in.apps[a]
		x := insistence{d: d, app: c, rt: d.rtNew[a], tries: tries, failed: map[string]bool{}}
		if !x.step(0, slices.Clone(c.current), c.current.Len()) {
			return 0, false
		}
		for k, held := range x.rt {
			d.left[k] &^= held
		}
		for t := range in.steps {
			cost += int64(max(0, c.demand[t]-in.row(x.rt, t).Len())) * c.penalty
		}
	}
	return cost, true
}

// maxTries of numbers in all; for an application on a row of a few GPUs that is all there are.
func (in *instance) maxTries() int {
	return min(10_000, max(500, 10_000*cheapWords/(in.words*in.steps)))
}

// insistence is the search for a layout of one application.
type insistence struct {
	d      *decoder
	app    *app
	rt     []uint64
	tries  *int
	failed map[string]bool
}

// change is how many GPUs an application gives up and takes in a step.
type change struct{ lose, gain, short, n int }

// step lays the application out from step t on, if it holds n GPUs before. Which ones
// it gives up and takes is clear: of the held ones those that are closed soonest, of the free
// ones those that stay open longest. For, a layout that has it otherwise can swap the roles of
// the two GPUs until it gives up the one or takes the other.
func (x *insistence) step(t int, held Set, n int) bool {
	d, in, a := x.d, x.d.in, x.app
	if t == in.steps {
		return true
	}
	key := fmt.Sprint(t, held)
	if x.failed[key] {
		return false
	}
	st := holding{held: held, n: n}
	if st.keep(a, in.row(d.left, t), t, false) {
		for _, c := range x.changes(&st, t) {
			if *x.tries--; *x.tries < 0 {
				return false
			}
			next := slices.Clone(st.held)
			for range c.lose {
				next.remove(d.soonest(next, t, longest))
			}
			copy(d.spare, in.row(d.left, t))
			for i, w := range st.held {
				d.spare[i] &^= w
			}
			for range c.gain {
				g := d.pick(a, t, longest)
				next.Add(g)
				d.spare.remove(g)
			}
			copy(in.row(x.rt, t), next)
			if x.step(t+1, next, c.n) {
				return true
			}
		}
	}
	x.failed[key] = true
	return false
}

// changes lists what the application may do in a step, the least shortfall first, then the fewest
// swaps.
func (x *insistence) changes(st *holding, t int) []change {
	a, spare := x.app, 0
	for i, w := range x.d.in.row(x.d.left, t) {
		if a.may != nil {
			w &= a.may[i]
		}
		spare += Set{w &^ st.held[i]}.Len()
	}
	var list []change
	for lose := 0; lose <= min(st.n, st.budget); lose++ {
		for gain := 0; gain <= min(spare, st.budget-lose); gain++ {
			if n := st.n - lose + gain; n >= a.min[t] && n <= a.max[t] {
				list = append(list, change{lose, gain, max(0, a.demand[t]-n), n})
			}
		}
	}
	slices.SortFunc(list, func(p, q change) int {
		return cmp.Or(cmp.Compare(p.short, q.short), cmp.Compare(p.lose+p.gain, q.lose+q.gain), cmp.Compare(p.lose, q.lose))
	})
	return list
}

// noLayout says why real-time work has no legal layout that can be found.
func (in *instance) noLayout() error {
	alone := *in.p
	alone.Jobs = slices.DeleteFunc(slices.Clone(in.p.Jobs), func(j Job) bool { return j.Running == nil })
	for a := range in.apps {
		alone.Apps = in.p.Apps[a : a+1]
		if err := compile(&alone).noLayoutAlone(); err != nil {
			return fmt.Errorf("rt[%d] %q: %w", a, alone.Apps[0].ID, err)
		}
	}
	return fmt.Errorf("rt: the applications together need more than what runs and what is closed leave them")
}

// noLayoutAlone is noLayout for the only application, nil if there is one.
func (in *instance) noLayoutAlone() error {
	c := &in.apps[0]
	for t, n := range in.most(c) {
		if n < c.min[t] {
			return fmt.Errorf("in step %d what runs and what is closed leave it %d of the %d GPUs that are its min", t, max(n, 0), c.min[t])
		}
	}
	if in.fits && newDecoder(in).insist() {
		return nil
	}
	return fmt.Errorf("what runs and what is closed take more of its GPUs than it can replace when at most %d change in a step", c.cap)
}
