package slurmhist

import (
	"cmp"
	"math"
	"slices"

	"github.com/escala-sched/escala/workload"
)

// Item counts what one cause concerns.
type Item struct {
	Cause string `json:"cause"`
	// Jobs, or of what else the list is.
	Jobs int `json:"jobs"`
	// GPUHours that they held.
	GPUHours float64 `json:"gpu_hours"`
	// Example is one of them.
	Example string `json:"example,omitempty"`

	order int
}

// tally counts by cause.
type tally struct {
	items []Item
	at    map[string]int
}

func (t *tally) add(cause string, hours float64, example string) {
	i, ok := t.at[cause]
	if !ok {
		if t.at == nil {
			t.at = map[string]int{}
		}
		i = len(t.items)
		t.at[cause] = i
		t.items = append(t.items, Item{Cause: cause, Example: example, order: i})
	}
	t.items[i].Jobs++
	t.items[i].GPUHours += hours
}

// list is the largest first.
func (t *tally) list() []Item {
	out := slices.Clone(t.items)
	for i := range out {
		out[i].GPUHours = round(out[i].GPUHours)
	}
	slices.SortStableFunc(out, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.GPUHours, a.GPUHours), cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.order, b.order))
	})
	return out
}

func gpuHours(gpus int64, span workload.Span) float64 {
	return float64(gpus) * float64(max(span, 0)) / float64(workload.Hour)
}

// round leaves a tenth of a thousandth.
func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }
