package slurmworld

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
)

// Options of a world. Slurm and Now are required.
type Options struct {
	Slurm *slurm.Client
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
	// Partitions that are given to escala; jobs of others are left to Slurm. Empty = all.
	Partitions []string
	// Poll is how often the queue is read, 0 = 2 s.
	Poll time.Duration
	// Lease is how long waiting jobs stay kept back once nobody renews that, 0 = 12 min: with the few
	// minutes that the lease itself may take they are Slurm's own within 20.
	Lease time.Duration
	// Overtime is how long after its time the lease is cancelled, if nothing was free to run it; 0 = 3 min.
	Overtime time.Duration
	// LeaseArgs are more arguments of sbatch for the lease: an account, a partition.
	LeaseArgs []string
	// LeaseName is the lease's job name, "" = escala-lease: one for each escala on a cluster.
	LeaseName string
	// Patience is how long a job that Slurm may start can take to start, 0 = 60 s.
	Patience time.Duration
	// Contracts are what the site says of jobs that do not say it themselves; nil = nothing.
	Contracts *slurm.Contracts
	// Accounting is there, and knows the command lines of jobs. Sealed: their scripts cannot be read, which needs operator.
	Accounting, Sealed bool
	// Signal asks a run to stop that names none, "" = TERM.
	Signal string
	// ResumeExit is the exit code by which a run asks to be resumed, 0 = none does.
	ResumeExit int32
	// Administers: nodes may be closed, and notes left in jobs. Both need the right of an administrator.
	Administers bool
	// Heartbeat is a file that gets the time of each look after which orders were carried out, "" = none does.
	Heartbeat string
	// Calls is how many calls are made a second at most, whatever they are for; 0 = 30.
	Calls int
	// Reader reads nodes and queue at each look; nil = Slurm.
	Reader slurm.Reader
}

// World is a Slurm cluster of whose queue escala decides.
type World struct {
	opts Options
	log  *slog.Logger
	spec *cluster.Spec
	// nodeOf finds nodes by name; inPartition has the nodes of each partition.
	nodeOf      map[string]int32
	inPartition map[string]map[string]bool
	// features of each node, throttle of each array whose tasks may not run all at once.
	features map[string][]string
	throttle map[int64]int32
	// Skipped are nodes that are none of the cluster's, with why.
	Skipped map[string]string

	left atomic.Pointer[world.Left]

	mu       sync.Mutex
	orders   []world.Order
	settled  []world.Run
	closings []world.Drained
	bell     chan struct{}
	quit     context.CancelFunc
	done     sync.WaitGroup

	// asked are nodes that people closed or opened, and Slurm does not know of it yet.
	asked map[int32]world.Drained
	// remarks are what was logged last of nodes that are not what they were.
	remarks map[string]string
	// drained are the reasons of nodes that are drained in Slurm; notes are texts for jobs.
	drained map[int32]string
	notes   []note

	// taken are orders that are not obeyed yet.
	taken []world.Order

	// All that follows is of the one goroutine that looks and acts, or of Begin before it starts.
	report  func(...world.Report)
	out     []world.Report
	entries map[string]*entry
	runs    map[world.Run]*run
	lease   lease
	rate    rate
	down    []bool
	closed  []bool
	silent  []bool
	// away is since when Slurm does not answer; blind: that was told.
	away  time.Time
	blind bool
	soon  bool
	// beaten is when the heartbeat was written last; faint: it could not be.
	beaten time.Time
	faint  bool
	// texts are the comments of jobs that are new in this look, by number.
	texts map[int64]slurm.Texts
	// signals are those that their scripts ask for, by line of the queue.
	signals map[string]slurm.Signal
	// linesFrom is from when accounting may be asked for command lines again.
	linesFrom time.Time
	// ends are those of jobs that left the queue before this look.
	ends map[string]slurm.End
	// watch: nothing is changed, see [Shadow].
	watch bool
}

var (
	_ world.Source  = (*World)(nil)
	_ world.Drainer = (*World)(nil)
)

