package engine

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// teamLimit caps what the jobs that are never stopped hold at once, team by team
// ([policy.Limit]). All amounts are milli-GPU.
type teamLimit struct {
	// most that one team may hold, 0 = no limit.
	most int64
	// teams gives a team its place in held and taken.
	teams map[string]int32
	// held by starting, running, stopping and claiming jobs; taken on top of it by the
	// decision that is being made.
	held, taken []int64
}

func (l *teamLimit) init(pol *policy.Policy, installed int64) {
	if t := pol.Limit.TeamUnpreemptible; t > 0 && pol.Preemption.Spare != nil {
		l.most = installed * t / 1000
		l.teams = map[string]int32{}
	}
}

// of is the place of a team, none where there is no limit.
func (l *teamLimit) of(team string) int32 {
	if l.teams == nil {
		return none
	}
	t, ok := l.teams[team]
	if !ok {
		t = int32(len(l.held))
		l.teams[team] = t
		l.held, l.taken = append(l.held, 0), append(l.taken, 0)
	}
	return t
}

// hold and drop follow what a class's jobs occupy.
func (l *teamLimit) hold(c *class, milli int64) {
	if c.capped != none {
		l.held[c.capped] += milli
	}
}

func (l *teamLimit) drop(c *class, milli int64) { l.hold(c, -milli) }

// take counts what the present decision gives to a job, until forget.
func (l *teamLimit) take(c *class, milli int64) {
	if c.capped != none {
		l.taken[c.capped] += milli
	}
}

func (l *teamLimit) forget() { clear(l.taken) }

// admits tells whether one more job of the class's present size stays within its
// team's limit.
func (l *teamLimit) admits(c *class) bool { return c.capped == none || l.with(c) <= l.most }

// with is what the class's team would hold with one more job.
func (l *teamLimit) with(c *class) int64 {
	return l.held[c.capped] + l.taken[c.capped] + c.shape.Milli
}

// reason is that of a job with which its team would hold too much.
func (l *teamLimit) reason(would int64) fact.Reason {
	return fact.Reason{Code: fact.TeamLimit, For: none, Have: devices(would), Want: int32(l.most / 1000)}
}

// spared tells whether the policy never stops this job once it runs.
func (e *Engine) spared(j *workload.Job) bool {
	s := e.pol.Preemption.Spare
	if s == nil {
		return false
	}
	v, ok := j.Labels[s.Key]
	return ok && v == s.Value
}
