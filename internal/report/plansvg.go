package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/view"
)

// planPicture is a plan as a picture of GPU x time: what the template draws as SVG.
// Everything is in the picture's own pixels.
type planPicture struct {
	Title, Alternative string
	W, H               float64
	// Left and Right are the ends of the time axis, Bottom that of the grid.
	Left, Right, Top, Bottom float64
	// Step is the width of a step, Now the middle of the first.
	Step, Now float64
	Hours     []planTick
	Lines     []planLine
	Rows      []planTick
	Closed    []planBox
	Bars      []planBar
	Cells     []planCells
	Names     []planName
	Strips    []planStrip
}

type planTick struct {
	At   float64
	Text string
}

// planLine is a vertical line, Strong at midnight.
type planLine struct {
	At     float64
	Strong bool
}

type planBox struct {
	X, Y, W, H float64
	Title      string
}

// planBar is a job on its block.
type planBar struct {
	planBox
	Family, Shade int
	Name, Note    string
	// Size of the name's letters; NameY and NoteY their lines.
	Size, TextX, NameY, NoteY float64
	// Pad is the height of the part of the block that the job did not ask for.
	Pad float64
	// Before and After mark that it ran before the horizon, or goes on after it.
	Before, After string
}

// planCells is what an application holds in one step: one box for each GPU.
type planCells struct {
	Color       int
	Path, Hatch string
	Title       string
}

type planName struct {
	X, Y  float64
	Color int
	Text  string
}

// planStrip is a row under the grid: what an application wants and holds, or what is idle.
type planStrip struct {
	Name, Note string
	// Color of the application; -1 for idle GPUs.
	Color             int
	Y, H              float64
	Held, Over        string
	Demand            string
	Short             []planBox
	Tight             []planBox
	Numbers           []planNumber
	NameY, NoteY, End float64
	NumberY           float64
}

type planNumber struct {
	X    float64
	Text string
	Bad  bool
}

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
	if end := d.clock.hour(d.q.Steps); end != "" {
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
		d.pic.Rows = append(d.pic.Rows, planTick{tenth(d.y(g) + float64(n)*d.row/2), "GPU " + slots(g, n)})
	}
}

// perHour is the number of steps in an hour, 1 where a step is no part of one.
func (d *planDrawer) perHour() float64 {
	if d.q.StepLength <= 0 {
		return 1
	}
	return max(1, 3600_000/float64(d.q.StepLength))
}

// box is the box of a block for some steps.
func (d *planDrawer) box(first, n, from, to int, title string) planBox {
	gap := min(1.5, d.row/8)
	return planBox{X: d.x(from) + 1, Y: tenth(d.y(first) + gap/2), W: tenth(d.x(min(to, d.q.Steps)) - d.x(from) - 2), H: tenth(float64(n)*d.row - gap), Title: title}
}

func (d *planDrawer) closed() {
	for _, w := range d.q.Closed {
		from, to := max(0, w.From), min(w.To, d.q.Steps)
		if from >= to {
			continue
		}
		text := "closed"
		if w.Absent {
			text = "no GPU"
		}
		if w.Name != "" {
			text = visible(w.Name) + ", " + text
		}
		d.pic.Closed = append(d.pic.Closed, d.box(w.First, w.Count, from, to, fmt.Sprintf("%s: GPU %s, %s to %s", text, slots(w.First, w.Count), d.clock.at(from), d.clock.at(to))))
	}
}

func (d *planDrawer) jobs() {
	for _, s := range byStart(d.p.Plan) {
		if s.Start >= d.q.Steps {
			continue
		}
		j := &d.q.Jobs[s.Job]
		kind := ""
		if text := j.Kind.String(); text != "" {
			kind = " (" + text + ")"
		}
		b := planBar{planBox: d.box(s.Offset, s.Size, s.Start, s.End(), fmt.Sprintf("%s%s: GPU %s, %s to %s (%s), priority %d",
			visible(j.ID), kind, slots(s.Offset, s.Size), d.clock.at(s.Start), d.clock.at(s.End()), some(s.Steps, "step"), j.Priority)),
			Family: jobFamily(j.Kind), Shade: d.l.shade[s.Job]}
		if s.Size > j.GPUs {
			b.Title += fmt.Sprintf("; asked for %d GPUs", j.GPUs)
			b.Pad = tenth(float64(s.Size-j.GPUs) * d.row)
		}
		mid := b.Y + b.H/2
		if b.H >= 6 {
			if j.Running != nil && s.Start == 0 && s.Offset == j.Running.Offset {
				b.Before = fmt.Sprintf("M%.1f %.1fl5 -4v8z", b.X+1, mid)
			}
			if s.End() > d.q.Steps {
				b.After = fmt.Sprintf("M%.1f %.1fl-5 -4v8z", b.X+b.W-1, mid)
			}
		}
		d.letter(&b, visible(j.ID), fmt.Sprintf("%s, priority %d", some(j.GPUs, "GPU"), j.Priority))
		d.pic.Bars = append(d.pic.Bars, b)
	}
}

