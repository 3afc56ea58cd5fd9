package report

import (
	"math"
	"strings"

	"github.com/escala-sched/escala/metrics"
)

// Check holds a replay of what was recorded, under the policy that decided, to what happened:
// as far as they differ the other policies' figures are not to be believed either. Both are of
// the same stretch and end with it.
type Check struct {
	Recorded metrics.Metrics `json:"recorded"`
	Replay   metrics.Metrics `json:"replay"`
}

// checked are the figures that are compared.
var checked = []string{"occupancy", "wait.mean", "wait.p50", "wait.p90", "jct.mean", "preemptions", "lost_gpu_hours", "jobs", "unstarted", "unfinished"}

// checkTable is the check as a table, nil without one.
func (c *Comparison) checkTable() *textTable {
	if c.Check == nil || len(c.Policies) == 0 {
		return nil
	}
	t := &textTable{Head: []string{"How far to believe it", "Happened", "Replayed", "Difference"}}
	for _, key := range checked {
		for i := range rows {
			if r := &rows[i]; r.key == key {
				t.Rows = append(t.Rows, c.checkRow(r))
			}
		}
	}
	return t
}

func (c *Comparison) checkRow(r *row) []string {
	out := []string{r.label}
	was, okWas := r.get(&c.Check.Recorded)
	is, okIs := r.get(&c.Check.Replay)
	for _, x := range []struct {
		v  float64
		ok bool
	}{{was, okWas}, {is, okIs}} {
		if x.ok {
			out = append(out, c.text(r.unit, x.v))
		} else {
			out = append(out, "-")
		}
	}
	if !okWas || !okIs {
		return append(out, "")
	}
	return append(out, c.away(r.unit, was, is))
}

// away writes how far a figure is from another, in its own unit.
func (c *Comparison) away(u unit, from, to float64) string {
	if u == ratioUnit {
		text, _ := u.difference(from, to)
		return text
	}
	text := c.text(u, math.Abs(to-from))
	switch {
	case text == c.text(u, 0):
		return "="
	case to > from:
		return "+" + text
	}
	return "-" + text
}

// check writes the check above the comparison.
func (t *tableWriter) check() {
	x := t.c.checkTable()
	if x == nil {
		return
	}
	t.small(x, 1)
	t.WriteString("\n")
}

// groups writes the figures of each team, user or partition.
func (t *tableWriter) groups() {
	c := t.c
	if len(c.Policies) == 0 || len(c.Policies[0].Metrics.Groups) == 0 {
		return
	}
	x := &textTable{Head: []string{capital(c.Policies[0].Metrics.JainBy), "Policy", "Jobs", "GPU-hours", "Wait, mean", "Wait, p90", "Delivered"}}
	for _, g := range c.Policies[0].Metrics.Groups {
		name := g.Name
		if name == "" {
			name = "(none)"
		}
		for i := range c.Policies {
			for _, u := range c.Policies[i].Metrics.Groups {
				if u.Name == g.Name {
					x.Rows = append(x.Rows, []string{name, c.Policies[i].Name, count(float64(u.Jobs)), significant(u.GPUHours), duration(u.MeanWait), duration(u.P90Wait), percent(u.Delivered)})
					name = ""
				}
			}
		}
	}
	t.WriteString("\n")
	t.small(x, 2)
}

// small writes a small table, of which so many columns are flush left.
func (t *tableWriter) small(x *textTable, left int) {
	widths := make([]int, len(x.Head))
	all := append([][]string{x.Head}, x.Rows...)
	for _, r := range all {
		for i := range r {
			widths[i] = max(widths[i], width(r[i]))
		}
	}
	for k, r := range all {
		line := ""
		for i := range r {
			if i > 0 {
				line += "   "
			}
			if i < left {
				line += padRight(r[i], widths[i])
			} else {
				line += padLeft(r[i], widths[i])
			}
		}
		if line = strings.TrimRight(line, " "); k == 0 {
			line = t.style("1", line)
		}
		t.line(line)
	}
}
