package engine

// Queue lists all that waits in the order in which a decision would look at it if nothing
// started. Where budgets have pools, a job that may run in several stands where the first of
// them has it. O(waiting x log).
func (e *Engine) Queue() []int32 {
	e.advance(e.now)
	if e.sharing == nil || len(e.sharing.lanes) == 1 {
		return e.jobsOut(e.queueOrder(0))
	}
	var out []int32
	seen := map[int32]bool{}
	for l := range e.sharing.lanes {
		for _, n := range e.queueOrder(int32(l)) {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return e.jobsOut(out)
}