// letter writes a name into a bar, and a note below it, as far as there is room.
func (d *planDrawer) letter(b *planBar, name, note string) {
	const pad = 8.0
	room := b.W - 1.5*pad
	if b.After != "" {
		room -= pad
	}
	b.Size = min(12.5, tenth(b.H-1))
	if b.Size < 8 {
		return
	}
	b.TextX = b.X + pad
	if b.Name = fitting(name, room, b.Size); b.Name != name {
		b.Size = min(b.Size, 10)
		b.Name = fitting(name, room, b.Size)
	}
	b.NameY = tenth(b.Y + b.H/2 + b.Size*.36)
	if b.Name == name && b.H >= 40 && fitting(note, room, 11) == note {
		b.Note, b.NameY, b.NoteY = note, tenth(b.Y+b.H/2-2), tenth(b.Y+b.H/2+13)
	}
}

// fitting cuts a text to a width. Letters are taken to be wider than they mostly are.
func fitting(text string, room, size float64) string {
	most := int(room / (size * .58))
	if width(text) <= most {
		return text
	}
	if most < 3 {
		return ""
	}
	return string([]rune(text)[:most-1]) + "…"
}

// apps draws each GPU of an application in each step by itself: that it need not hold
// on to it shows.
func (d *planDrawer) apps() {
	for a, held := range d.p.Plan.Held {
		for t, set := range held {
			c := planCells{Color: a % planAppColors, Title: d.heldTitle(a, t)}
			list := set.Slots()
			for i := 0; i < len(list); {
				n := 1
				for d.row < 8 && i+n < len(list) && list[i+n] == list[i]+n {
					n++
				}
				b := d.box(list[i], n, t, t+1, "")
				c.Path += fmt.Sprintf("M%g %gh%gv%gh-%gz", b.X, b.Y, b.W, b.H, b.W)
				if d.row >= 8 {
					c.Hatch += hatch(&b)
				}
				i += n
			}
			if c.Path != "" {
				d.pic.Cells = append(d.pic.Cells, c)
			}
		}
		d.name(a)
	}
}

// hatch fills a box with diagonals.
func hatch(b *planBox) string {
	const apart = 7
	path := ""
	for s := float64(apart); s < b.W+b.H; s += apart {
		// From the lower left to the upper right, cut to the box.
		x0, y0 := max(0, s-b.H), min(s, b.H)
		x1, y1 := min(s, b.W), max(0, s-b.W)
		path += fmt.Sprintf("M%.1f %.1fL%.1f %.1f", b.X+x0, b.Y+y0, b.X+x1, b.Y+y1)
	}
	return path
}

// name writes an application's name where a run of its GPUs begins below something else.
func (d *planDrawer) name(a int) {
	what := -2 - a
	size := min(12.5, d.row-2)
	if size < 8 {
		return
	}
	for g := range d.q.GPUs {
		for t := 0; t < d.q.Steps; t++ {
			if d.grid[g][t] != what || t > 0 && d.grid[g][t-1] == what {
				continue
			}
			end := t
			for end < d.q.Steps && d.grid[g][end] == what {
				end++
			}
			if text := fitting(visible(d.q.Apps[a].ID), float64(end-t)*d.pic.Step-12, size); text != "" && (g == 0 || d.grid[g-1][t] != what) {
				d.pic.Names = append(d.pic.Names, planName{X: d.x(t) + 7, Y: tenth(d.y(g) + d.row/2 + size*.36), Color: a % planAppColors, Text: text})
			}
			t = end
		}
	}
}

