package view

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/horizon"
)

// IdleStep is what is idle in one step.
type IdleStep struct {
	// GPUs that nothing uses and that are not closed.
	GPUs int
	// Block is the size of the largest job that would find its block among them.
	Block int
}

// IdleSteps looks at each step by itself.
func IdleSteps(p *horizon.Plan) []IdleStep {
	idle := idleCells(p)
	list := make([]IdleStep, len(idle))
	for t, row := range idle {
		for from := 0; from < len(row); {
			to := runEnd(p.Problem, row, from)
			if to > from {
				list[t].GPUs += to - from
				list[t].Block = max(list[t].Block, largestBlock(p.Problem.Reading, from, to-from))
			}
			from = max(to, from+1)
		}
	}
	return list
}

// runEnd is the end of the run of idle slots of one type that begins at from.
func runEnd(q *horizon.Problem, row []bool, from int) int {
	to := from
	for to < len(row) && row[to] && typeOf(q, to) == typeOf(q, from) {
		to++
	}
	return to
}

// largestBlock is the most GPUs that a job may ask for and still have its block within
// n slots from first on.
func largestBlock(r horizon.Reading, first, n int) int {
	for size := n; size > 1; size-- {
		if !r.AnySize && size&(size-1) != 0 {
			continue
		}
		at := first
		if !r.Unaligned && size&(size-1) == 0 {
			at = (first + size - 1) / size * size
		}
		if at+size <= first+n {
			return size
		}
	}
	return min(n, 1)
}

// Window is a rectangle of consecutive GPUs that are idle for some steps.
type Window struct {
	From, To int
	// First slot and Count of slots; of one GPU type.
	First, Count int
	// Block is the size of the largest job that would find its block in it.
	Block int
}

// GPUSteps is the size of the window.
func (w *Window) GPUSteps() int { return (w.To - w.From) * w.Count }

// mostWindows bounds the list: what is left then is crumbs.
const mostWindows = 256

// IdleWindows cuts the idle cells of a plan into windows: the largest by GPU-steps,
// then the largest of what is left, and so on, so that they do not overlap and the
// largest comes first. Of equal ones the earlier goes first, then the lower.
func IdleWindows(p *horizon.Plan) []Window {
	q := p.Problem
	idle := idleCells(p)
	var list []Window
	for first := 0; first < q.GPUs; {
		n := 1
		for first+n < q.GPUs && typeOf(q, first+n) == typeOf(q, first) {
			n++
		}
		list = append(list, cut(idle, first, n)...)
		first += n
	}
	slices.SortStableFunc(list, func(a, b Window) int {
		return cmp.Or(cmp.Compare(b.GPUSteps(), a.GPUSteps()), cmp.Compare(a.From, b.From), cmp.Compare(a.First, b.First))
	})
	list = list[:min(len(list), mostWindows)]
	for i := range list {
		list[i].Block = largestBlock(q.Reading, list[i].First, list[i].Count)
	}
	return list
}

// cut takes windows out of the slots [first, first+n) until none is left.
func cut(idle [][]bool, first, n int) []Window {
	var list []Window
	for len(list) < mostWindows {
		w := largest(idle, first, n)
		if w.Count == 0 {
			break
		}
		list = append(list, w)
		for t := w.From; t < w.To; t++ {
			clear(idle[t][w.First : w.First+w.Count])
		}
	}
	return list
}

// largest finds the idle rectangle of most cells: for each last step the number of idle
// steps up to it stands as a bar on each slot, and a stack of rising bars finds the
// largest rectangle below them.
func largest(idle [][]bool, first, n int) Window {
	var best Window
	height := make([]int, n+1) // the last bar is of height 0 and ends all others
	stack := make([]int, 0, n+1)
	for t := range idle {
		for g := range n {
			if idle[t][first+g] {
				height[g]++
			} else {
				height[g] = 0
			}
		}
		stack = stack[:0]
		for g := range height {
			for len(stack) > 0 && height[stack[len(stack)-1]] >= height[g] {
				h := height[stack[len(stack)-1]]
				stack = stack[:len(stack)-1]
				left := 0
				if len(stack) > 0 {
					left = stack[len(stack)-1] + 1
				}
				w := Window{From: t + 1 - h, To: t + 1, First: first + left, Count: g - left}
				if better(&w, &best) {
					best = w
				}
			}
			stack = append(stack, g)
		}
	}
	return best
}

func better(a, b *Window) bool {
	return cmp.Or(cmp.Compare(b.GPUSteps(), a.GPUSteps()), cmp.Compare(a.From, b.From), cmp.Compare(a.First, b.First), cmp.Compare(b.Count, a.Count)) < 0
}
