package report

import (
	"fmt"
	"strconv"

	"github.com/escala-sched/escala/horizon/view"
)

// strip draws demand and what is held over time, and returns where the next one begins.
func (d *planDrawer) strip(c *view.App, y float64) float64 {
	const height = 40
	app := &d.q.Apps[c.App]
	top := 1
	for t := range c.Held {
		top = max(top, c.Held[t], c.Demand[t])
	}
	s := planStrip{Name: fitting(visible(app.ID), planGutter-14, 13), Note: "up to " + some(top, "GPU"), Color: c.App % planAppColors, Y: y, H: height,
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
