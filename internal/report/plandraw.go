package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/escala-sched/escala/horizon"
)

// Sizes in pixels.
const (
	planWidth  = 1260
	planGutter = 104
	planHead   = 34
	planMargin = 18
	stripGap   = 20
)

// rowHeight keeps few GPUs readable and many on one screen or two.
func rowHeight(gpus int) float64 {
	switch {
	case gpus <= 12:
		return 30
	case gpus <= 24:
		return 23
	case gpus <= 40:
		return 17
	case gpus <= 64:
		return 12
	}
	return max(0.25, 1000/float64(gpus))
}

// planDrawer draws one picture.
type planDrawer struct {
	r     *PlanReport
	p     *Planned
	q     *horizon.Problem
	l     *planLabels
	clock planClock
	pic   *planPicture
	grid  [][]int
	row   float64
}

func drawPlan(r *PlanReport, p *Planned, l *planLabels) *planPicture {
	q := r.Problem
	step := max(22, tenth((planWidth-planGutter-planMargin)/float64(q.Steps)))
	d := &planDrawer{r: r, p: p, q: q, l: l, clock: planClock{q}, grid: p.Plan.Grid(), row: rowHeight(q.GPUs)}
	d.pic = &planPicture{
		Title: "The grid", Alternative: fmt.Sprintf("%d GPUs over %s; the tables below say the same", q.GPUs, stepsText(q)),
		Left: planGutter, Right: planGutter + step*float64(q.Steps), Top: planHead, Bottom: planHead + d.row*float64(q.GPUs), Step: step,
	}
	if len(r.Plans) > 1 {
		d.pic.Title += " under " + p.Name()
	}
	d.pic.W, d.pic.Now = d.pic.Right+planMargin, tenth(planGutter+step/2)
	d.axes()
	d.closed()
	d.jobs()
	d.apps()
	y := d.pic.Bottom + stripGap
	for i := range p.Coverage {
		y = d.strip(&p.Coverage[i], y)
	}
	y = d.idleStrip(y)
	d.pic.H = math.Ceil(y)
	return d.pic
}

func (d *planDrawer) x(step int) float64 { return tenth(d.pic.Left + float64(step)*d.pic.Step) }

func (d *planDrawer) y(slot int) float64 { return tenth(d.pic.Top + float64(slot)*d.row) }

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

// axes marks hours, as many as there is room for, and rows.
func (d *planDrawer) axes() {
	every := 1
	for _, n := range []int{1, 2, 3, 6, 12, 24} {
		if every = n; float64(n)*d.pic.Step*d.perHour() >= 30 {
			break
		}
	}
	for t := range d.q.Steps {
		text := d.clock.hour(t)
		strong := d.clock.midnight(t)
		hour, err := strconv.Atoi(text)
		if shown := err == nil && (hour%every == 0 || strong); shown {
			d.pic.Hours = append(d.pic.Hours, planTick{d.x(t), text})
		} else if text == "" && !strong {
			continue // a line for each hour is enough
		}
		d.pic.Lines = append(d.pic.Lines, planLine{d.x(t), strong})
	}
	last := 0.0
	if n := len(d.pic.Hours); n > 0 {
		last = d.pic.Hours[n-1].At
	}
	if end := d.clock.hour(d.q.Steps); end != "" && d.pic.Right-last >= 24 {
		d.pic.Hours = append(d.pic.Hours, planTick{d.pic.Right, end})
	}
	per := 1
	for float64(per)*d.row < 11 {
		per *= 2
	}
	if per > 1 {
		per = max(per, gridNode)
	}
	for g := 0; g < d.q.GPUs; g += per {
		n := min(per, d.q.GPUs-g)
		d.pic.Rows = append(d.pic.Rows, planTick{tenth(d.y(g) + float64(n)*d.row/2), rowOf(d.q, g, n)})
	}
}

// perHour is the number of steps in an hour, 1 where a step is no part of one.
func (d *planDrawer) perHour() float64 {
	if d.q.StepLength <= 0 {
		return 1
	}
	return max(1, 3600_000/float64(d.q.StepLength))
}
