package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// sharing is the state of a policy with budgets, fair share and contracts.
type sharing struct {
	// lane is the one that is looked at; lanes are all, laneOf says which one a pool is in.
	*lane
	lanes  []lane
	laneOf []int32
	// straddlers are classes with waiting jobs that may run in several lanes.
	straddlers []int32
	pol        *policy.Sharing
	epoch      workload.Time
	// accounts are the hard budgets, nil where none limits anybody.
	accounts *budget.Accounts
	// outside is the leaf, behind all others, of work that no account takes.
	outside int32
	owners  map[owner]int32
	jobs    []contracted
	known   map[knownKey]*knownShape
	parted  map[partKey]*place.Shape
	// loose is what would be free if all unallocated work went, soft if all went that
	// is not protected; by pool.
	loose, soft looked
	// onNode are the jobs on each node.
	onNode [][]int32
	// debug nodes take only debug and unallocated work.
	debug  []bool
	nDebug int
	// beside is a pool without debug nodes, all empty.
	beside []*cluster.Free
	ends   protections
	dates  []date
	// pending is what happened since the last decision, present what the one being
	// taken looks at.
	pending, present scope
	grid             workload.Time
	// moneyAt is when a hard budget begins anew or has a credit.
	moneyAt workload.Time
	// nextEvict is when allocated work may be stopped again, events counts submissions
	// and ends of jobs.
	nextEvict workload.Time
	events    int64
	// parts counts runs on a part of a GPU.
	parts int
	// limits counts runs with a hard limit.
	limits int
	// limited: nextEvict lies ahead.
	limited bool
	// waitingWork counts waiting jobs that would be charged.
	waitingWork int
	// dateChanges counts how often dates were made or given up; rejected: a set of victims
	// was found, and was too large for who asked or not fair.
	dateChanges uint64
	rejected    bool

	// scratch
	stamp uint64
	mayAt uint64
	bars  []cluster.Grant
	veil  []cluster.Grant
	barOn []uint64
	// walks counts walks, alive the shapes in the present one that something may come of.
	walks uint64
	alive int
	// brute turns every shortcut off, for a test that they change nothing.
	brute   bool
	options []option
	fillers []int32
}

// scope is what a decision has to look at.
type scope struct {
	// all: every class; else only fresh ones, which had no waiting jobs before.
	all bool
	// swaps: also whether shares let some stop the allocated work of others.
	swaps bool
	// some: there were fresh ones, which need not wait any more.
	some  bool
	fresh []int32
}

type owner struct{ team, user string }

// leaf is an account that jobs are charged to.
type leaf struct {
	// work are the classes with waiting jobs to be charged, by shape, nWork their number;
	// fill those of unallocated work.
	work  []group
	nWork int32
	fill  []int32
	// open is the milli-GPU of its allocated runs that are past their protection.
	open int64
	// opens are those runs. have is what the guard would let it have, at the stamp.
	opens  []int32
	have   int64
	haveAt uint64
	// could is what a date of it might rest on, allocated work, at the stamp.
	could   int64
	couldAt uint64
}

// group is the classes of a leaf that ask for the same shape.
type group struct {
	known   *knownShape
	classes []int32
	// failed is the stamp of a search for allocated work to stop that found nothing, for
	// a protection of failedMore and kept off by failedBars: who is protected as long, and
	// is kept off by as many, finds nothing either.
	failed, failedBars uint64
	failedMore         workload.Span
}

// contracted is what sharing knows of a job.
type contracted struct {
	leaf int32
	// stops counts how often it was evicted, mark the events then.
	stops int32
	mark  int64
	// rate at which a run is charged, in milli-GPU, weights included.
	rate int64
	// began is when the present start was decided, until the end of its protection,
	// deadline when a stopping run must be gone.
	began, until, deadline workload.Time
	// paidAt is when a hard budget committed the protection.
	paidAt workload.Time
	// unallocated: the present run. charged: the ledger counts it now. open: past its
	// protection. draws: from hard budgets, by the time.
	unallocated, charged, open, draws bool
	// inOpens is its place in the leaf's list of open runs.
	inOpens int32
	// inLoose and inSoft: its GPUs are taken there.
	inLoose, inSoft bool
	// idles: a session without activity.
	idles bool
}

