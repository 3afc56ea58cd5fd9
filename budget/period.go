package budget

import (
	"time"

	"github.com/escala-sched/escala/workload"
)

// Period is how often a hard budget begins anew.
type Period uint8

// Periods.
const (
	Daily Period = iota
	Weekly
	Monthly
	Quarterly
	Yearly
)

var periodNames = []string{"day", "week", "month", "quarter", "year"}

// String returns the period as files spell it.
func (p Period) String() string { return periodNames[p] }

// lengths are those of inputs without a calendar. They nest: 12 months are a year.
var lengths = [...]workload.Span{workload.Day, 7 * workload.Day, 30 * workload.Day, 90 * workload.Day, 360 * workload.Day}

// Bounds returns the period [start, end) that a time lies in. epoch is the
// calendar time of time 0 in Unix milliseconds: days, weeks (from Monday), months,
// quarters and years are those of UTC. With [workload.Unknown] as the epoch periods
// are counted from time 0, a month of 30 days, a quarter of 90, a year of 360.
func (p Period) Bounds(epoch, at workload.Time) (start, end workload.Time) {
	if epoch == workload.Unknown {
		n := at / lengths[p]
		if at%lengths[p] < 0 {
			n--
		}
		return n * lengths[p], (n + 1) * lengths[p]
	}
	t := time.UnixMilli(epoch + at).UTC()
	y, m, d := t.Date()
	var years, months, days int
	switch p {
	case Daily:
		days = 1
	case Weekly:
		d -= (int(t.Weekday()) + 6) % 7
		days = 7
	case Monthly:
		d, months = 1, 1
	case Quarterly:
		m, d, months = m-(m-1)%3, 1, 3
	case Yearly:
		m, d, years = time.January, 1, 1
	}
	first := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	return first.UnixMilli() - epoch, first.AddDate(years, months, days).UnixMilli() - epoch
}
