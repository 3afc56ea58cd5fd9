package report

import "github.com/escala-sched/escala/metrics"

// cdfFigure is the distribution of the wait, on a logarithmic axis.
func cdfFigure(c *Comparison) *figure {
	f := &figure{ID: "cdf", Title: "How long jobs waited",
		Caption: "The part of jobs that started within a time of their submission. Higher and further left is better. The axis is logarithmic; jobs that started at once count at its left end.",
		Mark:    -1}
	x := scale{from: 1, to: cdfEnd(c), log: true}
	f.X = waitTicks(x)
	f.Y = linearTicks(1, func(v float64) string { return count(100*v) + " %" })
	for i := range c.Policies {
		p := &c.Policies[i]
		if len(p.Metrics.WaitCDF) == 0 {
			continue
		}
		f.Lines = append(f.Lines, line{Name: p.Name, Color: i % colors, Path: cdfPath(p.Metrics.WaitCDF, x)})
	}
	f.Table = cdfTable(c)
	return f
}

// cdfEnd is the first labelled wait that no policy exceeds.
func cdfEnd(c *Comparison) float64 {
	var longest float64
	for i := range c.Policies {
		longest = max(longest, c.Policies[i].Metrics.Wait.Max)
	}
	for k := 0; ; k++ {
		if x := metrics.CDFPoint(k); x >= longest && x > 60 {
			return x
		}
	}
}

func cdfPath(f []float64, x scale) string {
	var b []byte
	for i, v := range f {
		if metrics.CDFPoint(i) > x.to*1.0001 {
			break
		}
		b = append(b, "ML"[min(i, 1)])
		b = append(coordinate(b, x.at(metrics.CDFPoint(i))), ' ')
		b = coordinate(b, 1-v)
	}
	return string(b)
}

func cdfTable(c *Comparison) *textTable {
	t := &textTable{Head: []string{"Started within"}}
	for i := range c.Policies {
		t.Head = append(t.Head, c.Policies[i].Name)
	}
	end := cdfEnd(c)
	for _, m := range waitMarks {
		if m > end {
			break
		}
		row := []string{duration(m)}
		for i := range c.Policies {
			row = append(row, cdfAt(c.Policies[i].Metrics.WaitCDF, m))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// cdfAt is the part of jobs that waited at most the time, at the grid point that is nearest below.
func cdfAt(f []float64, seconds float64) string {
	k := -1
	for k+1 < len(f) && metrics.CDFPoint(k+1) <= seconds*1.0001 {
		k++
	}
	if k < 0 {
		return ""
	}
	return percent(f[k])
}
