package horizon

import "fmt"

// Check says what makes the problem one that has no plan: a number out of range, or a
// state from before step 0 that breaks a rule.
func (p *Problem) Check() error {
	switch {
	case p.GPUs < 1 || p.GPUs > maxGPUs:
		return fmt.Errorf("gpus: %d; a horizon has 1 to %d GPUs", p.GPUs, maxGPUs)
	case p.Steps < 1 || p.Steps > maxSteps:
		return fmt.Errorf("steps: %d; a horizon has 1 to %d steps", p.Steps, maxSteps)
	case p.GPUs*p.Steps > maxCells:
		return fmt.Errorf("gpus x steps: %d x %d are more cells than the %d that a plan may have; make steps longer, or plan a part of the row", p.GPUs, p.Steps, maxCells)
	case !(p.Decay > 0 && p.Decay <= 1):
		return fmt.Errorf("decay: %v; a step is worth more than 0 and at most 1 of the one before", p.Decay)
	case p.StepLength < 0:
		return fmt.Errorf("step length: %d ms is negative", p.StepLength)
	case p.StartMinute < 0 || p.StartMinute > 59:
		return fmt.Errorf("start minute: %d; it is a minute of the hour, 0 to 59", p.StartMinute)
	case p.StartHour < 0 || p.StartHour > 23:
		return fmt.Errorf("start hour: %d; it is an hour of the day, 0 to 23", p.StartHour)
	case len(p.Types) > 0 && len(p.Types) != p.GPUs:
		return fmt.Errorf("types: %d given for %d GPUs; want one for each", len(p.Types), p.GPUs)
	}
	for g, t := range p.Types {
		if t < 0 || t > 63 {
			return fmt.Errorf("types: GPU %d has type %d; types are numbered 0 to 63", g, t)
		}
	}
	for i, w := range p.Closed {
		if w.First < 0 || w.Count < 1 || w.Count > p.GPUs-w.First {
			return fmt.Errorf("closed[%d] %q: %d GPUs from GPU %d on; it closes at least 1 of the %d GPUs there are", i, w.Name, w.Count, w.First, p.GPUs)
		}
		if w.From < 0 || w.To <= w.From {
			return fmt.Errorf("closed[%d] %q: from step %d to before step %d; it begins in step 0 or later, and ends after that", i, w.Name, w.From, w.To)
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
	if p.worth() > mostWorth {
		return fmt.Errorf("priority and penalty: in all this is worth more than 2^49 GPU-steps of priority 1, which is more than can be added up exactly; divide all by the same number")
	}
	for i := range p.Apps {
		if a := &p.Apps[i]; a.profile(p.GPUs, a.Max) == nil {
			return fmt.Errorf("rt[%d] %q: no number of GPUs keeps between min and max when at most %d change in a step (%d in step 0), beginning from the %d held now",
				i, a.ID, a.SwapCap, a.Swaps(0, p.GPUs), len(a.Current))
		}
	}
	return nil
}

const (
	maxGPUs  = 1 << 16
	maxSteps = 1 << 12
	maxCells = 1 << 24
	maxWorth = 1 << 20
	// maxSpan bounds spans of steps, inside the horizon or not.
	maxSpan = 1 << 20
)

// slots is the size of a job's block.
func (p *Problem) slots(j *Job) int {
	size, _ := p.Reading.Block(j)
	return size
}

func (p *Problem) checkJob(j *Job) error {
	switch {
	case j.ID == "":
		return fmt.Errorf("has no id")
	case j.GPUs < 1:
		return fmt.Errorf("gpus: %d; a job takes at least 1", j.GPUs)
	case j.Slots < 0 || j.Align < 0:
		return fmt.Errorf("slots: %d, align: %d; neither can be negative", j.Slots, j.Align)
	case max(j.GPUs, j.Slots) > p.GPUs:
		return fmt.Errorf("gpus: a block of %d does not fit the %d GPUs there are", max(j.GPUs, j.Slots), p.GPUs)
	case p.slots(j) > p.GPUs:
		return fmt.Errorf("gpus: %d, in a block of %d, the next power of two, do not fit the %d GPUs there are", j.GPUs, p.slots(j), p.GPUs)
	case j.Steps < 1 || j.Steps > maxSpan:
		return fmt.Errorf("steps: %d; a job runs at least 1 step, and at most %d", j.Steps, maxSpan)
	case j.Priority < 0 || j.Priority > maxWorth:
		return fmt.Errorf("priority: %d; it lies between 0 and %d", j.Priority, maxWorth)
	case j.Release < 0:
		return fmt.Errorf("release: step %d; the first step is 0", j.Release)
	case j.Deadline < 0:
		return fmt.Errorf("deadline: step %d is before the horizon; 0 means none", j.Deadline)
	case j.Late < 0 || j.Late > 1000:
		return fmt.Errorf("late: %d; what a late job is worth lies between 0 and 1000 thousandths", j.Late)
	case j.MinSteps < 0 || j.MinSteps > maxSpan:
		return fmt.Errorf("min steps: %d; it lies between 1 and %d, or is 0: never interrupted", j.MinSteps, maxSpan)
	case j.Restart < 0 || j.Restart > maxSpan:
		return fmt.Errorf("restart: %d steps; it lies between 0 and %d", j.Restart, maxSpan)
	}
	if err := p.checkTypes(j.Types); err != nil {
		return err
	}
	if j.Running == nil {
		return nil
	}
	if err := p.checkRunning(j); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return nil
}

// checkTypes refuses a choice among types where the GPUs have none.
func (p *Problem) checkTypes(types uint64) error {
	if types != 0 && len(p.Types) == 0 {
		return fmt.Errorf("types: it names some, but the GPUs have none; give the type of each GPU")
	}
	return nil
}

func (p *Problem) checkRunning(j *Job) error {
	size, align := p.Reading.Block(j)
	r := j.Running
	switch {
	case r.Offset < 0 || r.Offset > p.GPUs-size:
		return fmt.Errorf("a block of %d from GPU %d on lies outside the %d GPUs there are", size, r.Offset, p.GPUs)
	case r.Elapsed < 0 || r.Elapsed > maxSpan:
		return fmt.Errorf("elapsed: %d steps; it lies between 0 and %d", r.Elapsed, maxSpan)
	case j.Release > 0:
		return fmt.Errorf("it cannot run and be released in step %d; give release 0", j.Release)
	case p.Reading.Complete && j.Steps > p.Steps && j.MinSteps == 0:
		return fmt.Errorf("%d steps remain but the horizon has %d; under the reading that jobs end within the horizon that is not legal", j.Steps, p.Steps)
	}
	stays, why := j.Steps, "must not be interrupted"
	if j.MinSteps > 0 {
		stays, why = min(j.Steps, max(0, j.MinSteps-r.Elapsed)), "is protected longer than that"
	}
	for _, w := range p.Closed {
		if w.First >= r.Offset+size || r.Offset >= w.First+w.Count || w.From >= min(stays, p.Steps) {
			continue
		}
		if w.Absent {
			return fmt.Errorf("from step %d on GPUs of its block do not exist (%q) and it %s", w.From, w.Name, why)
		}
		if !r.Foreign {
			return fmt.Errorf("from step %d on GPUs of its block are closed (%q) and it %s", w.From, w.Name, why)
		}
	}
	if r.Foreign {
		return nil
	}
	if r.Offset%align != 0 {
		return fmt.Errorf("a block of %d begins at GPU %d; such blocks begin at multiples of %d", size, r.Offset, align)
	}
	if j.Types == 0 {
		return nil
	}
	for g := r.Offset; g < r.Offset+size; g++ {
		if t := p.Types[g]; j.Types>>t&1 == 0 || t != p.Types[r.Offset] {
			return fmt.Errorf("its block is on GPU %d of type %d; all of it lies in one type that it may use", g, t)
		}
	}
	return nil
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
	if err := p.checkTypes(a.Types); err != nil {
		return err
	}
	for _, g := range a.Current {
		if g < 0 || g >= p.GPUs {
			return fmt.Errorf("current: GPU %d does not exist; there are %d", g, p.GPUs)
		}
		switch other, taken := holder[g]; {
		case taken && other == a.ID:
			return fmt.Errorf("current: GPU %d is listed twice", g)
		case taken:
			return fmt.Errorf("current: GPU %d is held by %q; a GPU serves one job at a time", g, other)
		}
		holder[g] = a.ID
	}
	return nil
}
