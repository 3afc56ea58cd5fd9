package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// servicePictures is how many applications have a picture, those that ask for most.
const servicePictures = 8

// headroom keeps the highest line off the edge of its strip.
const headroom = 1.08

// serviceFigures are what the page shows of real-time applications; nil without.
type serviceFigures struct {
	// Figures are strips of demand and of what was held, one of each policy.
	Figures []*figure
	Hidden  int
	Table   *textTable
}

func serviceFiguresOf(c *Comparison, s span) *serviceFigures {
	if !served(c) {
		return nil
	}
	f := &serviceFigures{Table: serviceTable(c)}
	if s.to <= s.from {
		return f
	}
	for k, name := range pictured(c) {
		if k >= servicePictures {
			f.Hidden++
		} else if x := serviceFigure(c, s, k, name); x != nil {
			f.Figures = append(f.Figures, x)
		}
	}
	return f
}

// pictured are the applications of the window, those first that ask for most.
func pictured(c *Comparison) []string {
	i := slices.IndexFunc(c.Policies, func(p Policy) bool { return p.Metrics.Services != nil })
	list := slices.Clone(c.Policies[i].Metrics.Services.Applications)
	slices.SortStableFunc(list, func(a, b metrics.Application) int { return cmp.Compare(b.Asked, a.Asked) })
	names := make([]string, len(list))
	for k := range list {
		names[k] = list[k].Name
	}
	return names
}

func serviceID(k int) string { return "service-" + count(float64(k)) }

// serviceFigure draws one application, nil where nothing is known of it over time.
func serviceFigure(c *Comparison, s span, k int, name string) *figure {
	f := &figure{ID: serviceID(k), Title: name, X: timeTicks(s.from, s.to, c.Workload.Epoch), Mark: s.mark(c)}
	lines, top := make([]*metrics.ServiceLine, len(c.Policies)), 0.0
	merged := make([]*metrics.ServiceSeries, len(c.Policies))
	for i := range c.Policies {
		merged[i], lines[i] = overTime(&c.Policies[i], name)
		if lines[i] == nil {
			continue
		}
		for b := range lines[i].Bins {
			x := &lines[i].Bins[b]
			top = max(top, x.Mean(x.Demand), x.Mean(x.Held))
		}
	}
	y := scale{to: max(top, 1) * headroom}
	f.Caption = "up to " + count(math.Ceil(top)) + " GPUs"
	for i, l := range lines {
		if l == nil {
			continue
		}
		path := func(of func(*metrics.ServiceBin) float64, area bool) string {
			return binsPath(merged[i].From, merged[i].Width, len(l.Bins), func(b int) (float64, bool) {
				x := &l.Bins[b]
				return x.Mean(of(x)), x.Span > 0
			}, s.x(), y, area)
		}
		f.Lines = append(f.Lines, line{Name: c.Policies[i].Name, Color: i % colors, Note: servedNote(&c.Policies[i].Metrics, name),
			Area: path(func(b *metrics.ServiceBin) float64 { return b.Demand }, true),
			Path: path(func(b *metrics.ServiceBin) float64 { return b.Held }, false)})
	}
	if len(f.Lines) == 0 {
		return nil
	}
	return f
}

// overTime finds an application in what a policy keeps over time.
func overTime(p *Policy, name string) (*metrics.ServiceSeries, *metrics.ServiceLine) {
	if p.Services == nil {
		return nil, nil
	}
	sr := p.Services.Merge(chartBins)
	for i := range sr.Services {
		if sr.Services[i].Name == name && len(sr.Services[i].Bins) > 0 {
			return sr, &sr.Services[i]
		}
	}
	return nil, nil
}

// servedNote is the part of what an application asked for that it got.
func servedNote(m *metrics.Metrics, name string) string {
	if m.Services != nil {
		for i := range m.Services.Applications {
			if a := &m.Services.Applications[i]; a.Name == name && a.ShortfallOfAsked != nil {
				return percent(1-*a.ShortfallOfAsked) + " served"
			}
		}
	}
	return ""
}

// serviceTable says what each application asked for and got under each policy.
func serviceTable(c *Comparison) *textTable {
	t := &textTable{Head: []string{"Application", "Policy", "Asked", "Served", "Shortfall", "of asked", "in hours", "Over-provision", "Swaps", "Stops"}}
	for _, name := range pictured(c) {
		for i := range c.Policies {
			u := c.Policies[i].Metrics.Services
			if u == nil {
				continue
			}
			k := slices.IndexFunc(u.Applications, func(a metrics.Application) bool { return a.Name == name })
			if k < 0 {
				continue
			}
			a := &u.Applications[k]
			row := []string{clip(name), c.Policies[i].Name}
			if a.Refused {
				t.Rows = append(t.Rows, append(row, "refused", "", "", "", "", "", "", ""))
				continue
			}
			t.Rows = append(t.Rows, append(row, hoursUnit.text(a.Asked), hoursUnit.text(a.Served), hoursUnit.text(a.Shortfall), partOf(a.ShortfallOfAsked),
				count(float64(a.HoursShort)), hoursUnit.text(a.Over), count(float64(a.Swaps)), count(float64(a.Stops))))
		}
	}
	return t
}

// addServices gives the values of the pictures to the page's script.
func (d *pageData) addServices(c *Comparison, f *serviceFigures) {
	if f == nil {
		return
	}
	names := pictured(c)
	for k, name := range names[:min(len(names), servicePictures)] {
		chart := chartData{ID: serviceID(k), Kind: "time", Unit: "gpus"}
		for i := range c.Policies {
			sr, l := overTime(&c.Policies[i], name)
			if l == nil {
				continue
			}
			need := seriesData{Name: "needed", Color: colors - 1, From: sr.From, Width: sr.Width}
			held := seriesData{Name: "held under " + c.Policies[i].Name, Color: i % colors, From: sr.From, Width: sr.Width}
			for b := range l.Bins {
				x := &l.Bins[b]
				need.V = append(need.V, tenths(x.Mean(x.Demand)))
				held.V = append(held.V, tenths(x.Mean(x.Held)))
			}
			if len(chart.Series) == 0 { // it is the same under every policy
				chart.Series = append(chart.Series, need)
			}
			chart.Series = append(chart.Series, held)
		}
		d.Charts = append(d.Charts, chart)
	}
}

func tenths(v float64) int64 { return int64(10*v + 0.5) }

// binsPath draws bins of equal width as steps, from the first on that there is a value
// of. area closes it down to the axis.
func binsPath(from workload.Time, width workload.Span, n int, value func(int) (float64, bool), x, y scale, area bool) string {
	var b []byte
	last, right := 0.0, 0.0
	for i := range n {
		at := float64(from + workload.Span(i)*width)
		left := x.at(at)
		if left >= 1 {
			break
		}
		v, ok := value(i)
		if at+float64(width) <= x.from || !ok && len(b) == 0 {
			continue
		}
		v = math.Round(1000*(1-y.at(v))) / 1000 // pictures this small show no more
		switch {
		case len(b) == 0 && area:
			b = coordinate(append(coordinate(append(b, 'M'), left), " 1000V"...), v)
		case len(b) == 0:
			b = coordinate(append(coordinate(append(b, 'M'), left), ' '), v)
		case v != last:
			b = coordinate(append(coordinate(append(b, 'H'), left), 'V'), v)
		}
		last, right = v, x.at(at+float64(width))
	}
	if len(b) == 0 {
		return ""
	}
	b = coordinate(append(b, 'H'), right)
	if area {
		b = append(b, "V1000Z"...)
	}
	return string(b)
}
