package horizon_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/internal/horizontest"
)

// drawSized draws a problem of any size.
func drawSized(t *rapid.T) *horizon.Problem {
	return horizontest.Draw(t, rapid.SampledFrom([]horizontest.Size{horizontest.Tiny, horizontest.Small, horizontest.Small, horizontest.Wide}).Draw(t, "size"))
}

// TestEveryGridIsLegal: whatever order of jobs the decoder is given, and however jobs and
// applications choose, the grid breaks no rule and is worth what the decoder says.
func TestEveryGridIsLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawSized(t)
		horizon.Grids(p, rapid.Uint64().Draw(t, "seed"), 20, func(plan *horizon.Plan, value int64) {
			if v := legal.Check(plan); len(v) > 0 {
				t.Fatalf("%v\n%+v\n%+v", v, p, plan.Placed)
			}
			if got := plan.Score().Exact(); got != value {
				t.Fatalf("the decoder says %d, the plan is worth %d\n%+v", value, got, plan.Placed)
			}
		})
	})
}

// TestBaselinesAreLegal: what a baseline plans breaks no rule but those that a reservation is
// free of.
func TestBaselinesAreLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawSized(t)
		for b := horizon.FIFOStrict; b <= horizon.FIFOBlock; b++ {
			plan, err := horizon.FIFO(p, b)
			if err != nil {
				continue // the reservations do not fit
			}
			if v := legal.Check(plan); len(v) > 0 {
				t.Fatalf("%v: %v\n%+v", b, v, plan.Placed)
			}
		}
	})
}

// TestVeryWideRows: rows of more than 64 words, of which changes are noted by the dozen.
func TestVeryWideRows(t *testing.T) {
	for _, gpus := range []int{4096, 4097, 4500, 9000} {
		p := crowd(gpus, 6, 400)
		for i := range p.Jobs {
			p.Jobs[i].GPUs *= 1 + i%40
		}
		for _, p.Reading = range []horizon.Reading{{}, {AnySize: true}, {Unaligned: true}} {
			told := 0
			horizon.Grids(p, 1, 3, func(plan *horizon.Plan, value int64) {
				told++
				if v := legal.Check(plan); len(v) > 0 {
					t.Fatalf("%d GPUs: %v", gpus, v)
				}
				if got := plan.Score().Exact(); got != value {
					t.Fatalf("%d GPUs: the decoder says %d, the plan is worth %d", gpus, value, got)
				}
			})
			if told != 3 {
				t.Errorf("%d GPUs: %d grids", gpus, told)
			}
		}
	}
}
