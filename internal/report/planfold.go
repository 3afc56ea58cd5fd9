package report

import "github.com/escala-sched/escala/horizon"

// folded draws a row of several GPUs: what has it to itself as a bar; else the label of
// whatever has most of it, + for other work beside it and . for idle GPUs.
func (g *planGrid) folded(first, n, from, to int) string {
	line := ""
	for t := from; t < to; {
		what, text := g.most(first, n, t)
		end := t + 1
		if text == "" {
			for end < to {
				if next, mixed := g.most(first, n, end); mixed != "" || next != what {
					break
				}
				end++
			}
			line += g.bar(first, t, end)
		} else {
			line += g.style(g.mixedStyle(what), padRight(text, g.cell))
		}
		t = end
	}
	return line
}

// most returns what has most of some GPUs in a step, and the text of the cell where it
// does not have them all. Closed slots count where nothing else is.
func (g *planGrid) most(first, n, t int) (what int, text string) {
	counts := map[int]int{}
	for k := first; k < first+n; k++ {
		counts[g.grid[k][t]]++
	}
	idle, shut := counts[horizon.Idle], counts[horizon.Shut]
	delete(counts, horizon.Idle)
	delete(counts, horizon.Shut)
	if len(counts) == 0 {
		switch {
		case shut == 0:
			return horizon.Idle, ""
		case idle == 0:
			return horizon.Shut, ""
		}
		return horizon.Idle, " .#"
	}
	best, found := 0, false
	for k := first; k < first+n; k++ { // in order of slots: maps have none
		if c, ok := counts[g.grid[k][t]]; ok && (!found || c > counts[best]) {
			best, found = g.grid[k][t], true
		}
	}
	if len(counts) == 1 && idle == 0 && shut == 0 && g.grid[first][t] == best {
		return best, ""
	}
	text = g.labelOf(best)
	if len(counts) > 1 {
		text += "+"
	}
	if idle > 0 {
		text += "."
	}
	return best, " " + text
}

func (g *planGrid) labelOf(what int) string {
	if what < 0 {
		return g.l.app[-2-what]
	}
	return g.l.job[what]
}

func (g *planGrid) mixedStyle(what int) string {
	if what == horizon.Idle {
		return ""
	}
	if what < 0 {
		return appStyle(-2 - what)
	}
	return jobStyle(jobFamily(g.q.Jobs[what].Kind), g.l.shade[what])
}
