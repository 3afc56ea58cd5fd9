package report

import (
	"fmt"
	"math"
	"time"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// tick is a mark on an axis.
type tick struct {
	// Pos along the axis in per cent.
	Pos   float64
	Label string
	// Minor ticks lose their label where the page is narrow.
	Minor bool
}

// timeSteps are the distances that ticks may have.
var timeSteps = []workload.Span{
	workload.Second, 5 * workload.Second, 15 * workload.Second, 30 * workload.Second,
	workload.Minute, 5 * workload.Minute, 15 * workload.Minute, 30 * workload.Minute,
	workload.Hour, 3 * workload.Hour, 6 * workload.Hour, 12 * workload.Hour,
	workload.Day, 2 * workload.Day, 7 * workload.Day, 14 * workload.Day, 28 * workload.Day,
	91 * workload.Day, 182 * workload.Day, 364 * workload.Day,
}

// timeTicks marks up to a dozen round times. With a calendar they are UTC dates
// and hours, without one the time since the clock's zero, as tables have it.
func timeTicks(from, to, epoch workload.Time) []tick {
	if to <= from {
		return nil
	}
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if (to-from)/s <= 12 {
			step = s
			break
		}
	}
	var base workload.Time
	if epoch != workload.Unknown {
		base = -epoch // midnight of the calendar lies on multiples of the step
	}
	var out []tick
	first := base + int64(math.Ceil(float64(from-base)/float64(step)))*step
	for t := first; t <= to; t += step {
		out = append(out, tick{
			Pos: 100 * float64(t-from) / float64(to-from), Label: timeLabel(t, to, epoch, step), Minor: len(out)%2 == 1,
		})
	}
	return out
}

// timeLabel writes a tick. Times of a clock without a calendar are written as tables
// have them (day 5) or, between days and in large units, as --at takes them (5d6h).
func timeLabel(t, to, epoch workload.Time, step workload.Span) string {
	if epoch != workload.Unknown {
		u := time.UnixMilli(epoch + t).UTC()
		switch {
		case step >= 182*workload.Day:
			return u.Format("Jan 2006")
		case step >= workload.Day, u.Hour() == 0 && u.Minute() == 0 && u.Second() == 0:
			return u.Format("2 Jan")
		case step < workload.Minute:
			return u.Format("15:04:05")
		}
		return u.Format("15:04")
	}
	switch {
	case step >= workload.Day:
		return fmt.Sprintf("day %d", t/workload.Day)
	case step >= workload.Hour && to < 2*workload.Day:
		return fmt.Sprintf("%d h", t/workload.Hour)
	case step >= workload.Hour || to >= 2*workload.Hour:
	case step >= workload.Minute:
		return fmt.Sprintf("%d min", t/workload.Minute)
	case to < 2*workload.Minute:
		return fmt.Sprintf("%d s", t/workload.Second)
	}
	if t < 0 {
		return "-" + yamlx.Duration(-t).String()
	}
	return yamlx.Duration(t).String()
}

// waitMarks are the labelled points of a logarithmic axis of waits, in seconds.
var waitMarks = []float64{1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400}

func waitTicks(s scale) []tick {
	var out []tick
	for _, m := range waitMarks {
		if m >= s.from && m <= s.to {
			out = append(out, tick{Pos: 100 * s.at(m), Label: duration(m), Minor: len(out)%2 == 1})
		}
	}
	return out
}

// linearTicks marks quarters of an axis from zero.
func linearTicks(to float64, label func(float64) string) []tick {
	out := make([]tick, 5)
	for i := range out {
		out[i] = tick{Pos: float64(i) * 25, Label: label(to * float64(i) / 4)}
	}
	return out
}
