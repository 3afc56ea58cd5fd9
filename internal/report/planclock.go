package report

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// planClock writes steps of a horizon as times of the day.
type planClock struct{ q *horizon.Problem }

// minutes is the time of day at which a step begins, in minutes since the midnight
// before the horizon, rounded down.
func (c planClock) minutes(step int) int64 {
	return int64(c.q.StartHour)*60 + int64(c.q.StartMinute) + int64(step)*c.q.StepLength/workload.Minute
}

// at writes the time at which a step begins: 09:00, or 09:00 +1 for the day after. A
// problem whose steps have no length has no clock; its steps are numbered.
func (c planClock) at(step int) string {
	if c.q.StepLength < workload.Minute {
		return fmt.Sprintf("step %d", step)
	}
	m := c.minutes(step)
	text := two(m/60%24) + ":" + two(m%60)
	if days := m / (24 * 60); days > 0 {
		text += fmt.Sprintf(" +%d", days)
	}
	return text
}

// hour is the label of a step's column: the hour of the day where the step is the first
// to begin in it, else "".
func (c planClock) hour(step int) string {
	if c.q.StepLength < workload.Minute {
		return two(int64(step))
	}
	m := c.minutes(step)
	if m%60 != 0 && step > 0 && c.minutes(step-1)/60 == m/60 {
		return ""
	}
	return two(m / 60 % 24)
}

// midnight tells whether a step is the first of a day.
func (c planClock) midnight(step int) bool {
	return c.q.StepLength >= workload.Minute && step > 0 && c.minutes(step)/(24*60) != c.minutes(step-1)/(24*60)
}

// lasting writes the length of some steps.
func (c planClock) lasting(steps int) string {
	if c.q.StepLength < workload.Minute {
		return some(steps, "step")
	}
	return duration(float64(steps) * float64(c.q.StepLength) / 1000)
}

func stepsText(q *horizon.Problem) string {
	text := some(q.Steps, "step")
	if q.StepLength >= workload.Minute {
		text += " of " + duration(float64(q.StepLength)/1000)
	}
	return text
}

func gpuHoursOf(q *horizon.Problem, gpuSteps int) float64 {
	return float64(gpuSteps) * float64(q.StepLength) / float64(workload.Hour)
}

// slots writes a range of GPUs: 4, or 4-7.
func slots(first, n int) string {
	if n == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, first+n-1)
}

// visible makes a name from a file safe for a terminal: whatever has no shape of its own,
// or could move the cursor, becomes a question mark.
func visible(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) && !unicode.Is(unicode.M, r) {
			return r
		}
		return '?'
	}, name)
}
