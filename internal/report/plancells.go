package report

import (
	"fmt"

	"github.com/escala-sched/escala/horizon/view"
)

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
