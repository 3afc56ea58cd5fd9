package budget

import (
	"sort"

	"github.com/escala-sched/escala/workload"
)

// step begins at a time: from then on the rate holds. sum is the integral of the
// rate up to that time, modulo 2^64: differences inside a window are exact as long
// as they fit 63 bits, however long the history is.
type step struct {
	at   workload.Time
	rate int64
	sum  uint64
}

// history is the rate of one node over time, forgotten from the front.
type history struct {
	steps []step // steps[head:] are kept
	head  int
	// cursor is where the last look-up of a window's far end landed. It saves time
	// and changes no result.
	cursor int
}

// rate is the present one.
func (h *history) rate() int64 {
	if len(h.steps) == h.head {
		return 0
	}
	return h.steps[len(h.steps)-1].rate
}

// change adds to the rate from a time on, and forgets what ended before the horizon.
func (h *history) change(at workload.Time, delta int64, horizon workload.Time) {
	n := len(h.steps)
	if n == h.head {
		h.steps = append(h.steps, step{at: at, rate: delta})
		return
	}
	last := &h.steps[n-1]
	if last.at == at {
		last.rate += delta
		return
	}
	next := step{at: at, rate: last.rate + delta, sum: last.sumAt(at)}
	for h.head+1 < n && h.steps[h.head+1].at <= horizon {
		h.head++
	}
	const few = 32
	if n == cap(h.steps) && h.head > few && h.head > n/2 {
		h.steps = h.steps[:copy(h.steps, h.steps[h.head:])]
		h.cursor = max(h.cursor-h.head, 0)
		h.head = 0
	}
	h.steps = append(h.steps, next)
}

func (s *step) sumAt(at workload.Time) uint64 { return s.sum + uint64(s.rate)*uint64(at-s.at) }

// sumAt is the integral up to a time, modulo 2^64, looked for from a step on.
func (h *history) sumAt(at workload.Time, from int) (sum uint64, found int) {
	i := h.find(at, from)
	if i < h.head {
		return 0, h.head // before the first change nothing ran
	}
	return h.steps[i].sumAt(at), i
}

// find returns the last step that begins at or before a time, head-1 where none
// does. Times near the guess cost O(1), others O(log n).
func (h *history) find(at workload.Time, guess int) int {
	const near = 8
	i := min(max(guess, h.head), len(h.steps)-1)
	for range near {
		switch {
		case i >= h.head && h.steps[i].at > at:
			i--
		case i+1 < len(h.steps) && h.steps[i+1].at <= at:
			i++
		default:
			return i
		}
	}
	return h.head - 1 + sort.Search(len(h.steps)-h.head, func(k int) bool { return h.steps[h.head+k].at > at })
}
