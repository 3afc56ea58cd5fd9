package engine

import "github.com/escala-sched/escala/fact"

// holdChanged keeps a job out of the queue, or lets it back in with its first
// submission time once its last hold is gone. One that waits for a dependency or runs
// is held when it would wait; a place that was held for it while others leave is given back.
func (e *Engine) holdChanged(f *fact.Fact) error {
	if f.Job < 0 || int(f.Job) >= len(e.jobs) {
		return ErrUnknown
	}
	j := &e.jobs[f.Job]
	if j.state == absent || final(j.state) {
		return ErrUnknown
	}
	bit := uint8(1) << f.Hold
	if on := f.Kind == fact.JobHeld; on == (j.holds&bit != 0) {
		return ErrUnknown // told twice
	}
	j.holds ^= bit
	switch {
	case j.holds == 0 && j.state == onHold:
		e.enqueue(f.Job)
	case j.holds != 0 && j.state == waiting:
		e.withdraw(f.Job)
		j.state, e.dirty = onHold, true
	case j.holds != 0 && j.state == claiming:
		e.dropClaim(f.Job)
		j.state = onHold
	}
	return nil
}
