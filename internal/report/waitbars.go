package report

import "github.com/escala-sched/escala/metrics"

// waitBars are the waits of classes of jobs, as a table with bars.
type waitBars struct{ Groups []waitGroup }

type waitGroup struct {
	Name string
	Rows []waitRow
}

type waitRow struct {
	Policy string
	Color  int
	// Jobs of the class, and how many never started.
	Jobs, Unstarted string
	P50, P90, P99   string
	// At50 and At90 are the lengths of the bars in per cent of a logarithmic axis.
	At50, At90 float64
}

// waitBarsOf shows waits by class where there are budgets, and by size where sizes differ.
func waitBarsOf(c *Comparison) *waitBars {
	w := &waitBars{}
	longest := 60.0
	for i := range c.Policies {
		m := &c.Policies[i].Metrics
		for _, list := range [][]metrics.ClassWait{m.Classes, m.Sizes} {
			for k := range list {
				longest = max(longest, list[k].P90)
			}
		}
	}
	x := scale{from: 1, to: longest, log: true}
	if budgeted(c) {
		for _, k := range classes {
			w.add(c, k.label, x, func(m *metrics.Metrics) *metrics.ClassWait { return classWait(m.Classes, k.name) })
		}
	}
	for _, k := range []struct{ name, label string }{{"1", "1 GPU or part"}, {"2-7", "2 to 7 GPUs"}, {"8", "8 GPUs"}, {"9-64", "9 to 64 GPUs"}, {">64", "over 64 GPUs"}} {
		w.add(c, k.label, x, func(m *metrics.Metrics) *metrics.ClassWait { return classWait(m.Sizes, k.name) })
	}
	if len(w.Groups) < 2 {
		return nil
	}
	return w
}

func (w *waitBars) add(c *Comparison, label string, x scale, of func(*metrics.Metrics) *metrics.ClassWait) {
	g := waitGroup{Name: label}
	for i := range c.Policies {
		k := of(&c.Policies[i].Metrics)
		if k == nil {
			continue
		}
		text := func(v float64, bound bool) string {
			if bound {
				return "≥ " + duration(v)
			}
			return duration(v)
		}
		g.Rows = append(g.Rows, waitRow{Policy: c.Policies[i].Name, Color: i % colors, Jobs: count(float64(k.Jobs)), Unstarted: count(float64(k.Withdrawn + k.Unstarted)),
			P50: text(k.P50, k.Bounds.P50), P90: text(k.P90, k.Bounds.P90), P99: text(k.P99, k.Bounds.P99), At50: 100 * x.at(k.P50), At90: 100 * x.at(k.P90)})
	}
	if len(g.Rows) > 0 {
		w.Groups = append(w.Groups, g)
	}
}
