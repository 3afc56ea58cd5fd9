package horizon

// NewSet returns the set of the given slots of a row.
func NewSet(gpus int, slots ...int) Set {
	s := make(Set, (gpus+63)/64)
	for _, g := range slots {
		s.Add(g)
	}
	return s
}

// Pinned returns the plan in which nothing is but what has to be: running jobs where they
// are, applications with no slots.
func Pinned(p *Problem) *Plan {
	d := newDecoder(compile(p))
	d.placed = append(d.placed, d.in.pinned...)
	return d.plan()
}

// offsets lists, for each way in which blocks may lie, the first slots that they may have, and
// says which way each job has.
func (in *instance) offsets() (lists [][]int, of []int) {
	all, found := NewSet(in.gpus), NewSet(in.gpus)
	all.fillRange(0, in.gpus)
	index := map[insideKey]int{}
	of = make([]int, len(in.jobs))
	for i := range in.jobs {
		j := &in.jobs[i]
		k := insideKey{j.shape, in.p.Jobs[i].Types}
		at, ok := index[k]
		if !ok {
			at = len(lists)
			index[k] = at
			in.shapes[j.shape].starts(found, all)
			j.keepMay(found)
			lists = append(lists, found.Slots())
		}
		of[i] = at
	}
	return lists, of
}
