package exact

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/internal/highs"
)

// countModel is the time-indexed model with the places forgotten: which jobs start when,
// how many GPUs each application holds. Its optimum bounds that of the problem. Jobs
// that differ in nothing share a column, which says how many of them start.
type countModel struct {
	m     highs.Model
	p     *horizon.Problem
	r     *horizon.Relaxation
	kinds []kind
	held  [][]int // column of each application and step
	short [][]int
}

// kind is a set of jobs that differ in nothing.
type kind struct {
	item   *horizon.Item
	jobs   []int
	starts []int // column by step, -1 for none
}

func newCountModel(p *horizon.Problem, r *horizon.Relaxation) *countModel {
	c := &countModel{p: p, r: r}
	c.m.Maximise = true
	c.m.Offset = r.Fixed
	c.addKinds(r)
	c.addApps()
	for t := range r.Steps {
		c.addRoom(r, t)
	}
	return c
}

func (c *countModel) addKinds(r *horizon.Relaxation) {
	byLook := map[string]int{}
	for i := range r.Items {
		it := &r.Items[i]
		look := fmt.Sprint(it.Size, it.Steps, it.Cut, it.Offsets, it.Value, it.May)
		k, ok := byLook[look]
		if !ok {
			k = len(c.kinds)
			byLook[look] = k
			c.kinds = append(c.kinds, kind{item: it})
		}
		c.kinds[k].jobs = append(c.kinds[k].jobs, it.Job)
	}
	for i := range c.kinds {
		k := &c.kinds[i]
		n := float64(len(k.jobs))
		var row terms
		for s, may := range k.item.May {
			k.starts = append(k.starts, -1)
			if may {
				k.starts[s] = c.m.AddColumn(k.item.Value[s], 0, n, true)
				row.add(k.starts[s], 1)
			}
		}
		if k.item.Cut {
			n *= float64(k.item.Steps)
		}
		row.atMost(&c.m, n)
	}
}

func (c *countModel) addApps() {
	for a := range c.p.Apps {
		app := &c.p.Apps[a]
		held, short := make([]int, c.p.Steps), make([]int, c.p.Steps)
		for t := range c.p.Steps {
			held[t] = c.m.AddColumn(0, float64(app.Min[t]), float64(app.Max[t]), true)
			short[t] = c.m.AddColumn(-float64(app.Penalty), 0, float64(app.Demand[t]-app.Min[t]), true)
			var met terms
			met.add(held[t], 1)
			met.add(short[t], 1)
			met.between(&c.m, float64(app.Demand[t]), math.Inf(1))
			var change terms
			change.add(held[t], 1)
			before, may := float64(len(app.Current)), float64(app.Swaps(t, c.p.GPUs))
			if t > 0 {
				before = 0
				change.add(held[t-1], -1)
			}
			change.between(&c.m, before-may, before+may)
		}
		c.held, c.short = append(c.held, held), append(c.short, short)
	}
}

// addRoom limits what is in step t: GPUs in all, and blocks of each size.
func (c *countModel) addRoom(r *horizon.Relaxation, t int) {
	room := &r.Steps[t]
	demand := 0
	for a := range c.p.Apps {
		demand += c.p.Apps[a].Demand[t]
	}
	for l, k := range r.Levels {
		var blocks terms
		for i := range c.kinds {
			it := c.kinds[i].item
			n := it.Size / k
			if l == 0 {
				n = it.Size
			}
			if n == 0 {
				continue
			}
			from := max(0, t-it.Steps+1)
			if it.Cut {
				from = t
			}
			for s := from; s <= t; s++ {
				if col := c.kinds[i].starts[s]; col >= 0 {
					blocks.add(col, float64(n))
				}
			}
		}
		if len(blocks.column) == 0 && l > 0 {
			continue
		}
		blocks.atMost(&c.m, float64(room.Whole[l]))
		// k x blocks + held <= open
		var cells terms
		for i, v := range blocks.value {
			cells.add(int(blocks.column[i]), v*float64(k))
		}
		for a := range c.p.Apps {
			cells.add(c.held[a][t], 1)
		}
		cells.atMost(&c.m, float64(room.Open))
		// Blocks are whole: another one takes so many GPUs of demand that it is not met.
		if free := room.Open - demand; k > 1 && free >= 0 {
			for a := range c.p.Apps {
				blocks.add(c.short[a][t], -1/float64(k-free%k))
			}
			blocks.atMost(&c.m, float64(free/k))
		}
	}
}

// terms is a row being made.
type terms struct {
	column []int32
	value  []float64
}

func (r *terms) add(column int, value float64) {
	r.column, r.value = append(r.column, int32(column)), append(r.value, value)
}

func (r *terms) between(m *highs.Model, lower, upper float64) {
	m.AddRow(lower, upper, r.column, r.value)
}

func (r *terms) atMost(m *highs.Model, upper float64) { r.between(m, math.Inf(-1), upper) }

// start turns a plan into a solution of the model, for HiGHS to begin with.
func (c *countModel) start(plan *horizon.Plan) []float64 {
	x := make([]float64, c.m.Columns())
	kindOf := map[int]*kind{}
	for i := range c.kinds {
		for _, j := range c.kinds[i].jobs {
			kindOf[j] = &c.kinds[i]
		}
	}
	for _, s := range plan.Placed {
		k := kindOf[s.Job]
		if k == nil {
			continue // pinned
		}
		if !k.item.Cut {
			x[k.starts[s.Start]]++
			continue
		}
		for t := s.Start + s.Restart; t < min(s.End(), c.p.Steps); t++ {
			if col := k.starts[t]; col >= 0 { // else it is a step that is pinned
				x[col]++
			}
		}
	}
	for a := range c.p.Apps {
		for t := range c.p.Steps {
			n := plan.Held[a][t].Len()
			x[c.held[a][t]] = float64(n)
			x[c.short[a][t]] = float64(max(0, c.p.Apps[a].Demand[t]-n))
		}
	}
	return x
}

// order returns the jobs in the order in which a solution starts them.
func (c *countModel) order(x []float64) []int {
	type started struct{ job, at int }
	var list []started
	for i := range c.kinds {
		jobs := c.kinds[i].jobs
		for s, col := range c.kinds[i].starts {
			if col < 0 {
				continue
			}
			for range int(math.Round(x[col])) {
				if len(jobs) > 0 {
					list = append(list, started{jobs[0], s})
					jobs = jobs[1:]
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b started) int { return cmp.Compare(a.at, b.at) })
	order := make([]int, len(list))
	for i := range list {
		order[i] = list[i].job
	}
	return order
}
