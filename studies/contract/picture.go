package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// picture is a row of small panels that share their x axis.
type picture struct {
	name, title string
	// xs are the positions along the axis; mark is the shipped one, -1 = none.
	xs     []string
	xTitle string
	mark   int
	series []string
	panels []panel
}

// panel is one figure: data[series][x].
type panel struct {
	fig  *figure
	data [][]sample
}

// title is the figure's name, if it fits.
func (n *panel) title() string {
	if n.fig.key == "preempt" {
		return "preemptions per 1,000 GPU-h"
	}
	return n.fig.name
}

var seriesColors = []string{"#1f6fb4", "#d9660d", "#5b8c2a", "#8a4fbf"}

const (
	panelWidth, panelHeight = 235, 150
	left, top               = 52, 60
	inkColor, lightColor    = "#333", "#ddd"
)

// svg draws dots for seeds and lines for their means.
func (p *picture) svg() string {
	var b strings.Builder
	width, height := panelWidth*len(p.panels), top+panelHeight+44
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="11" fill="%s" role="img">`+"\n", width, height, width, height, inkColor)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", html.EscapeString(p.title))
	fmt.Fprintf(&b, `<text x="8" y="18" font-size="13" font-weight="600">%s</text>`+"\n", html.EscapeString(p.title))
	x := width - 8
	for i := len(p.series) - 1; i >= 0; i-- {
		x -= 7*len(p.series[i]) + 22
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="14" y2="14" stroke="%s" stroke-width="2"/><text x="%d" y="18">%s</text>`+"\n", x, x+14, seriesColors[i], x+18, html.EscapeString(p.series[i]))
	}
	for i := range p.panels {
		p.draw(&b, &p.panels[i], i*panelWidth)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (p *picture) draw(b *strings.Builder, n *panel, at int) {
	y := axisOf(n)
	x0, x1 := float64(at+left), float64(at+panelWidth-10)
	y0, y1 := float64(top+panelHeight), float64(top)
	step := (x1 - x0) / float64(len(p.xs))
	px := func(i int) float64 { return x0 + step*(float64(i)+.5) }
	py := func(v float64) float64 { return y0 + (y1-y0)*y.at(v) }
	fmt.Fprintf(b, `<text x="%d" y="46" font-weight="600">%s</text>`+"\n", at+8, html.EscapeString(n.title()))
	if p.mark >= 0 {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#f3f0e6"/>`+"\n", px(p.mark)-step/2, y1, step, y0-y1)
	}
	for _, t := range y.ticks {
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", x0, x1, py(t.v), py(t.v), lightColor, x0-5, py(t.v)+4, t.label)
	}
	for i, label := range p.xs {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", px(i), y0+15, html.EscapeString(label))
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#777">%s</text>`+"\n", (x0+x1)/2, y0+31, html.EscapeString(p.xTitle))
	for s, row := range n.data {
		var path strings.Builder
		shift := (float64(s) - float64(len(n.data)-1)/2) * 5
		for i, v := range row {
			if v.missing {
				continue
			}
			for _, seed := range v.values {
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="1.8" fill="%s" fill-opacity=".45"/>`+"\n", px(i)+shift, py(seed), seriesColors[s])
			}
			word := "L"
			if path.Len() == 0 {
				word = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", word, px(i)+shift, py(v.mean()))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.2" fill="%s"/>`+"\n", px(i)+shift, py(v.mean()), seriesColors[s])
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.6"/>`+"\n", path.String(), seriesColors[s])
	}
}

// axis of a panel.
type axis struct {
	from, to float64
	log      bool
	ticks    []mark
}

type mark struct {
	v     float64
	label string
}

func (a *axis) at(v float64) float64 {
	if a.log {
		return math.Log(max(v, a.from)/a.from) / math.Log(a.to/a.from)
	}
	return (v - a.from) / (a.to - a.from)
}

var waitMarks = []float64{1, 10, 60, 600, 3600, 36000, 360000, 3600000}

// axisOf fits an axis to what a panel shows: waits that differ much on a logarithmic
// one, ratios from where they begin, all else from zero.
func axisOf(n *panel) axis {
	lo, hi := math.Inf(1), 0.
	for _, row := range n.data {
		for _, s := range row {
			for _, v := range s.values {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if n.fig.unit == wait && hi > 20*max(lo, 1) {
		a := axis{log: true}
		for i, m := range waitMarks {
			if m <= max(lo, 1) || i == 0 {
				a.from = m
			}
			if a.to = m; m >= hi {
				break
			}
		}
		for _, m := range waitMarks {
			if m >= a.from && m <= a.to {
				a.ticks = append(a.ticks, mark{m, shortWait(m)})
			}
		}
		return a
	}
	if n.fig.unit != ratio || lo < 0.3*hi {
		lo = 0
	}
	if hi <= lo {
		hi = lo + 1
		if n.fig.unit == ratio {
			lo, hi = max(0, lo-.005), lo+.005
		}
	}
	unit := 1.0
	switch n.fig.unit {
	case ratio:
		unit = 0.01
	case wait:
		unit = timeUnit(hi).seconds
	}
	step := niceStep((hi-lo)/unit/4) * unit
	a := axis{from: math.Floor(lo/step+1e-9) * step, to: math.Ceil(hi/step-1e-9) * step}
	for i := 0; ; i++ {
		v := a.from + float64(i)*step
		if v > a.to+step/2 {
			return a
		}
		label := trim(fixed(v/unit, 4))
		switch n.fig.unit {
		case ratio:
			label += " %"
		case wait:
			label += " " + timeUnit(hi).name
		}
		a.ticks = append(a.ticks, mark{v, label})
	}
}

func shortWait(v float64) string {
	u := timeUnit(v)
	if v == 60 || v == 3600 {
		u = map[float64]scaleOf{60: {"min", 60}, 3600: {"h", 3600}}[v]
	}
	return trim(fixed(v/u.seconds, 1)) + " " + u.name
}

func trim(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// niceStep is 1, 2 or 5 times a power of ten, at least v.
func niceStep(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*unit*(1+1e-9) {
			return m * unit
		}
	}
	return 10 * unit
}
