package horizon

import (
	"fmt"
)

// Check says what makes the problem one that has no plan: a number out of range, or a
// state from before step 0 that breaks a rule.
func (p *Problem) Check() error {
	switch {
	case p.GPUs < 1 || p.GPUs > maxGPUs:
		return fmt.Errorf("gpus: %d; a horizon has 1 to %d GPUs", p.GPUs, maxGPUs)
	case p.Steps < 1 || p.Steps > maxSteps:
		return fmt.Errorf("steps: %d; a horizon has 1 to %d steps", p.Steps, maxSteps)
	case !(p.Decay > 0 && p.Decay <= 1):
		return fmt.Errorf("decay: %v; a step is worth more than 0 and at most 1 of the one before", p.Decay)
	case p.StepLength < 0:
		return fmt.Errorf("step length: %d ms is negative", p.StepLength)
	case len(p.Types) > 0 && len(p.Types) != p.GPUs:
		return fmt.Errorf("types: %d given for %d GPUs", len(p.Types), p.GPUs)
	}
	for g, t := range p.Types {
		if t < 0 || t > 63 {
			return fmt.Errorf("types: GPU %d has type %d; types are numbered 0 to 63", g, t)
		}
	}
	for i, w := range p.Closed {
		if w.First < 0 || w.Count < 1 || w.First+w.Count > p.GPUs || w.From < 0 || w.To <= w.From {
			return fmt.Errorf("closed[%d] %q: GPUs %d to %d for steps %d to %d lie outside the %d GPUs, or are none", i, w.Name, w.First, w.First+w.Count-1, w.From, w.To-1, p.GPUs)
		}
	}
	names := map[string]bool{}
	holder := map[int]string{}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if err := p.checkJob(j); err != nil {
			return fmt.Errorf("jobs[%d] %q: %w", i, j.ID, err)
		}
		if names[j.ID] {
			return fmt.Errorf("jobs[%d] %q: that name is taken; names are unique", i, j.ID)
		}
		names[j.ID] = true
		if j.Running == nil {
			continue
		}
		for g := j.Running.Offset; g < j.Running.Offset+p.slots(j); g++ {
			if other, taken := holder[g]; taken {
				return fmt.Errorf("jobs[%d] %q: runs on GPU %d, which %q holds; a GPU serves one job at a time", i, j.ID, g, other)
			}
			holder[g] = j.ID
		}
	}
	for i := range p.Apps {
		a := &p.Apps[i]
		if err := p.checkApp(a, holder); err != nil {
			return fmt.Errorf("rt[%d] %q: %w", i, a.ID, err)
		}
		if names[a.ID] {
			return fmt.Errorf("rt[%d] %q: that name is taken; names are unique", i, a.ID)
		}
		names[a.ID] = true
	}
	return nil
}

const (
	maxGPUs  = 1 << 16
	maxSteps = 1 << 12
	maxWorth = 1 << 20
)

// slots is the size of a job's block.
func (p *Problem) slots(j *Job) int {
	size, _ := p.Reading.Block(j)
	return size
}