// New reads what nodes there are.
func New(ctx context.Context, o Options) (*World, error) {
	o.Poll, o.Lease, o.Patience = cmp.Or(o.Poll, 2*time.Second), cmp.Or(o.Lease, 12*time.Minute), cmp.Or(o.Patience, time.Minute)
	o.Overtime = cmp.Or(o.Overtime, 3*time.Minute)
	o.Signal, o.Calls, o.LeaseName = cmp.Or(o.Signal, "TERM"), cmp.Or(o.Calls, 30), cmp.Or(o.LeaseName, "escala-lease")
	if o.Reader == nil {
		o.Reader = o.Slurm
	}
	w := &World{opts: o, log: o.Log, bell: make(chan struct{}, 1), entries: map[string]*entry{}, runs: map[world.Run]*run{}, nodeOf: map[string]int32{}, remarks: map[string]string{}, asked: map[int32]world.Drained{}, drained: map[int32]string{}, inPartition: map[string]map[string]bool{}, features: map[string][]string{}, throttle: map[int64]int32{}, Skipped: map[string]string{}}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	nodes, err := o.Reader.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading Slurm's nodes: %w", err)
	}
	slices.SortFunc(nodes, func(a, b slurm.Node) int { return cmp.Compare(a.Name, b.Name) })
	w.spec = &cluster.Spec{Name: "slurm"}
	for i := range nodes {
		n := &nodes[i]
		if why := w.leaves(n); why != "" {
			w.Skipped[n.Name] = why
			continue
		}
		w.nodeOf[n.Name], w.features[n.Name] = int32(len(w.spec.Nodes)), n.Features
		for _, p := range n.Partitions {
			if w.inPartition[p] == nil {
				w.inPartition[p] = map[string]bool{}
			}
			w.inPartition[p][n.Name] = true
		}
		w.spec.Nodes = append(w.spec.Nodes, cluster.Node{Name: n.Name, GPUType: n.GPUs.TypeNames(), GPUs: int32(n.GPUs.Count), CPU: int64(n.CPUs) * 1000})
	}
	if len(w.spec.Nodes) == 0 {
		return nil, errors.New("Slurm has no node with GPUs that could be scheduled") //nolint:staticcheck // a name
	}
	w.down, w.closed, w.silent = make([]bool, len(w.spec.Nodes)), make([]bool, len(w.spec.Nodes)), make([]bool, len(w.spec.Nodes))
	return w, w.spec.Check()
}

// Cluster implements [world.World].
func (w *World) Cluster() *cluster.Spec { return w.spec }

// Known implements [world.Source].
func (w *World) Known(jobs []world.Known) {
	for i := range jobs {
		k := &jobs[i]
		e := w.entry(k.ID)
		e.told, e.held, e.spec = true, k.Held, k.Spec
	}
}

// Begin implements [world.World].
func (w *World) Begin(ctx context.Context, believed []world.Belief, report func(...world.Report)) error {
	w.report = report
	w.rate = newRate(w.opts.Calls, w.opts.Now())
	for i := range believed {
		w.believe(&believed[i])
	}
	if err := w.look(ctx); err != nil {
		return fmt.Errorf("reading Slurm's queue: %w", err)
	}
	w.flush()
	ctx, w.quit = context.WithCancel(context.Background())
	w.done.Go(func() { w.loop(ctx) })
	return nil
}

// believe takes a run for what it is believed to be, until Slurm tells.
func (w *World) believe(b *world.Belief) {
	e := w.entry(b.ID)
	e.told, e.spec = true, b.Spec
	r := &run{Run: b.Run, order: b.Order, state: released, believed: true, since: b.Since}
	if b.Up {
		r.state = up
	}
	r.leaving = b.Stopping
	e.run, w.runs[b.Run] = r, r
}

// Do implements [world.World].
func (w *World) Do(orders ...world.Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.orders = append(w.orders, orders...)
	w.ring()
}

// Settled implements [world.World].
func (w *World) Settled(runs ...world.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled = append(w.settled, runs...)
}

func (w *World) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// Close implements [world.World]. What was kept back stays so as long as the lease lasts.
func (w *World) Close() error {
	if w.quit != nil {
		w.quit()
		w.done.Wait()
	}
	return nil
}

// soonAfter is when to look again at what was just changed.
const soonAfter = 250 * time.Millisecond

// loop looks and acts until the world is closed.
func (w *World) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.bell:
		case <-timer.C:
		}
		w.step(ctx)
		wish := w.opts.Poll
		if w.soon {
			wish = min(wish, soonAfter)
		}
		timer.Reset(w.rate.looks(wish))
	}
}

// step is one look with all that follows.
func (w *World) step(ctx context.Context) {
	w.soon = false
	w.take() // before the look: what an order is about was there when it was given
	err := w.look(ctx)
	if ctx.Err() != nil {
		w.out = nil
		return
	}
	w.sight(err)
	if err == nil && !w.watch {
		w.obey(ctx)
		w.drain(ctx)
		w.act(ctx)
		w.easeOff(ctx)
		w.beat()
	}
	w.flush()
}

// flush reports what was gathered.
func (w *World) flush() {
	if len(w.out) > 0 {
		out := w.out
		w.out = nil
		w.report(out...)
	}
}

func (w *World) tell(r world.Report) { w.out = append(w.out, r) }

// sightAfter is how long Slurm may be silent before its runs are said to be out of sight.
const sightAfter = 30 * time.Second

// sight tells when Slurm does not answer, and when it does again. Nothing is freed meanwhile.
func (w *World) sight(err error) {
	now := w.opts.Now()
	switch {
	case err == nil && w.blind:
		w.log.Info("Slurm answers again")
		w.everyRun(fact.Found, "Slurm answers again")
		w.blind, w.away = false, time.Time{}
	case err == nil:
		w.away = time.Time{}
	case w.away.IsZero():
		w.away = now
		w.log.Warn("Slurm does not answer", "err", err)
	case !w.blind && now.Sub(w.away) > sightAfter:
		w.blind = true
		w.everyRun(fact.LostSight, "Slurm does not answer")
	}
}

func (w *World) everyRun(kind fact.Kind, text string) {
	for _, e := range w.sorted() {
		if e.run != nil && e.run.state == up && e.run.end == nil {
			w.tell(world.Report{Kind: kind, Run: e.run.Run, Node: -1, Text: text})
		}
	}
}
