package exact

import (
	"math"
	"sort"

	"github.com/escala-sched/escala/horizon"
)

// positionModel adds to the count model where everything is: a column for each kind of
// job, start and first slot, and one for each application, slot and step.
type positionModel struct {
	*countModel
	at [][]place // by kind
	on [][][]int // column by application, step and slot; -1 where it cannot be
}

type place struct{ start, offset, column int }

// positionColumns is how many columns the model of a problem would have, about.
func positionColumns(p *horizon.Problem, r *horizon.Relaxation) int {
	n := 3 * len(p.Apps) * p.Steps * p.GPUs
	for i := range r.Items {
		it := &r.Items[i]
		for _, may := range it.May {
			if may {
				n += len(r.Offsets[it.Offsets])
			}
		}
	}
	return n
}

// newPositionModel returns nil where the problem has work that may be interrupted, which the
// model has no form for.
func newPositionModel(p *horizon.Problem, r *horizon.Relaxation) *positionModel {
	for i := range r.Items {
		if r.Items[i].Cut {
			return nil
		}
	}
	m := &positionModel{countModel: newCountModel(p, r)}
	cells := make([][]terms, p.Steps)
	for t := range cells {
		cells[t] = make([]terms, p.GPUs)
	}
	for i := range m.kinds {
		m.at = append(m.at, m.addPlaces(&m.kinds[i], cells))
	}
	for a := range p.Apps {
		m.on = append(m.on, m.addSlots(a, cells))
	}
	for t := range cells {
		for g := range cells[t] {
			switch {
			case !r.Steps[t].Slots.Has(g):
				cells[t][g].atMost(&m.m, 0)
			case len(cells[t][g].column) > 0:
				cells[t][g].atMost(&m.m, 1)
			}
		}
	}
	return m
}

func (m *positionModel) addPlaces(k *kind, cells [][]terms) []place {
	p := m.p
	var places []place
	it := k.item
	for s, col := range k.starts {
		if col < 0 {
			continue
		}
		var all terms
		for _, o := range m.r.Offsets[it.Offsets] {
			c := m.m.AddColumn(0, 0, 1, true)
			places = append(places, place{s, o, c})
			all.add(c, 1)
			for t := s; t < min(s+it.Steps, p.Steps); t++ {
				for g := o; g < o+it.Size; g++ {
					cells[t][g].add(c, 1)
				}
			}
		}
		all.add(col, -1)
		all.between(&m.m, 0, 0)
	}
	return places
}

func (m *positionModel) addSlots(a int, cells [][]terms) [][]int {
	p := m.p
	app := &p.Apps[a]
	now := make([]bool, p.GPUs)
	for _, g := range app.Current {
		now[g] = true
	}
	on := make([][]int, p.Steps)
	for t := range on {
		on[t] = make([]int, p.GPUs)
		var held, swaps terms
		may := app.Swaps(t, p.GPUs)
		for g := range on[t] {
			on[t][g] = -1
			if app.Types != 0 && app.Types>>p.Types[g]&1 == 0 {
				if t == 0 && now[g] {
					may-- // it has to go
				}
				continue
			}
			z := m.m.AddColumn(0, 0, 1, true)
			on[t][g] = z
			held.add(z, 1)
			cells[t][g].add(z, 1)
			if p.Reading.CountSwaps {
				continue
			}
			// gained - lost = change
			gained, lost := m.m.AddColumn(0, 0, 1, false), m.m.AddColumn(0, 0, 1, false)
			swaps.add(gained, 1)
			swaps.add(lost, 1)
			var change terms
			change.add(z, 1)
			change.add(gained, -1)
			change.add(lost, 1)
			before := 0.0
			if t > 0 {
				change.add(on[t-1][g], -1)
			} else if now[g] {
				before = 1
			}
			change.between(&m.m, before, before)
		}
		held.add(m.held[a][t], -1)
		held.between(&m.m, 0, 0)
		if !p.Reading.CountSwaps {
			swaps.atMost(&m.m, float64(may))
		}
	}
	return on
}

// start turns a plan into a solution of the model.
func (m *positionModel) start(plan *horizon.Plan) []float64 {
	x := m.countModel.start(plan)
	kindOf := map[int]int{}
	for i := range m.kinds {
		for _, j := range m.kinds[i].jobs {
			kindOf[j] = i
		}
	}
	for _, s := range plan.Placed {
		k, ok := kindOf[s.Job]
		if !ok {
			continue
		}
		for _, at := range m.at[k] {
			if at.start == s.Start && at.offset == s.Offset {
				x[at.column] = 1
			}
		}
	}
	for a := range m.p.Apps {
		app := &m.p.Apps[a]
		before := map[int]bool{}
		for _, g := range app.Current {
			before[g] = true
		}
		for t := range m.p.Steps {
			now := map[int]bool{}
			for _, g := range plan.Held[a][t].Slots() {
				now[g] = true
			}
			for g := range m.p.GPUs {
				z := m.on[a][t][g]
				if z < 0 {
					continue
				}
				if now[g] {
					x[z] = 1
				}
				if m.p.Reading.CountSwaps {
					continue
				}
				if now[g] && !before[g] {
					x[z+1] = 1
				}
				if !now[g] && before[g] {
					x[z+2] = 1
				}
			}
			before = now
		}
	}
	return x
}

// plan turns a solution into a plan.
func (m *positionModel) plan(x []float64) *horizon.Plan {
	p := m.p
	plan := horizon.Pinned(p)
	for i := range m.kinds {
		k := &m.kinds[i]
		jobs := k.jobs
		for _, at := range m.at[i] {
			if math.Round(x[at.column]) == 1 && len(jobs) > 0 {
				plan.Placed = append(plan.Placed, horizon.Stretch{Job: jobs[0], Start: at.start, Steps: k.item.Steps, Offset: at.offset, Size: k.item.Size})
				jobs = jobs[1:]
			}
		}
	}
	sort.Slice(plan.Placed, func(i, j int) bool {
		a, b := &plan.Placed[i], &plan.Placed[j]
		if a.Start != b.Start {
			return a.Start < b.Start
		}
		return a.Offset < b.Offset
	})
	for a := range p.Apps {
		for t := range p.Steps {
			var slots []int
			for g, z := range m.on[a][t] {
				if z >= 0 && math.Round(x[z]) == 1 {
					slots = append(slots, g)
				}
			}
			plan.Held[a][t] = horizon.NewSet(p.GPUs, slots...)
		}
	}
	return plan
}
