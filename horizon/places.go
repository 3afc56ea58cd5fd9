package horizon

// NewSet returns the set of the given slots of a row.
func NewSet(gpus int, slots ...int) Set {
	s := make(Set, (gpus+63)/64)
	for _, g := range slots {
		s.Add(g)
	}
	return s
}

// OpenSlots returns, for each step, the slots that are neither closed nor pinned.
func OpenSlots(p *Problem) []Set {
	in := compile(p)
	d := newDecoder(in)
	open := make([]Set, in.steps)
	for t := range open {
		open[t] = in.row(d.pinnedOpen, t)
	}
	return open
}

// Offsets returns the first slots that blocks of a job may have by size and type.
func Offsets(p *Problem, jobIndex int) []int {
	in := compile(p)
	d := newDecoder(in)
	j := &in.jobs[jobIndex]
	all, found := NewSet(p.GPUs), make(Set, in.words)
	all.fillRange(0, p.GPUs)
	in.shapes[j.shape].starts(found, all)
	if j.within != nil {
		d.insideOneType(j, found)
	}
	return found.Slots()
}

// Pinned returns the plan in which nothing is but what has to be: running jobs where they
// are, applications with no slots.
func Pinned(p *Problem) *Plan {
	in := compile(p)
	d := newDecoder(in)
	d.placed = append(d.placed, d.pinnedPlaced...)
	return d.plan()
}
