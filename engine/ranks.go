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

// Accounts are all accounts of the budgets but the root with the numbers that sort them, in the
// order of the tree: one list for each pool, or one where budgets have no pools. nil under a
// policy that shares by none. O(accounts x siblings).
func (e *Engine) Accounts() []*Account {
	s := e.sharing
	if s == nil {
		return nil
	}
	e.advance(e.now)
	s.stamp++
	out := make([]*Account, 0, len(s.lanes))
	was := s.lane
	for i := range s.lanes {
		s.lane = &s.lanes[i]
		a := &Account{Tree: s.tree, Leaf: none, At: s.grid}
		if len(s.tree.Pools) > 0 {
			a.Pool = s.tree.Pools[s.no]
		}
		for node := 1; node < len(s.tree.Nodes); node++ {
			a.Levels = append(a.Levels, e.level(int32(node)))
		}
		out = append(out, a)
	}
	s.lane = was
	return out
}
