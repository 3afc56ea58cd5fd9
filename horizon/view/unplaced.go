package view

import "github.com/escala-sched/escala/horizon"

// LeftOut is a job that has no place in the horizon, and why.
type LeftOut struct {
	// Job is its index in the problem.
	Job int
	Why Why
	// Size of the block it needs, and Need, the steps that the block must be free for.
	Size, Need int
	// Longest is the longest stretch of steps, from Since on, for which this plan leaves a
	// block of that size idle after the job's release; 0 = none. Set for [NoRoom].
	Longest, Since int
}

// Why says why a job has no place.
type Why uint8

// The reasons, the first that holds counts.
const (
	// LateRelease: it may start only after the horizon.
	LateRelease Why = iota
	// TooLong: it would not end within the horizon, and must.
	TooLong
	// NoBlock: no block of its size is open to it, whatever else ran: GPUs are closed,
	// or of types that it may not use.
	NoBlock
	// NoRoom: the plan leaves no block of its size idle for long enough.
	NoRoom
	// InOrder: there is room, but the baseline's order kept it out.
	InOrder
	// NotChosen: there is room, but the planner left it out.
	NotChosen
)

var whyNames = [...]string{"late-release", "too-long", "no-block", "no-room", "in-order", "not-chosen"}

// String returns the reason's name.
func (w Why) String() string { return whyNames[w] }

// Unplaced lists the jobs that a plan gives no place, in the problem's order.
func Unplaced(p *horizon.Plan) []LeftOut {
	q := p.Problem
	placed := make([]bool, len(q.Jobs))
	for i := range p.Placed {
		placed[p.Placed[i].Job] = true
	}
	var list []LeftOut
	var planned, open *rooms
	for i := range q.Jobs {
		if placed[i] {
			continue
		}
		if planned == nil {
			planned = &rooms{q: q, idle: idleCells(p), known: map[roomKey][]int{}}
			bare := &horizon.Plan{Problem: &horizon.Problem{GPUs: q.GPUs, Steps: q.Steps, Closed: q.Closed}}
			open = &rooms{q: q, idle: idleCells(bare), known: map[roomKey][]int{}}
		}
		list = append(list, leftOut(p, i, planned, open))
	}
	return list
}

func leftOut(p *horizon.Plan, i int, planned, open *rooms) LeftOut {
	q, j := p.Problem, &p.Problem.Jobs[i]
	out := LeftOut{Job: i, Need: j.Steps}
	out.Size, _ = q.Reading.Block(j)
	if j.MinSteps > 0 {
		out.Need = min(j.Steps, j.MinSteps)
	}
	switch {
	case j.Release >= q.Steps:
		out.Why = LateRelease
	case q.Reading.Complete && j.Release+j.Steps > q.Steps:
		out.Why = TooLong
	case !open.fits(j, &out):
		out.Why = NoBlock
	case !planned.fits(j, &out):
		out.Why = NoRoom
		for t, n := range planned.of(j) {
			if t >= j.Release && n > out.Longest {
				out.Longest, out.Since = n, t
			}
		}
	case p.Reserved:
		out.Why = InOrder
	default:
		out.Why = NotChosen
	}
	return out
}

// rooms knows how long blocks stay idle.
type rooms struct {
	q     *horizon.Problem
	idle  [][]bool
	known map[roomKey][]int
}

type roomKey struct {
	size, align int
	types       uint64
}

// fits tells whether a job finds a block that is idle for as long as it needs, or to
// the end of the horizon where it may run past it.
func (r *rooms) fits(j *horizon.Job, out *LeftOut) bool {
	for t, n := range r.of(j) {
		need := out.Need
		if !r.q.Reading.Complete {
			need = min(need, r.q.Steps-t)
		}
		if t >= j.Release && n >= need {
			return true
		}
	}
	return false
}

// of returns for each step how many steps from there on a block for the job, the best
// one, stays idle.
func (r *rooms) of(j *horizon.Job) []int {
	size, align := r.q.Reading.Block(j)
	key := roomKey{size, align, j.Types}
	if list, ok := r.known[key]; ok {
		return list
	}
	q := r.q
	list := make([]int, q.Steps)
	length := make([]int, q.GPUs) // for each first slot of a block
	usable := make([]bool, q.GPUs)
	for t := q.Steps - 1; t >= 0; t-- {
		for g := range usable {
			usable[g] = r.idle[t][g] && mayUse(q, j.Types, g)
		}
		for g, run := q.GPUs-1, 0; g >= 0; g-- {
			switch {
			case !usable[g]:
				run = 0
			case j.Types != 0 && g+1 < q.GPUs && typeOf(q, g+1) != typeOf(q, g):
				run = 1
			default:
				run++
			}
			if g%align != 0 || run < size {
				length[g] = 0
				continue
			}
			length[g]++
			list[t] = max(list[t], length[g])
		}
	}
	r.known[key] = list
	return list
}