// usage of a node of the tree at the grid time, good while stamp is the present one.
type usage struct {
	stamp uint64
	// begun is the rate of what started in the decision of stamp begunAt.
	begun    int64
	begunAt  uint64
	charged  int64
	standing budget.Standing
	stood    uint64
}

type verdictOf struct {
	stamp uint64
	ok    bool
}

func newSharing(e *Engine, p *policy.Sharing) *sharing {
	s := &sharing{pol: p, owners: map[owner]int32{}, known: map[knownKey]*knownShape{}, parted: map[partKey]*place.Shape{}, ends: protections{}, stamp: 1, nextEvict: -1 << 62, grid: -1 << 61, moneyAt: -1 << 61}
	for i := range e.layout.Pools {
		for _, l := range []*looked{&s.loose, &s.soft} {
			f := cluster.NewFree(e.layout, int32(i))
			l.all, l.work = append(l.all, f), append(l.work, f)
		}
	}
	n := len(e.layout.Spec.Nodes)
	s.onNode, s.debug, s.barOn = make([][]int32, n), make([]bool, n), make([]uint64, n)
	for i := range e.layout.Pools {
		nodes := e.layout.Pools[i].Nodes
		// The last ones: best fit fills from the front.
		for k := 0; k < int((int64(len(nodes))*p.Debug.Nodes+500)/1000); k++ {
			s.debug[nodes[len(nodes)-1-k]] = true
			s.nDebug++
		}
		for _, l := range []*looked{&s.loose, &s.soft} {
			if len(nodes) == 0 || !s.debug[nodes[len(nodes)-1]] {
				continue
			}
			l.work[i] = cluster.NewFree(e.layout, int32(i))
			for _, n := range nodes {
				l.work[i].SetShut(n, s.debug[n])
			}
		}
	}
	// Until budgets are told nobody has an account.
	s.setTree(e, budget.Equal("none", nil), workload.Unknown, -1<<61)
	return s
}

// leafOf finds the account of a job, outside where there is none.
func (s *sharing) leafOf(j *workload.Job) int32 {
	k := owner{j.Team, j.User}
	l, ok := s.owners[k]
	if !ok {
		if l, ok = s.tree.Leaf(j.Team, j.User); !ok {
			l = s.outside
		}
		s.owners[k] = l
	}
	return l
}

// submitted takes in a new job.
func (s *sharing) submitted(n int32, j *workload.Job) {
	for len(s.jobs) <= int(n) {
		s.jobs = append(s.jobs, contracted{})
	}
	s.jobs[n] = contracted{leaf: s.leafOf(j), mark: -1, until: unset}
	s.events++
}

// span is the protection that the next start of a job would have; 0 = it runs
// unallocated. What was stopped is protected longer each time (SEMANTICS 30).
func (s *sharing) span(n int32, j *workload.Job) workload.Span {
	c := &s.jobs[n]
	if c.leaf == s.outside {
		return 0
	}
	d := s.spanOf(j)
	if s.pol.BackOff && d > 0 {
		for k := int32(0); k < c.stops && d < s.pol.MinRuntimeCap; k++ {
			d = min(2*d, s.pol.MinRuntimeCap)
		}
	}
	return d
}

// spanOf is the protection that a job's contract asks for, within the cap.
func (s *sharing) spanOf(j *workload.Job) workload.Span {
	d := s.pol.MinRuntimeDefault
	if j.Contract.HasMinRuntime {
		d = j.Contract.MinRuntime
	}
	return min(d, s.pol.MinRuntimeCap)
}

// rateOf is what a run of so many milli-GPU in a pool is charged, in milli-GPU.
func (e *Engine) rateOf(n int32, milli int64, pool, tasks int32) int64 {
	p := e.sharing.pol
	r := milli
	for i := range p.GPUWeights {
		if w := &p.GPUWeights[i]; w.GPUType == e.layout.Pools[pool].GPUType {
			r = milli * w.Weight / 1000
		}
	}
	if p.CPUWeight > 0 {
		need := &e.jobs[n].spec.Need
		if tasks == 0 {
			tasks = max(need.Tasks, 1)
		}
		r += need.CPU * int64(tasks) * p.CPUWeight / 1000
	}
	return r
}
