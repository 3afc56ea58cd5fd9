package metrics

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Dates count promises of a start at a time at which the place is certainly clear.
type Dates struct {
	// Made in the window; of these Kept by a start at the first date promised or
	// before, Broken by a later one or none by then. The others were still to come
	// when the run ended, or the job was withdrawn before its date.
	Made   int64 `json:"made"`
	Kept   int64 `json:"kept"`
	Broken int64 `json:"broken"`
}

// reserve notes the first date that a job is promised.
func (c *Collector) reserve(a *fact.Action) {
	j := c.job(a.Job)
	if j == nil || a.Reason.Code != fact.CertainFit || j.date != workload.Unknown {
		return
	}
	j.date, j.promised = a.Until, a.At
	for _, s := range c.stretches(a.At) {
		s.dates.Made++
	}
}

// redeem settles the date of a job that starts, or is withdrawn.
func (c *Collector) redeem(j *jobState, at workload.Time, started bool) {
	if j.date == workload.Unknown {
		return
	}
	for _, s := range c.stretches(j.promised) {
		switch {
		case at > j.date:
			s.dates.Broken++
		case started:
			s.dates.Kept++
		}
	}
	j.date = workload.Unknown
}

// dates adds the promises that the end of the run finds broken, nil where none was made.
func (v *view) dates(s *stretch) *Dates {
	d := s.dates
	if d.Made == 0 {
		return nil
	}
	for i := range v.c.jobs {
		j := &v.c.jobs[i]
		if !j.known || j.date == workload.Unknown || j.date >= v.end {
			continue
		}
		if s == &v.all || j.promised >= v.c.from && j.promised < v.c.to {
			d.Broken++
		}
	}
	return &d
}
