package journal

import "github.com/escala-sched/escala/workload"

// level is what a real-time application needs from a time on.
type level struct {
	at   workload.Time
	gpus int32
}

// told is what was told of the demand of an application, in order of time.
type told []level

// mostValues bounds the curve that is made of changes at odd times.
const mostValues = 1_000_000

// curve makes a curve of all that was told until the application ended: nil where it is
// what the application declares. false: the changes have no common step that would not
// make the curve too long.
func (l told) curve(declared *workload.Curve, end workload.Time) (*workload.Curve, bool) {
	if len(l) == 0 || l.follows(declared, end) {
		return nil, true
	}
	first, last := l[0].at, l[len(l)-1].at
	step := int64(0)
	for _, x := range l {
		step = gcd(step, x.at-first)
	}
	if step == 0 { // it never changed
		step = declared.Step
	}
	if (last-first)/step >= mostValues {
		return nil, false
	}
	out := &workload.Curve{Start: first, Step: step, Values: make([]int32, (last-first)/step+1)}
	for i, x := range l {
		until := last + step
		if i+1 < len(l) {
			until = l[i+1].at
		}
		for k := (x.at - first) / step; k < (until-first)/step; k++ {
			out.Values[k] = x.gpus
		}
	}
	return out, true
}

// follows tells whether all that was told is a curve itself, change by change.
func (l told) follows(c *workload.Curve, end workload.Time) bool {
	for i, x := range l {
		if c.At(x.at) != x.gpus || i > 0 && c.Next(l[i-1].at) != x.at {
			return false
		}
	}
	return c.Next(l[len(l)-1].at) >= end
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
