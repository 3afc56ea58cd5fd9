package horizon

import "math"

// unit is the fixed point of the objective: 2^-32 of one GPU-step of priority 1 in
// step 0. Sums of integers come out the same in any order and on any machine.
const unit = 1 << 32

// instance is a problem made ready for the decoder: masks instead of lists,
// integers instead of decay.
type instance struct {
	p           *Problem
	words       int
	gpus, steps int
	weight      []int64 // value of a GPU-step of priority 1 in step t
	cum         []int64 // cum[t] = sum of weight[0:t]
	open        []uint64
	jobs        []job
	apps        []app
	shapes      []shape
	pinned      []int32 // jobs that run, in arrival order
	loose       []int32 // jobs to be placed, those that may be interrupted among them
	floor, want []int   // what all apps need at least, and want, per step
}

type job struct {
	size, steps, release int
	gpus                 int
	value                int64 // priority x GPUs
	shape                int32 // index of its shape
	class                int32 // jobs of one class ask for the same cells
	min, restart         int
	deadline             int
	late                 int64
	last                 int // last step it may start in
	within               []Set
	running              *Running
}

type app struct {
	min, demand, max []int
	target           []int // number of GPUs to hold, per step
	cap, used        int   // swaps a step, and of step 0 those used up
	penalty          int64
	current          Set
	may              Set // slots of its types; nil = all
}

func (in *instance) row(masks []uint64, t int) Set {
	return Set(masks[t*in.words : (t+1)*in.words])
}

// weights returns the fixed-point weight of each step.
func weights(decay float64, steps int) []int64 {
	w := make([]int64, steps)
	x := 1.0
	for t := range w {
		w[t] = int64(math.Round(float64(x * unit)))
		x = float64(x * decay)
	}
	return w
}

func compile(p *Problem) *instance {
	in := &instance{p: p, words: (p.GPUs + 63) / 64, gpus: p.GPUs, steps: p.Steps, weight: weights(p.Decay, p.Steps)}
	in.cum = make([]int64, p.Steps+1)
	for t, w := range in.weight {
		in.cum[t+1] = in.cum[t] + w
	}
	in.open = make([]uint64, in.words*in.steps)
	for t := range in.steps {
		in.row(in.open, t).fillRange(0, p.GPUs)
	}
	for _, w := range p.Closed {
		for t := max(w.From, 0); t < min(w.To, p.Steps); t++ {
			in.row(in.open, t).clearRange(w.First, w.Count)
		}
	}
	in.compileApps()
	in.compileJobs()
	return in
}

func (in *instance) compileApps() {
	p := in.p
	in.floor, in.want = make([]int, p.Steps), make([]int, p.Steps)
	for i := range p.Apps {
		a := &p.Apps[i]
		c := app{min: a.Min, demand: a.Demand, max: a.Max, cap: a.SwapCap, used: min(a.Used, a.SwapCap), penalty: a.Penalty * unit, current: make(Set, in.words)}
		for _, g := range a.Current {
			c.current.Add(g)
		}
		if a.Types != 0 {
			c.may = in.ofTypes(a.Types)
		}
		c.target = a.profile()
		for t := range p.Steps {
			in.floor[t] += a.Min[t]
			in.want[t] += max(min(c.target[t], a.Demand[t]), a.Min[t])
		}
		in.apps = append(in.apps, c)
	}
}

func (in *instance) ofTypes(types uint64) Set {
	s := make(Set, in.words)
	for g, t := range in.p.Types {
		if types>>t&1 == 1 {
			s.Add(g)
		}
	}
	return s
}

func (in *instance) compileJobs() {
	p := in.p
	type key struct {
		shape                        int32
		steps, release, min, restart int
		types                        uint64
	}
	classes := map[key]int32{}
	shapeIndex := map[[2]int]int32{}
	byTypes := map[uint64][]Set{}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		size, align := p.Reading.Block(j)
		c := job{size: size, gpus: j.GPUs, steps: j.Steps, release: j.Release, value: j.Priority * int64(j.GPUs),
			min: j.MinSteps, restart: j.Restart, deadline: j.Deadline, late: int64(j.Late), running: j.Running, last: p.Steps - 1}
		if p.Reading.Complete {
			c.last = p.Steps - j.Steps
		}
		if _, ok := shapeIndex[[2]int{size, align}]; !ok {
			shapeIndex[[2]int{size, align}] = int32(len(in.shapes))
			in.shapes = append(in.shapes, newShape(size, align))
		}
		c.shape = shapeIndex[[2]int{size, align}]
		if j.Types != 0 && len(p.Types) > 0 {
			if byTypes[j.Types] == nil {
				for t := range 64 {
					if j.Types>>t&1 == 1 {
						byTypes[j.Types] = append(byTypes[j.Types], in.ofTypes(1<<t))
					}
				}
			}
			c.within = byTypes[j.Types]
		}
		k := key{c.shape, c.steps, c.release, c.min, c.restart, j.Types}
		if _, ok := classes[k]; !ok {
			classes[k] = int32(len(classes))
		}
		c.class = classes[k]
		in.jobs = append(in.jobs, c)
		if j.Running != nil {
			in.pinned = append(in.pinned, int32(i))
		}
		if j.Running == nil || j.MinSteps > 0 {
			in.loose = append(in.loose, int32(i))
		}
	}
}

// worth is the value of a job's GPUs in useful steps [s, s+n), inside the horizon.
func (in *instance) worth(j *job, s, n int) int64 {
	if s >= in.steps {
		return 0
	}
	v := j.value * (in.cum[min(s+n, in.steps)] - in.cum[s])
	if j.deadline > 0 {
		return j.inTime(v, s+n)
	}
	return v
}

// inTime is what a value is worth for a job that ends at the beginning of step end.
func (j *job) inTime(v int64, end int) int64 {
	if j.deadline > 0 && end > j.deadline {
		return v / 1000 * j.late
	}
	return v
}

// raw is worth without a deadline.
func (in *instance) raw(j *job, s, n int) int64 {
	if s >= in.steps {
		return 0
	}
	return j.value * (in.cum[min(s+n, in.steps)] - in.cum[s])
}

// swaps is how many GPUs an application may change at step t.
func (a *app) swaps(t int) int {
	if t == 0 {
		return a.cap - a.used
	}
	return a.cap
}
