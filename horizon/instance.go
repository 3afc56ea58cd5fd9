package horizon

import (
	"math"
	"math/bits"
)

// A GPU-step of priority 1 in step 0 is worth so many units: sums of integers come out the
// same in any order and on any machine. The more a problem can be worth in all, the coarser
// its unit, so that no sum overflows.
const (
	finest = 1 << 32
	// mostWorth is the most that a problem may be worth, in GPU-steps of priority 1.
	mostWorth = 1 << 49
)

// unit of the problem's objective.
func (p *Problem) unit() int64 {
	unit := int64(finest)
	for top := p.worth(); unit > 1 && top > 1<<61/unit; {
		unit >>= 1
	}
	return unit
}

// worth bounds what any plan is worth, and what it can lose, in GPU-steps of priority 1. It
// stops counting beyond mostWorth.
func (p *Problem) worth() int64 {
	priority := int64(0)
	for i := range p.Jobs {
		priority = max(priority, p.Jobs[i].Priority)
	}
	top := priority * int64(p.GPUs) * int64(p.Steps)
	for i := range p.Apps {
		for _, n := range p.Apps[i].Demand {
			if top += p.Apps[i].Penalty * int64(n); top > mostWorth {
				return top
			}
		}
	}
	return top
}

// instance is a problem made ready for the decoder: masks instead of lists,
// integers instead of decay.
type instance struct {
	p           *Problem
	words       int
	gpus, steps int
	unit        int64
	cum         []int64  // cum[t] = value of a GPU-step of priority 1 in each of the steps before t
	open        []uint64 // slots that are neither closed nor pinned
	jobs        []job
	apps        []app
	shapes      []shape
	pinned      []placed // what runs, for as long as it must, in arrival order
	loose       []int32  // jobs to be placed, those that run and may be interrupted among them
	floor, want []int    // what all apps need at least, and want, per step
	fits        bool     // apps can have what they need, as far as numbers go
	settled     *settled // layout of apps where none can be made at will
}

type job struct {
	size, steps, release int
	gpus                 int
	value                int64 // priority x GPUs
	shape                int32 // index of its shape
	class                int32 // jobs of one class ask for the same cells
	min, restart         int
	deadline             int
	late                 int
	last                 int // last step it may start in
	may                  Set // first slots of its blocks as far as types go; nil = all
	running              *Running
	kept                 int // steps from 0 on that it must run where it runs
	pin                  int // its index among the pinned, where kept > 0
}

type app struct {
	min, demand, max []int
	target           []int // number of GPUs to hold, per step
	first, cap       int   // swaps in step 0, and in each later one
	penalty          int64
	current          Set
	may              Set // slots of its types; nil = all
}

func (in *instance) row(masks []uint64, t int) Set {
	return Set(masks[t*in.words : (t+1)*in.words])
}

// weights returns the fixed-point weight of each step.
func weights(decay float64, steps int, unit int64) []int64 {
	w := make([]int64, steps)
	x := 1.0
	for t := range w {
		w[t] = int64(math.Round(float64(x * float64(unit))))
		x = float64(x * decay)
	}
	return w
}

func compile(p *Problem) *instance {
	in := &instance{p: p, words: (p.GPUs + 63) / 64, gpus: p.GPUs, steps: p.Steps, unit: p.unit()}
	in.cum = make([]int64, p.Steps+1)
	for t, w := range weights(p.Decay, p.Steps, in.unit) {
		in.cum[t+1] = in.cum[t] + w
	}
	in.open = make([]uint64, in.words*in.steps)
	for t := range in.steps {
		in.row(in.open, t).fillRange(0, p.GPUs)
	}
	for _, w := range p.Closed {
		for t := w.From; t < min(w.To, p.Steps); t++ {
			in.row(in.open, t).clearRange(w.First, w.Count)
		}
	}
	in.compileApps()
	in.compileJobs()
	for i := range in.jobs {
		in.pin(i)
	}
	in.fits = in.aim()
	return in
}

func (in *instance) compileApps() {
	p := in.p
	in.floor, in.want = make([]int, p.Steps), make([]int, p.Steps)
	for i := range p.Apps {
		a := &p.Apps[i]
		c := app{min: a.Min, demand: a.Demand, max: a.Max, first: a.Swaps(0, p.GPUs), cap: a.Swaps(1, p.GPUs), penalty: a.Penalty * in.unit, current: make(Set, in.words)}
		for _, g := range a.Current {
			c.current.Add(g)
		}
		if a.Types != 0 {
			c.may = in.ofTypes(a.Types)
		}
		for t := range p.Steps {
			in.floor[t] += a.Min[t]
		}
		in.apps = append(in.apps, c)
	}
}

