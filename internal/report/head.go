package report

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// headLine is one line of the head: what the numbers rest on.
type headLine struct{ name, value string }

// head lists every input and assumption, except the policies'.
func (c *Comparison) head() []headLine {
	var out []headLine
	add := func(name, value string) {
		if value != "" {
			out = append(out, headLine{name, value})
		}
	}
	w, s := c.Workload, c.Cluster
	add("Workload", w.Name+", "+strings.Join(c.jobsText(), ", "))
	add("Format", w.Format)
	add("Source", w.Source)
	add("Licence", w.Licence)
	add("Attribution", c.Attribution)
	add("Workload SHA-256", w.Hash)
	if w.Rows > 0 {
		add("Rows read", count(float64(w.Rows)))
	}
	for _, d := range w.Dropped {
		first := ""
		if d.First != "" {
			first = ", first at " + d.First
		}
		add("Rows dropped", fmt.Sprintf("%s: %s%s", count(float64(d.Count)), d.Cause, first))
	}
	add("Cluster", c.clusterLine())
	add("Cluster SHA-256", s.Hash)
	currency := ""
	if s.Currency != "" {
		currency = " " + s.Currency
	}
	for _, t := range s.Types {
		add("GPU type", fmt.Sprintf("%s: price %g%s per GPU-hour, %g W idle, %g W active", t.Name, t.PricePerHour, currency, t.IdleWatts, t.ActiveWatts))
	}
	if s.PUE > 0 {
		add("PUE", fmt.Sprintf("%g", s.PUE))
	}
	if b := c.Budgets; b != nil {
		add("Budgets", fmt.Sprintf("%s, %s accounts, owed reported for %s", b.Name, count(float64(len(b.Nodes))), count(float64(len(b.Reported)))))
		add("Budgets SHA-256", b.Hash)
	}
	add("Window", c.windowLine())
	for _, n := range w.Notes {
		add("Note", n)
	}
	for _, u := range c.Unbudgeted {
		add("No account", u.Text())
	}
	for _, a := range c.Assumptions {
		v := a.Value
		if a.Source != "" {
			v += " (" + a.Source + ")"
		}
		add(a.Name, v)
	}
	add("escala", c.Version)
	add("Command", c.Command)
	return out
}

func (c *Comparison) clusterLine() string {
	s := c.Cluster
	gpus := count(float64(s.GPUs())) + " GPUs"
	if len(s.Nodes) == 0 {
		return s.Name + ", " + gpus + " in one pool"
	}
	var types []string
	seen := map[string]bool{}
	for i := range s.Nodes {
		if t := s.Nodes[i].GPUType; t != "" && !seen[t] {
			seen[t] = true
			types = append(types, t)
		}
	}
	nodes := count(float64(len(s.Nodes))) + " nodes"
	if len(s.Nodes) == 1 {
		nodes = "1 node"
	}
	line := s.Name + ", " + nodes + ", " + gpus
	if len(types) > 0 {
		line += " (" + strings.Join(types, ", ") + ")"
	}
	return line
}

func (c *Comparison) windowLine() string {
	if len(c.Policies) == 0 {
		return ""
	}
	b := c.Policies[0].Metrics.Window
	return fmt.Sprintf("%s to %s (%s)", c.moment(b.From), c.moment(b.To), duration(b.To-b.From))
}

// moment writes a time given in seconds of the workload's clock.
func (c *Comparison) moment(seconds float64) string {
	return moment(workload.Time(seconds*1000), c.Workload.Epoch)
}