func (d *planDrawer) heldTitle(a, t int) string {
	c := &d.p.Coverage[a]
	text := fmt.Sprintf("%s at %s: holds %d, wants %d", visible(d.q.Apps[a].ID), d.clock.at(t), c.Held[t], c.Demand[t])
	switch c.At(t) {
	case view.Short:
		text += fmt.Sprintf(": %d short", c.Demand[t]-c.Held[t])
	case view.NoMargin:
		text += ": no margin"
	default:
		text += fmt.Sprintf("; %d more could be had", c.Spare[t])
	}
	return text
}

// strip draws demand and what is held over time, and returns where the next one begins.
func (d *planDrawer) strip(c *view.App, y float64) float64 {
	const height = 40
	app := &d.q.Apps[c.App]
	top := 1
	for t := range c.Held {
		top = max(top, c.Held[t], c.Demand[t])
	}
	s := planStrip{Name: fitting(visible(app.ID), planGutter-14, 13), Note: fmt.Sprintf("up to %d GPUs", top), Color: c.App % planAppColors, Y: y, H: height,
		NameY: y + 20, NoteY: y + 35, End: y + height, NumberY: y + height + 17}
	level := func(n int) float64 { return tenth(y + height - float64(n)*(height-4)/float64(top)) }
	s.Held = fmt.Sprintf("M%g %g", d.x(0), y+height)
	for t := range c.Held {
		s.Held += fmt.Sprintf("V%gH%g", level(min(c.Held[t], c.Demand[t])), d.x(t+1))
		if c.Held[t] > c.Demand[t] {
			s.Over += fmt.Sprintf("M%g %gH%gV%gH%gz", d.x(t), level(c.Held[t]), d.x(t+1), level(c.Demand[t]), d.x(t))
		}
		if t == 0 {
			s.Demand = fmt.Sprintf("M%g %g", d.x(0), level(c.Demand[0]))
		} else {
			s.Demand += fmt.Sprintf("V%g", level(c.Demand[t]))
		}
		s.Demand += fmt.Sprintf("H%g", d.x(t+1))
		number := planNumber{X: tenth(d.x(t) + d.pic.Step/2), Text: strconv.Itoa(c.Held[t])}
		switch c.At(t) {
		case view.Short:
			s.Short = append(s.Short, planBox{X: d.x(t), Y: level(c.Demand[t]), W: d.pic.Step, H: tenth(level(c.Held[t]) - level(c.Demand[t])), Title: d.heldTitle(c.App, t)})
			number.Text, number.Bad = fmt.Sprintf("%d of %d", c.Held[t], c.Demand[t]), true
			if float64(len(number.Text))*6 > d.pic.Step {
				number.Text = fmt.Sprintf("%d!", c.Held[t])
			}
		case view.NoMargin:
			s.Tight = append(s.Tight, planBox{X: d.x(t) + 1, Y: y + height + 1, W: tenth(d.pic.Step - 2), H: 4, Title: d.heldTitle(c.App, t)})
		}
		s.Numbers = append(s.Numbers, number)
	}
	s.Held += fmt.Sprintf("V%gz", y+height)
	d.pic.Strips = append(d.pic.Strips, s)
	return y + height + 17 + stripGap
}

func (d *planDrawer) idleStrip(y float64) float64 {
	const height = 20
	s := planStrip{Name: "Idle GPUs", Color: -1, Y: y, H: height, NameY: y + 16, NumberY: y + height + 15, End: y + height, Held: fmt.Sprintf("M%g %g", d.x(0), y+height)}
	top := 1
	for _, i := range d.p.Idle {
		top = max(top, i.GPUs)
	}
	for t, i := range d.p.Idle {
		s.Held += fmt.Sprintf("V%gH%g", tenth(y+height-float64(i.GPUs)*(height-2)/float64(top)), d.x(t+1))
		s.Numbers = append(s.Numbers, planNumber{X: tenth(d.x(t) + d.pic.Step/2), Text: strconv.Itoa(i.GPUs)})
	}
	s.Held += fmt.Sprintf("V%gz", y+height)
	d.pic.Strips = append(d.pic.Strips, s)
	return y + height + 24
}
