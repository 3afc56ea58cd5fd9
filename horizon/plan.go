package horizon

import (
	"cmp"
	"slices"
)

// Plan says what every GPU does in every step of a problem.
type Plan struct {
	Problem *Problem
	// Placed are the stretches of batch-like jobs, by start, then by first slot.
	Placed []Stretch
	// Held[app][step] are the slots of each real-time application.
	Held [][]Set
	// Reserved: applications hold a reservation rather than what they need (a baseline);
	// maxima and swaps do not bind it.
	Reserved bool
}

// Stretch is a job on a block for some steps.
type Stretch struct {
	// Job is its index in the problem.
	Job int
	// Start is its first step, Steps its length; it may reach past the horizon.
	Start, Steps int
	// Offset is the first slot of the block, Size the number of its slots.
	Offset, Size int
	// Restart steps at the beginning of the stretch do no work.
	Restart int
}

// End is the step at whose beginning the stretch is over.
func (s *Stretch) End() int { return s.Start + s.Steps }

// Score is what a plan is worth.
type Score struct {
	// Utilisation is the GPU-steps that serve batch-like work or wanted real-time work,
	// over those of all GPUs. Slots of a block that the job did not ask for, and
	// real-time GPUs above the demand, serve nobody.
	Utilisation float64 `json:"utilisation"`
	// Value is the sum over batch-like GPU-steps of priority x decay^step.
	Value float64 `json:"value"`
	// Shortfall is the number of GPU-steps of real-time demand that are not met, Penalty
	// what they cost.
	Shortfall int     `json:"shortfall"`
	Penalty   float64 `json:"penalty"`
	// Objective is Value - Penalty.
	Objective float64 `json:"objective"`
	// Started jobs have a place in the horizon (those that ran before included), Done
	// jobs end in it.
	Started int `json:"started"`
	Done    int `json:"done"`
	// Swaps is the number of real-time GPUs gained and lost.
	Swaps int `json:"swaps"`
	// Late is the number of jobs that end after their deadline.
	Late int `json:"late"`

	objective int64
}

// Score measures the plan from its placements alone.
func (p *Plan) Score() Score {
	q := p.Problem
	var s Score
	unit := q.unit()
	weight := weights(q.Decay, q.Steps, unit)
	value := make([]int64, len(q.Jobs))
	work, end := make([]int, len(q.Jobs)), make([]int, len(q.Jobs))
	used := 0
	for i := range p.Placed {
		st := &p.Placed[i]
		j := &q.Jobs[st.Job]
		work[st.Job] += st.Steps - st.Restart
		end[st.Job] = max(end[st.Job], st.End())
		for t := st.Start + st.Restart; t < min(st.End(), q.Steps); t++ {
			used += j.GPUs
			value[st.Job] += j.Priority * int64(j.GPUs) * weight[t]
		}
	}
	total, penalty := int64(0), int64(0)
	for i := range q.Jobs {
		j := &q.Jobs[i]
		if work[i] == 0 && end[i] == 0 {
			continue
		}
		s.Started++
		if work[i] >= j.Steps && end[i] <= q.Steps {
			s.Done++
		}
		if left := j.Steps - work[i]; left > 0 {
			end[i] = max(end[i], q.Steps) + left
		}
		if j.Deadline > 0 && end[i] > j.Deadline {
			s.Late++
			value[i] = share(value[i], j.Late)
		}
		total += value[i]
	}
	for a := range q.Apps {
		app := &q.Apps[a]
		before := make(Set, (q.GPUs+63)/64)
		for _, g := range app.Current {
			before.Add(g)
		}
		for t := range q.Steps {
			held := p.Held[a][t]
			n := held.Len()
			used += min(n, app.Demand[t])
			if short := app.Demand[t] - n; short > 0 {
				s.Shortfall += short
				penalty += int64(short) * app.Penalty * unit
			}
			for i := range held {
				s.Swaps += (Set{held[i] ^ before[i]}).Len()
			}
			before = held
		}
	}
	if capacity := q.GPUSteps(); capacity > 0 {
		s.Utilisation = float64(used) / float64(capacity)
	}
	s.objective = total - penalty
	one := float64(unit)
	s.Value, s.Penalty, s.Objective = float64(total)/one, float64(penalty)/one, float64(total-penalty)/one
	return s
}

// GPUSteps is the capacity of the horizon: GPUs that exist, times steps.
func (p *Problem) GPUSteps() int {
	absent := make([]Set, p.Steps)
	n := p.GPUs * p.Steps
	for _, w := range p.Closed {
		if !w.Absent {
			continue
		}
		for t := w.From; t < min(w.To, p.Steps); t++ {
			if absent[t] == nil {
				absent[t] = NewSet(p.GPUs)
			}
			absent[t].fillRange(w.First, w.Count)
		}
	}
	for _, gone := range absent {
		n -= gone.Len()
	}
	return n
}

// Grid returns, for each slot and step, the index of what is there: jobs from 0 on,
// application a as -2-a, nothing as [Idle], closed slots as [Shut].
func (p *Plan) Grid() [][]int {
	q := p.Problem
	grid := make([][]int, q.GPUs)
	for g := range grid {
		grid[g] = make([]int, q.Steps)
		for t := range grid[g] {
			grid[g][t] = Idle
		}
	}
	for _, w := range q.Closed {
		for g := w.First; g < w.First+w.Count; g++ {
			for t := w.From; t < min(w.To, q.Steps); t++ {
				grid[g][t] = Shut
			}
		}
	}
	for i := range p.Placed {
		st := &p.Placed[i]
		for g := st.Offset; g < st.Offset+st.Size; g++ {
			for t := st.Start; t < min(st.End(), q.Steps); t++ {
				grid[g][t] = st.Job
			}
		}
	}
	for a := range q.Apps {
		for t, held := range p.Held[a] {
			for _, g := range held.Slots() {
				grid[g][t] = -2 - a
			}
		}
	}
	return grid
}

// What a cell of a grid says besides jobs and applications.
const (
	Idle = -1
	Shut = -1 << 31
)

// plan reads the grid off the decoder.
func (d *decoder) plan() *Plan {
	in := d.in
	p := &Plan{Problem: in.p}
	for i := range d.placed {
		q := &d.placed[i]
		p.Placed = append(p.Placed, Stretch{Job: int(q.job), Start: int(q.start), Steps: int(q.steps), Offset: int(q.offset), Size: in.jobs[q.job].size, Restart: int(q.lost)})
	}
	slices.SortFunc(p.Placed, func(a, b Stretch) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Offset, b.Offset))
	})
	for a := range in.apps {
		held := make([]Set, in.steps)
		for t := range held {
			held[t] = slices.Clone(in.row(d.rt[a], t))
		}
		p.Held = append(p.Held, held)
	}
	return p
}
