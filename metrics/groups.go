package metrics

// groupTally collects waits by group.
type groupTally struct{ waits []sample }

func newGroupTally(n int) *groupTally { return &groupTally{waits: make([]sample, n)} }

func (t *groupTally) add(group int32, wait uint64, waited bool) {
	s := &t.waits[group]
	s.decode = milliseconds
	if waited {
		s.add(wait, false)
		return
	}
	s.without++
}

// uses returns the groups with jobs in the window, in order of first submission.
func (t *groupTally) uses(rows []group) []GroupUse {
	var longest int
	for i := range t.waits {
		longest = max(longest, len(t.waits[i].keys))
	}
	tmp := make([]uint64, longest)
	var out []GroupUse
	for i := range t.waits {
		s := &t.waits[i]
		if len(s.keys)+s.without == 0 {
			continue
		}
		d := s.dist(tmp)
		got := rows[i].assigned.float()
		out = append(out, GroupUse{
			Name: rows[i].name, Jobs: len(s.keys) + s.without,
			GPUHours: rows[i].assigned.gpuHours(), Delivered: ratio(got, got+rows[i].waited.float()),
			MeanWait: d.Mean, P90Wait: d.P90,
		})
	}
	return out
}
