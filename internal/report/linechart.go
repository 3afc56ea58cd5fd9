package report

import (
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// chartBins is the number of steps a line has at most: finer than the screen
// can show would only make the page heavy.
const chartBins = 280

// figure is one picture with its axes and its text alternative.
type figure struct {
	ID, Title, Caption string
	Lines              []line
	X, Y               []tick
	// Mark is where the last submission lies, in per cent; negative = not shown.
	Mark  float64
	Table *textTable
}

// line is one policy in a picture.
type line struct {
	Name, Note string
	// Color is the number of the policy's colour.
	Color int
	// Path is the line and Area the surface below it, in picture coordinates.
	Path, Area string
}

// textTable is the alternative to a picture, and any other small table.
type textTable struct {
	Head []string
	Rows [][]string
}

// span of time that the pictures show.
type span struct{ from, to workload.Time }

// pictureSpan is from the first submission to the last finish of any policy; a
// tail longer than half the window is cut, or it would leave no room for the rest.
func pictureSpan(c *Comparison) (s span, cut bool) {
	for i := range c.Policies {
		sr := c.Policies[i].Series
		if sr == nil || len(sr.Bins) == 0 {
			continue
		}
		if s.to == s.from {
			s.from, s.to = sr.From, sr.From
		}
		s.from = min(s.from, sr.From)
		s.to = max(s.to, sr.From+workload.Span(len(sr.Bins)-1)*sr.Width+int64(sr.Bins[len(sr.Bins)-1].Span))
	}
	if len(c.Policies) == 0 {
		return s, false
	}
	b := c.Policies[0].Metrics.Window
	if limit := int64((b.To + (b.To-b.From)/2) * 1000); b.To > b.From && limit > s.from && limit < s.to {
		s.to, cut = limit, true
	}
	return s, cut
}

func (s span) x() scale { return scale{from: float64(s.from), to: float64(s.to)} }

// mark is where the end of the window lies, in per cent, -1 outside the picture.
func (s span) mark(c *Comparison) float64 {
	t := c.Policies[0].Metrics.Window.To * 1000
	if t <= float64(s.from) || t >= float64(s.to) {
		return -1
	}
	return 100 * s.x().at(t)
}

// stepPath draws the means of bins as steps. area closes it down to the axis.
func stepPath(sr *metrics.Series, value func(*metrics.Bin) float64, x, y scale, area bool) string {
	var b []byte
	last := -1.0
	right := 0.0
	for i := range sr.Bins {
		left := x.at(float64(sr.From + workload.Span(i)*sr.Width))
		if i > 0 && left >= 1 {
			break
		}
		v := 1 - y.at(value(&sr.Bins[i]))
		switch {
		case i == 0 && area:
			b = append(coordinate(append(b, 'M'), left), " 1000V"...)
			b = coordinate(b, v)
		case i == 0:
			b = coordinate(append(coordinate(append(b, 'M'), left), ' '), v)
		case v != last:
			b = coordinate(append(b, 'H'), left)
			b = coordinate(append(b, 'V'), v)
		}
		last = v
		right = x.at(float64(sr.From+workload.Span(i)*sr.Width) + sr.Bins[i].Span)
	}
	b = coordinate(append(b, 'H'), right)
	if area {
		b = append(b, "V1000Z"...)
	}
	return string(b)
}

// occupancyFigure is one strip per policy.
func occupancyFigure(c *Comparison, s span) *figure {
	f := &figure{ID: "occupancy", Title: "Occupancy over time",
		Caption: "GPU-time assigned to jobs, of what was available; each strip goes from 0 to 100 %. The grey line repeats the first policy.",
		X:       timeTicks(s.from, s.to, c.Workload.Epoch), Mark: s.mark(c)}
	y := scale{to: 1}
	for i := range c.Policies {
		p := &c.Policies[i]
		if p.Series == nil {
			continue
		}
		sr := p.Series.Merge(chartBins)
		f.Lines = append(f.Lines, line{Name: p.Name, Color: i % colors, Note: percent(p.Metrics.Occupancy),
			Path: stepPath(sr, (*metrics.Bin).Occupancy, s.x(), y, false),
			Area: stepPath(sr, (*metrics.Bin).Occupancy, s.x(), y, true)})
	}
	f.Table = seriesTable(c, s, (*metrics.Bin).Occupancy, percent)
	return f
}

// waitingFigure overlays the GPUs waited for under each policy.
func waitingFigure(c *Comparison, s span) *figure {
	f := &figure{ID: "waiting", Title: "GPUs waited for",
		Caption: "GPUs asked for by jobs that could start but for capacity and order; means over equal stretches of time.",
		X:       timeTicks(s.from, s.to, c.Workload.Epoch), Mark: s.mark(c)}
	var top float64
	merged := make([]*metrics.Series, len(c.Policies))
	for i := range c.Policies {
		if c.Policies[i].Series == nil {
			continue
		}
		merged[i] = c.Policies[i].Series.Merge(chartBins)
		for k := range merged[i].Bins {
			top = max(top, merged[i].Bins[k].MeanWaitingGPUs())
		}
	}
	y := scale{to: niceMax(top)}
	f.Y = linearTicks(y.to, significant)
	for i, sr := range merged {
		if sr != nil {
			f.Lines = append(f.Lines, line{Name: c.Policies[i].Name, Color: i % colors,
				Path: stepPath(sr, (*metrics.Bin).MeanWaitingGPUs, s.x(), y, false)})
		}
	}
	f.Table = seriesTable(c, s, (*metrics.Bin).MeanWaitingGPUs, significant)
	return f
}

// seriesTable gives a dozen rows of a series in words.
func seriesTable(c *Comparison, s span, value func(*metrics.Bin) float64, text func(float64) string) *textTable {
	const n = 12
	t := &textTable{Head: []string{"From"}}
	for i := range c.Policies {
		t.Head = append(t.Head, c.Policies[i].Name)
	}
	for k := range int64(n) {
		from, to := s.from+(s.to-s.from)*k/n, s.from+(s.to-s.from)*(k+1)/n
		row := []string{moment(from, c.Workload.Epoch)}
		for i := range c.Policies {
			row = append(row, "")
			if b, ok := between(c.Policies[i].Series, from, to); ok {
				row[i+1] = text(value(&b))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// between adds up the bins that begin in [from, to).
func between(sr *metrics.Series, from, to workload.Time) (b metrics.Bin, ok bool) {
	if sr == nil {
		return b, false
	}
	var part metrics.Series
	for i := range sr.Bins {
		if t := sr.From + workload.Span(i)*sr.Width; t >= from && t < to {
			part.Bins = append(part.Bins, sr.Bins[i])
		}
	}
	if len(part.Bins) == 0 {
		return b, false
	}
	return part.Merge(1).Bins[0], true
}
