package report

import (
	"fmt"

	"github.com/escala-sched/escala/horizon"
)

// rowOf names a row of the picture.
func rowOf(q *horizon.Problem, first, n int) string {
	if len(q.Nodes) == 0 {
		return "GPU " + slots(first, n)
	}
	return where(q, first, n)
}

// where says which GPUs slots [first, first+n) are: their numbers in the row, or, where the
// machines have names, those: n1 (all of it), n1:0-3 (some of its GPUs), n1 to n4.
func where(q *horizon.Problem, first, n int) string {
	if len(q.Nodes) == 0 {
		return slots(first, n)
	}
	a, b := -1, -1
	for i := range q.Nodes {
		if x := &q.Nodes[i]; x.First < first+n && first < x.First+x.Count {
			if b = i; a < 0 {
				a = i
			}
		}
	}
	switch {
	case a < 0:
		return "-" // a gap between machines
	case a < b:
		return visible(q.Nodes[a].Name) + " to " + visible(q.Nodes[b].Name)
	}
	x := &q.Nodes[a]
	from, to := max(first, x.First)-x.First, min(first+n, x.First+x.Count)-x.First
	if from == 0 && to == x.Count {
		return visible(x.Name)
	}
	return fmt.Sprintf("%s:%s", visible(x.Name), slots(from, to-from))
}

// onGPU heads a column of places.
func onGPU(q *horizon.Problem) string {
	if len(q.Nodes) == 0 {
		return "On GPU"
	}
	return "On"
}
