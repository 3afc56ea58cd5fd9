package horizon

import "fmt"

// Baseline is first come, first served with every real-time application holding its
// highest demand for the whole horizon.
type Baseline uint8

// How a baseline treats a job that does not fit.
const (
	// FIFOStrict: no job starts before the one ahead of it. Jobs that find no
	// place in the horizon any more are left out.
	FIFOStrict Baseline = iota
	// FIFOSkip: in each step the queue is scanned and what fits starts.
	FIFOSkip
	// FIFOGrid: each job in turn takes the first free block in time: conservative backfill.
	FIFOGrid
	// FIFOBlock is FIFOStrict in which such a job blocks those behind it for good.
	FIFOBlock
)

var baselineNames = [...]string{"fifo-strict", "fifo-skip", "fifo-grid", "fifo-block"}

// String returns the baseline's name.
func (b Baseline) String() string { return baselineNames[b] }

// ParseBaseline is the inverse of [Baseline.String].
func ParseBaseline(s string) (Baseline, bool) {
	for i, n := range baselineNames {
		if n == s {
			return Baseline(i), true
		}
	}
	return 0, false
}

// FIFO plans by a baseline. Jobs take the first free block from slot 0 up.
// It fails where the reservations of the applications find no slots.
func FIFO(p *Problem, b Baseline) (*Plan, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	in := compile(p)
	d := newDecoder(in)
	copy(d.open, in.open)
	d.placed = append(d.placed, in.pinned...)
	d.runOn()
	for a := range in.apps {
		if err := d.reserve(a); err != nil {
			return nil, err
		}
	}
	for t := range in.steps {
		d.refresh(t)
	}
	var queue []int32
	for _, i := range in.loose {
		if in.jobs[i].running == nil {
			queue = append(queue, i)
		}
	}
	switch b {
	case FIFOGrid:
		for _, i := range queue {
			d.fifoStart(i, in.jobs[i].release, in.steps-1)
		}
	case FIFOSkip:
		for t := 0; t < in.steps; t++ {
			rest := queue[:0]
			for _, i := range queue {
				if in.jobs[i].release > t || d.fifoStart(i, t, t) < 0 {
					rest = append(rest, i)
				}
			}
			queue = rest
		}
	default:
		t := 0
		for _, i := range queue {
			at := d.fifoStart(i, max(t, in.jobs[i].release), in.steps-1)
			switch {
			case at >= 0:
				t = at
			case b == FIFOBlock:
				t = in.steps
			}
		}
	}
	plan := d.plan()
	plan.Reserved = true
	return plan, nil
}

// runOn lets what runs and may be interrupted run to its end all the same, as long as its block is not closed.
func (d *decoder) runOn() {
	in := d.in
	for t := range in.steps {
		d.refresh(t)
	}
	for i := range in.jobs {
		if j := &in.jobs[i]; j.running != nil && j.kept < j.steps {
			d.goOn(int32(i))
		}
	}
}

// fifoStart starts a job in the first step from one on, to a last one, in which it may; -1 for none.
func (d *decoder) fifoStart(i int32, from, last int) int {
	j := &d.in.jobs[i]
	if d.in.p.Reading.Complete {
		last = min(last, d.in.steps-j.steps)
	}
	t := d.find(j, from, min(last, j.last), j.steps)
	if t >= 0 {
		d.take(i, t, d.found.lowest(), j.steps, 0)
	}
	return t
}

// reserve gives application a its highest demand for the whole horizon: what it holds
// now, then from the last slot down.
func (d *decoder) reserve(a int) error {
	in := d.in
	c := &in.apps[a]
	peak := 0
	for _, n := range c.demand {
		peak = max(peak, n)
	}
	mine := make(Set, in.words)
	n := 0
	hold := func(g int) {
		if n == peak || mine.Has(g) || (c.may != nil && !c.may.Has(g)) {
			return
		}
		for t := range in.steps {
			if !in.row(d.open, t).Has(g) {
				return
			}
			for b := range a {
				if in.row(d.rt[b], t).Has(g) {
					return
				}
			}
		}
		mine.Add(g)
		n++
	}
	for _, g := range in.p.Apps[a].Current {
		hold(g)
	}
	for g := in.gpus - 1; g >= 0; g-- {
		hold(g)
	}
	if n < peak {
		return fmt.Errorf("real-time application %q cannot reserve its peak of %d GPUs for the whole horizon: %d are free throughout", in.p.Apps[a].ID, peak, n)
	}
	for t := range in.steps {
		copy(in.row(d.rt[a], t), mine)
	}
	return nil
}
