// Package forecast learns from what ended how long jobs really run for what they said, and
// draws from that how long those that wait and run will still need.
//
// The draw of a job is one of the ratios actual / estimate of jobs like it: of its user and
// size, else of its user, else of its size, else of all. One that runs already is like those
// that ran at least as long. Nothing is fitted: a distribution with few samples is a wide one.
package forecast

import (
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/internal/splitmix"
	"github.com/escala-sched/escala/workload"
)

const (
	// enough is how many samples make a group worth drawing from.
	enough = 20
	// most is how many samples of a group are kept: the last ones.
	most = 256
	// unit is the ratio 1.
	unit = 1 << 16
	// unknownWork is drawn where nothing at all is known.
	unknownWork = workload.Hour
)

// History is what ended jobs tell. The zero value knows nothing.
type History struct {
	ratios, spans map[group]*ring
}

// group is jobs that are alike; size -1 = of any, user "" = of anybody.
type group struct {
	user string
	size int
}

// ring keeps the last samples.
type ring struct {
	v    []int64
	next int
}

func (r *ring) add(v int64) {
	if len(r.v) < most {
		r.v = append(r.v, v)
		return
	}
	r.v[r.next] = v
	r.next = (r.next + 1) % most
}

// sizeOf files jobs by the binary order of their GPUs.
func sizeOf(gpus int32) int { return bits.Len32(uint32(max(gpus, 0))) }

func groups(user string, gpus int32) [4]group {
	s := sizeOf(gpus)
	return [4]group{{user, s}, {user, -1}, {"", s}, {"", -1}}
}

// Add takes in a job that ran to its end: what it said (0 = nothing) and the work it did.
func (h *History) Add(user string, gpus int32, estimate, work workload.Span) {
	if h.ratios == nil {
		h.ratios, h.spans = map[group]*ring{}, map[group]*ring{}
	}
	work = max(work, 1)
	for _, g := range groups(user, gpus) {
		add(h.spans, g, work)
		if estimate > 0 {
			add(h.ratios, g, ratio(work, estimate))
		}
	}
}

func add(m map[group]*ring, g group, v int64) {
	r := m[g]
	if r == nil {
		r = &ring{}
		m[g] = r
	}
	r.add(v)
}

// ratio of two lengths in units of 1/65536, bounded.
func ratio(a, b workload.Span) int64 {
	hi, lo := bits.Mul64(uint64(a), unit)
	if hi >= uint64(b) {
		return 1 << 40
	}
	q, _ := bits.Div64(hi, lo, uint64(b))
	return int64(min(q, 1<<40))
}

// Clone returns a copy that goes its own way.
func (h *History) Clone() *History {
	c := &History{ratios: map[group]*ring{}, spans: map[group]*ring{}}
	for g, r := range h.ratios {
		c.ratios[g] = &ring{v: slices.Clone(r.v), next: r.next}
	}
	for g, r := range h.spans {
		c.spans[g] = &ring{v: slices.Clone(r.v), next: r.next}
	}
	return c
}

// Samples is how many jobs of all were taken in and are kept.
func (h *History) Samples() int {
	if r := h.spans[group{"", -1}]; r != nil {
		return len(r.v)
	}
	return 0
}

// Few tells whether what is drawn for a job that said estimate (0 = nothing) rests on fewer ended jobs
// than make a distribution, whoever's they are.
func (h *History) Few(estimate workload.Span) bool {
	of := h.spans
	if estimate > 0 {
		of = h.ratios
	}
	r := of[group{"", -1}]
	return r == nil || len(r.v) < enough
}

// Draw is the work that a job will have done when it is done: it said estimate (0 =
// nothing) and has done so much by now. The same seed and number draw the same.
func (h *History) Draw(seed uint64, number int32, user string, gpus int32, estimate, done workload.Span) workload.Span {
	u := splitmix.Mix(seed ^ splitmix.Mix(uint64(number)+1))
	of, scale := h.spans, int64(unit)
	if estimate > 0 {
		of, scale = h.ratios, estimate
	}
	for _, g := range groups(user, gpus) {
		r := of[g]
		if r == nil || len(r.v) < enough && g != (group{"", -1}) {
			continue
		}
		if w, ok := pick(r.v, u, scale, done); ok {
			return w
		}
	}
	switch {
	case estimate > done:
		return estimate
	case estimate == 0 && done < unknownWork && h.Few(0): // a second of a run says nothing of the rest
		return unknownWork
	case done > 0: // it has outlived all that is known: as long again, more or less
		return done + 1 + int64(u%uint64(done))
	}
	return unknownWork
}

// pick draws one of the samples that are longer than what was done.
func pick(samples []int64, u uint64, scale int64, done workload.Span) (workload.Span, bool) {
	n := 0
	for _, v := range samples {
		if times(v, scale) > done {
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	k := int(u % uint64(n))
	for _, v := range samples {
		if w := times(v, scale); w > done {
			if k == 0 {
				return w, true
			}
			k--
		}
	}
	return 0, false
}

// times applies a ratio in units of 1/65536.
func times(v, scale int64) workload.Span {
	hi, lo := bits.Mul64(uint64(v), uint64(scale))
	if hi >= unit>>1 {
		return 1 << 50
	}
	return int64(min(hi<<48|lo>>16, 1<<50))
}
