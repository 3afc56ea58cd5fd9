package metrics

// groupTally collects waits by group.
type groupTally struct {
	waits []sample
	// services are the applications of each group; nil where there are none.
	services []int
}

func newGroupTally(n int) *groupTally { return &groupTally{waits: make([]sample, n)} }

// addService counts an application, which waits for nothing: it has no time at which
// it would have to begin.
func (t *groupTally) addService(group int32) {
	if t.services == nil {
		t.services = make([]int, len(t.waits))
	}
	t.services[group]++
}

func (t *groupTally) add(group int32, wait uint64, waited bool) {
	s := &t.waits[group]
	s.decode = milliseconds
	if waited {
		s.add(wait, false)
		return
	}
	s.without++
}

// uses returns the groups with jobs or applications in the window, in order of first submission.
func (t *groupTally) uses(rows []group) []GroupUse {
	var longest int
	for i := range t.waits {
		longest = max(longest, len(t.waits[i].keys))
	}
	tmp := make([]uint64, longest)
	var out []GroupUse
	for i := range t.waits {
		s := &t.waits[i]
		services := 0
		if t.services != nil {
			services = t.services[i]
		}
		if len(s.keys)+s.without+services == 0 {
			continue
		}
		d := s.dist(tmp)
		got, asked := rows[i].delivered()
		out = append(out, GroupUse{
			Name: rows[i].name, Jobs: len(s.keys) + s.without, Services: services,
			GPUHours: rows[i].assigned.gpuHours(), Delivered: ratio(got, asked),
			MeanWait: d.Mean, P90Wait: d.P90,
		})
	}
	return out
}
