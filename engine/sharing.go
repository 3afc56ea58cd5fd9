package engine

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// sharing is the state of a policy with budgets, fair share and contracts.
type sharing struct {
	pol   *policy.Sharing
	tree  *budget.Tree
	epoch workload.Time
	// ledger is what accounts are charged, fill the unallocated time they got
	// (SEMANTICS 22), accounts the hard budgets, nil where none limits anybody.
	ledger, fill *budget.Ledger
	accounts     *budget.Accounts
	// leaves by node of the tree; the last one, outside, is work that no account takes.
	leaves  []leaf
	outside int32
	// held is the allocated milli-GPU that run or are held, by node of the tree.
	held   []int64
	owners map[owner]int32
	jobs   []contracted
	known  map[knownKey]*knownShape
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
	walk  walk
	usage []usage
	stamp uint64
	may   []verdictOf
	ranks ranks
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

// looked is what would be free of a pool if some work went: all says it of all nodes,
// work of those that are not kept for debug jobs.
type looked struct{ all, work []*cluster.Free }

// of returns the index that a class looks at.
func (l *looked) of(pool int32, debug bool) *cluster.Free {
	if debug {
		return l.all[pool]
	}
	return l.work[pool]
}

func (l *looked) take(e *Engine, pool int32, g []cluster.Grant, milli int64) {
	e.takeFrom(l.all[pool], g, milli)
	if l.work[pool] != l.all[pool] {
		e.takeFrom(l.work[pool], g, milli)
	}
}

func (l *looked) give(e *Engine, pool int32, g []cluster.Grant, milli int64) {
	e.giveTo(l.all[pool], g, milli)
	if l.work[pool] != l.all[pool] {
		e.giveTo(l.work[pool], g, milli)
	}
}

func (l *looked) shut(s *sharing, pool, node int32, shut bool) {
	l.all[pool].SetShut(node, shut)
	l.work[pool].SetShut(node, shut || s.debug[node])
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
	// begun is the rate of what started in the decision of that stamp.
	begunAt  uint64
	begun    int64
	charged  int64
	standing budget.Standing
	stood    uint64
}

type verdictOf struct {
	stamp uint64
	ok    bool
}

// knownShape is what was found of a shape, for debug classes and others apart:
// whoever asks for the same with no fewer bars is refused without a search. Bars are a
// set of dates that keep off, by their place in the list.
type knownShape struct {
	shape *place.Shape
	debug bool
	// seen is the stamp of the rest: whether counting allows it on what is free, if
	// unallocated work went, and if all went that is not protected.
	seen                uint64
	free, room, swapped bool
	// noFree: nothing that is free holds it, in the pass of this stamp.
	noFree     uint64
	noFreeBars uint64
	// noRoom: nor would it if unallocated work went, at this version.
	noRoom     uint64
	noRoomBars uint64
	// inWalk and dead: it is in the walk of this number, and nothing can come of it any more.
	inWalk, dead uint64
}

type knownKey struct {
	shape *place.Shape
	debug bool
}

func newSharing(e *Engine, p *policy.Sharing) *sharing {
	s := &sharing{pol: p, owners: map[owner]int32{}, known: map[knownKey]*knownShape{}, ends: protections{}, stamp: 1, nextEvict: -1 << 62, grid: -1 << 61, moneyAt: -1 << 61}
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

// setTree begins with the shares of a tree.
func (s *sharing) setTree(e *Engine, t *budget.Tree, epoch, at workload.Time) {
	s.tree, s.epoch = t, epoch
	s.ledger, s.fill = budget.NewLedger(t, s.pol.Window), budget.NewLedger(t, s.pol.Window)
	s.ledger.SetCreditCap(at, s.pol.CreditCap)
	s.layOut()
}

// layOut makes room for the nodes of the tree.
func (s *sharing) layOut() {
	n := len(s.tree.Nodes)
	s.outside = int32(n)
	s.leaves, s.held = make([]leaf, n+1), make([]int64, n+1)
	s.usage, s.may = make([]usage, n+1), make([]verdictOf, n+1)
	s.ranks.init(n)
	s.walk.init(s.tree)
	clear(s.owners)
}

// usable is the capacity that shares are shares of, in milli-GPU: what is up and
// takes work, or still carries it (SEMANTICS 33).
func (e *Engine) usable() int64 { return e.Gauge().Available }

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

// know returns what is remembered of a class's shape.
func (s *sharing) know(e *Engine, c *class) *knownShape {
	// Who fits nowhere else may use the debug nodes as well.
	key := knownKey{c.shape, s.isDebug(c) || !s.fitsBeside(e, c)}
	k := s.known[key]
	if k == nil {
		k = &knownShape{shape: smallest(c.shape), debug: key.debug}
		s.known[key] = k
	}
	return k
}

// fitsBeside tells whether the nodes that are not kept for debug jobs, all empty,
// could hold a class.
func (s *sharing) fitsBeside(e *Engine, c *class) bool {
	if s.nDebug == 0 {
		return true
	}
	shape := smallest(c.shape)
	for k, p := range shape.Pools {
		if s.beside == nil {
			s.beside = make([]*cluster.Free, len(e.layout.Pools))
		}
		if s.beside[p] == nil {
			s.beside[p] = cluster.NewFree(e.layout, p)
			for _, n := range e.layout.Pools[p].Nodes {
				s.beside[p].SetShut(n, s.debug[n])
			}
		}
		if e.placer.FitsIn(s.beside[p], shape, k) {
			return true
		}
	}
	return false
}

// largest is the largest gang of an elastic shape.
func largest(s *place.Shape) *place.Shape {
	if sizes := s.Rigid(); sizes != nil {
		return sizes[0]
	}
	return s
}

// isDebug tells whether a class is short and small.
func (s *sharing) isDebug(c *class) bool {
	d := &s.pol.Debug
	return !c.fill && c.span <= d.MinRuntime && largest(c.shape).Milli <= d.GPUs*1000
}

// grace is how long the run of a job may take to stop.
func (e *Engine) graceOf(n int32, unallocated bool) workload.Span {
	s := e.sharing
	c := e.contract(&e.jobs[n])
	most := s.pol.GraceAllocated
	if unallocated {
		most = s.pol.GraceUnallocated
	}
	switch {
	case c.Grace > 0:
		return min(c.Grace, most)
	case c.CheckpointOnStop:
		return most
	}
	return 0
}

// rebudget changes the tree while the engine runs: every waiting job is filed anew.
// An error (a credit with a date where there is no calendar) leaves all as it was.
func (e *Engine) rebudget(f *fact.Fact) error {
	s := e.sharing
	at := f.At
	accounts, err := s.openAccounts(f.Budgets, f.Epoch, at)
	if err != nil {
		return err
	}
	if len(s.jobs) == 0 {
		s.setTree(e, f.Budgets, f.Epoch, at)
		s.ledger.SetUsable(at, e.usable())
		s.accounts = accounts
		return nil
	}
	var waits []int32
	for n := range e.jobs {
		if j := &e.jobs[n]; j.state == waiting {
			waits = append(waits, int32(n))
			e.dequeue(int32(n))
		}
	}
	old, outside := s.leaves, s.outside
	ledger, moved := s.ledger.Rebase(f.Budgets, at)
	fill, _ := s.fill.Rebase(f.Budgets, at)
	first := s.accounts == nil && accounts != nil
	s.tree, s.epoch, s.ledger, s.fill, s.accounts = f.Budgets, f.Epoch, ledger, fill, accounts
	s.ledger.SetUsable(at, e.usable())
	s.layOut()
	for i, to := range moved {
		if to >= 0 {
			s.leaves[to].open += old[i].open
			for _, n := range old[i].opens {
				s.jobs[n].inOpens = int32(len(s.leaves[to].opens))
				s.leaves[to].opens = append(s.leaves[to].opens, n)
			}
		}
	}
	for n := range s.jobs {
		j, c := &e.jobs[n], &s.jobs[n]
		if j.spec == nil {
			continue
		}
		was := c.leaf
		c.leaf = s.leafOf(j.spec)
		switch j.state {
		case starting, running, claiming:
			// A run stays where its charges went.
			if was == outside {
				c.leaf = s.outside
			} else if c.leaf = moved[was]; c.leaf < 0 {
				c.leaf = s.outside
				s.orphan(e, int32(n))
			}
			if !c.unallocated {
				s.hold(c.leaf, e.heldBy(int32(n)))
			}
		}
	}
	if first { // what is past its protection draws from now on
		for n := range s.jobs {
			if c := &s.jobs[n]; c.open && !c.unallocated {
				s.accounts.Draw(c.leaf, at, c.rate)
				c.draws = true
			}
		}
	}
	clear(e.classOf)
	for _, n := range waits {
		since := e.jobs[n].since
		e.enqueue(n)
		e.jobs[n].since = since
	}
	for i := range s.dates {
		x := &s.dates[i]
		x.lost = x.lost || e.jobs[x.job].state != waiting || e.classes[e.jobs[x.job].class].fill
	}
	s.pending.all, s.pending.swaps = true, true
	e.dirty = true
	return nil
}

// orphan makes the run, or the claim, of a job unallocated whose account is gone.
func (s *sharing) orphan(e *Engine, n int32) {
	c := &s.jobs[n]
	c.charged, c.draws, c.open, c.until = false, false, false, unset
	if e.jobs[n].state == claiming {
		for i := range e.claims {
			e.claims[i].lost = e.claims[i].lost || e.claims[i].job == n
		}
		return
	}
	if c.unallocated {
		return
	}
	s.letGo(e, n)
	c.unallocated = true
}

// openAccounts opens the hard budgets of a tree, or takes over what the present ones
// have left; nil where it limits nobody.
func (s *sharing) openAccounts(t *budget.Tree, epoch, at workload.Time) (*budget.Accounts, error) {
	if s.accounts != nil {
		return s.accounts.Rebase(t, at)
	}
	for i := range t.Nodes {
		if t.Nodes[i].Budget != nil {
			return budget.NewAccounts(t, epoch, at)
		}
	}
	return nil, nil
}

// hold adds to what a leaf and all above it hold.
func (s *sharing) hold(leaf int32, milli int64) {
	for n := leaf; n >= 0 && n < s.outside; n = s.tree.Nodes[n].Parent {
		s.held[n] += milli
	}
}

// heldBy is the milli-GPU that a job runs on or has claimed.
func (e *Engine) heldBy(n int32) int64 {
	if e.jobs[n].state == claiming {
		for i := range e.claims {
			if e.claims[i].job == n {
				return e.claims[i].milli
			}
		}
	}
	return e.jobs[n].milli
}

// budgetsChanged takes in a new tree. Policies that know no budgets do not mind.
func (e *Engine) budgetsChanged(f *fact.Fact) error {
	if f.Budgets == nil {
		return ErrUnknown
	}
	if e.sharing != nil {
		return e.rebudget(f)
	}
	return nil
}