// aim sets how many GPUs each application is to hold, and tells whether all can.
func (in *instance) aim() bool {
	for i := range in.apps {
		c, a := &in.apps[i], &in.p.Apps[i]
		if c.target = a.profile(in.gpus, in.most(c)); c.target == nil {
			return false
		}
		for t, n := range c.target {
			in.want[t] += max(min(n, c.demand[t]), c.min[t])
		}
	}
	return true
}

// most is how many GPUs an application can have in each step: what is open to it, less what
// others must have of that.
func (in *instance) most(c *app) []int {
	most := make([]int, in.steps)
	for t := range most {
		mine, rest := 0, 0
		for i, x := range in.row(in.open, t) {
			may := ^uint64(0)
			if c.may != nil {
				may = c.may[i]
			}
			mine += bits.OnesCount64(x & may)
			rest += bits.OnesCount64(x &^ may)
		}
		others := max(0, in.floor[t]-c.min[t]-rest)
		most[t] = min(c.max[t], mine-others)
	}
	return most
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
	inside := map[insideKey]Set{}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		size, align := p.Reading.Block(j)
		c := job{size: size, gpus: j.GPUs, steps: j.Steps, release: j.Release, value: j.Priority * int64(j.GPUs),
			min: j.MinSteps, restart: j.Restart, deadline: j.Deadline, late: j.Late, running: j.Running, last: p.Steps - 1}
		if p.Reading.Complete && j.MinSteps == 0 {
			c.last = p.Steps - j.Steps
		}
		if _, ok := shapeIndex[[2]int{size, align}]; !ok {
			shapeIndex[[2]int{size, align}] = int32(len(in.shapes))
			in.shapes = append(in.shapes, newShape(size, align))
		}
		c.shape = shapeIndex[[2]int{size, align}]
		if j.Types != 0 {
			k := insideKey{c.shape, j.Types}
			if inside[k] == nil {
				inside[k] = in.insideOneType(k)
			}
			c.may = inside[k]
		}
		k := key{c.shape, c.steps, c.release, c.min, c.restart, j.Types}
		if _, ok := classes[k]; !ok {
			classes[k] = int32(len(classes))
		}
		c.class = classes[k]
		in.jobs = append(in.jobs, c)
		if j.Running == nil || j.MinSteps > 0 {
			in.loose = append(in.loose, int32(i))
		}
	}
}

type insideKey struct {
	shape int32
	types uint64
}

// insideOneType returns the first slots of blocks of a shape that lie in one of the types.
func (in *instance) insideOneType(k insideKey) Set {
	all, one := make(Set, in.words), make(Set, in.words)
	for types := k.types; types != 0; types &= types - 1 {
		in.shapes[k.shape].starts(one, in.ofTypes(types&-types))
		for i := range all {
			all[i] |= one[i]
		}
	}
	return all
}

// pin puts a running job where it is: to its end, or where it may be stopped for as long as
// it may not.
func (in *instance) pin(i int) {
	j := &in.jobs[i]
	if j.running == nil {
		return
	}
	j.kept = j.steps
	if j.min > 0 {
		j.kept = min(j.steps, max(0, j.min-j.running.Elapsed))
	}
	if j.kept == 0 {
		return
	}
	for t := range min(j.kept, in.steps) {
		in.row(in.open, t).clearRange(j.running.Offset, j.size)
	}
	j.pin = len(in.pinned)
	in.pinned = append(in.pinned, placed{job: int32(i), offset: int32(j.running.Offset), steps: int32(j.kept)})
}

// worth is the value of a job's GPUs in useful steps [s, s+n), inside the horizon.
func (in *instance) worth(j *job, s, n int) int64 {
	return j.inTime(in.raw(j, s, n), s+n)
}

// inTime is what a value is worth for a job that ends at the beginning of step end.
func (j *job) inTime(v int64, end int) int64 {
	if j.deadline > 0 && end > j.deadline {
		return share(v, j.late)
	}
	return v
}

// share is some thousandths, at most all, of a value that is not negative.
func share(v int64, thousandths int) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(thousandths))
	v64, _ := bits.Div64(hi, lo, 1000)
	return int64(v64)
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
		return a.first
	}
	return a.cap
}

// Swaps is how many of a row's GPUs an application may change at step t; more than all lost
// and all gained means nothing.
func (a *App) Swaps(t, gpus int) int {
	n := a.SwapCap
	if t == 0 {
		n = max(0, n-a.Used)
	}
	return min(n, 2*gpus)
}