func (p *Problem) checkJob(j *Job) error {
	size, align := p.Reading.Block(j)
	switch {
	case j.ID == "":
		return fmt.Errorf("has no id")
	case j.GPUs < 1:
		return fmt.Errorf("gpus: %d; a job takes at least 1", j.GPUs)
	case size > p.GPUs:
		return fmt.Errorf("gpus: a block of %d does not fit the %d GPUs there are", size, p.GPUs)
	case j.Steps < 1 || j.Steps > 1<<20:
		return fmt.Errorf("steps: %d; a job runs at least 1 step, and at most %d", j.Steps, 1<<20)
	case j.Priority < 0 || j.Priority > maxWorth:
		return fmt.Errorf("priority: %d; it lies between 0 and %d", j.Priority, maxWorth)
	case j.Slots < 0 || j.Align < 0:
		return fmt.Errorf("slots: %d, align: %d; neither can be negative", j.Slots, j.Align)
	case j.Release < 0:
		return fmt.Errorf("release: step %d; the first step is 0", j.Release)
	case j.Deadline < 0:
		return fmt.Errorf("deadline: step %d is before the horizon; 0 means none", j.Deadline)
	case j.Late < 0 || j.Late > 1000:
		return fmt.Errorf("late: %d; what a late job is worth lies between 0 and 1000 thousandths", j.Late)
	case j.MinSteps < 0:
		return fmt.Errorf("min steps: %d; 0 means that it is never interrupted", j.MinSteps)
	case j.Restart < 0:
		return fmt.Errorf("restart: %d steps; it cannot be negative", j.Restart)
	}
	r := j.Running
	if r == nil {
		return nil
	}
	switch {
	case r.Offset < 0 || r.Offset+size > p.GPUs:
		return fmt.Errorf("running: GPUs %d to %d lie outside the %d GPUs there are", r.Offset, r.Offset+size-1, p.GPUs)
	case r.Elapsed < 0:
		return fmt.Errorf("running: elapsed %d steps is negative", r.Elapsed)
	case j.Release > 0:
		return fmt.Errorf("running: it cannot run and be released in step %d; give release 0", j.Release)
	case p.Reading.Complete && j.Steps > p.Steps && j.MinSteps == 0:
		return fmt.Errorf("running: %d steps remain but the horizon has %d; under the reading that jobs end within the horizon that is not legal", j.Steps, p.Steps)
	case r.Foreign:
		return nil
	case r.Offset%align != 0:
		return fmt.Errorf("running: a block of %d begins at GPU %d; such blocks begin at multiples of %d", size, r.Offset, align)
	}
	if t := p.closedFor(r.Offset, size, 0, min(j.Steps, p.Steps)); t >= 0 && j.MinSteps == 0 {
		return fmt.Errorf("running: its GPUs are closed from step %d on and it must not be interrupted", t)
	}
	if t := p.closedFor(r.Offset, size, 0, min(j.Steps, p.Steps, max(0, j.MinSteps-r.Elapsed))); t >= 0 {
		return fmt.Errorf("running: its GPUs are closed from step %d on and it is protected longer than that", t)
	}
	return nil
}

// closedFor returns the first step of [from, to) in which one of the slots is closed, -1 for none.
func (p *Problem) closedFor(first, count, from, to int) int {
	at := -1
	for _, w := range p.Closed {
		if w.First < first+count && first < w.First+w.Count && w.From < to && from < w.To {
			if t := max(w.From, from); at < 0 || t < at {
				at = t
			}
		}
	}
	return at
}

func (p *Problem) checkApp(a *App, holder map[int]string) error {
	if a.ID == "" {
		return fmt.Errorf("has no id")
	}
	for _, c := range []struct {
		name string
		list []int
	}{{"min", a.Min}, {"demand", a.Demand}, {"max", a.Max}} {
		if len(c.list) != p.Steps {
			return fmt.Errorf("%s: %d values for %d steps", c.name, len(c.list), p.Steps)
		}
	}
	for t := range p.Steps {
		if a.Min[t] < 0 || a.Min[t] > a.Demand[t] || a.Demand[t] > a.Max[t] || a.Max[t] > p.GPUs {
			return fmt.Errorf("step %d: min %d, demand %d, max %d; they must rise, between 0 and the %d GPUs there are", t, a.Min[t], a.Demand[t], a.Max[t], p.GPUs)
		}
	}
	switch {
	case a.SwapCap < 0 || a.Used < 0:
		return fmt.Errorf("swap cap: %d, used up %d; neither can be negative", a.SwapCap, a.Used)
	case a.Penalty < 0 || a.Penalty > maxWorth:
		return fmt.Errorf("penalty: %d; it lies between 0 and %d", a.Penalty, maxWorth)
	}
	for _, g := range a.Current {
		if g < 0 || g >= p.GPUs {
			return fmt.Errorf("current: GPU %d does not exist; there are %d", g, p.GPUs)
		}
		if other, taken := holder[g]; taken {
			return fmt.Errorf("current: GPU %d is held by %q; a GPU serves one job at a time", g, other)
		}
		holder[g] = a.ID
	}
	if a.profile() == nil {
		return fmt.Errorf("no number of GPUs keeps between min and max when at most %d change in a step, beginning from the %d held now", a.SwapCap, len(a.Current))
	}
	return nil
}

// noLayout says why real-time work has no legal layout.
func (in *instance) noLayout() error {
	for a := range in.apps {
		d := newDecoder(in)
		ok := false
		tastes := make([]uint8, len(in.apps))
		for like := range uint8(taste) {
			tastes[a] = like
			_, fits := d.layout(d.pinnedOpen, []int32{int32(a)}, tastes, false)
			ok = ok || fits
		}
		if !ok {
			return fmt.Errorf("rt[%d] %q: what runs and what is closed leave it less than its min, or take more of its GPUs in one step than its swap cap of %d", a, in.p.Apps[a].ID, in.apps[a].cap)
		}
	}
	return fmt.Errorf("rt: the applications together need more than what runs and what is closed leave them")
}
