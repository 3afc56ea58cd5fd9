package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/spool"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Config says what a daemon ties together. All but Budgets, Spool and Log are required.
type Config struct {
	Store store.Store
	World world.World
	// Spool keeps what the journal must not hold; nil = jobs come with nothing of that kind.
	Spool Spool
	// Policy and Budgets hold if the journal is new; otherwise those of the journal do.
	Policy  *policy.Policy
	Budgets *budget.Tree
	// Assume fills in what jobs do not declare about interruption.
	Assume sim.Assumptions
	// Version of the program, Holder names this process.
	Version, Holder string
	// Now is the clock.
	Now func() time.Time
	// Mono is a clock that nobody sets; nil = the one that times of Now have beside the wall's.
	Mono func() time.Duration
	Log  *slog.Logger
	// Limits bound what users may have.
	Limits Limits
	// Shadow: everything is decided and journalled, and nothing done: World is one of shadows, and
	// another scheduler runs the jobs.
	Shadow bool
	// SegmentBytes is how much is written before a new segment begins; 0 = 256 MiB.
	SegmentBytes int64
	// ForeseeEvery is how often at most forecasts are made anew; 0 = each second, if they are
	// that quick.
	ForeseeEvery time.Duration
	// Observers see what becomes true, once it is on disk.
	Observers []Observer
}

// Spool keeps what jobs must keep secret: command lines, environments.
type Spool interface {
	Put(ctx context.Context, entries []spool.Entry) error
	Delete(ctx context.Context, jobs ...int32) error
	Sweep(ctx context.Context, keep func(job int32) bool) (int, error)
}

// Limits bound what users may have; 0 = no limit.
type Limits struct {
	// UserAlive is how many jobs of a user may wait and run, Alive how many in all.
	UserAlive, Alive int
	// UserGPUs is how many GPUs the jobs of a user may have in the queue and running; what is beyond
	// is held until others of the user have ended.
	UserGPUs int
}

// Observer sees lines of the journal once they are on disk. It is called from the loop:
// it must be quick.
type Observer interface {
	Fact(f *fact.Fact)
	Action(a *fact.Action)
	Instant(g *sim.Gauge)
}

// Daemon is a running scheduler.
type Daemon struct {
	cfg    Config
	log    *slog.Logger
	engine *engine.Engine
	book   *Book
	header *journal.Header
	clock  *clock
	events *Events
	inbox  inbox
	views  viewer
	ahead  forecaster

	epoch   int64
	head    store.Head
	segment int64
	// written is the size of the present segment, of which headBytes are its header and snapshot.
	written, headBytes int64
	// renewed is the number of the next job when the engine was last restored.
	renewed int32
	// segmentAt is when the next begins at the latest.
	segmentAt workload.Time
	wake      workload.Time
	tx        tx
	follow    follower
	hours     *hours
	tidier    tidier
	// since is when the journal begins, as far as it is kept.
	since atomic.Int64
	// roomy are needs that are known to fit the empty cluster.
	roomy map[roomy]bool

	// ready: the journal can be written and the world was begun. trouble is what keeps it from that.
	ready   atomic.Bool
	trouble atomic.Pointer[string]
	// writing is since when a batch is being written, nil = none is.
	writing atomic.Pointer[time.Time]
	// headNow is where the journal ends on disk.
	headNow atomic.Pointer[store.Head]
	stats   Stats
	mu      sync.Mutex
	// policyBy is who set the policy in force.
	policyBy string
	done     chan struct{}
}

// Stats count what the loop did.
type Stats struct {
	Batches, Facts, Actions, Decisions, Refused atomic.Int64
	// DecideNanos, AppendNanos and LoopNanos add up the time spent.
	DecideNanos, AppendNanos, LoopNanos atomic.Int64
	Retries                             atomic.Int64
}

// ErrClosed says that the daemon is going down.
var ErrClosed = errors.New("the scheduler is going down")

// ErrUnavailable says that the journal cannot be written for now.
var ErrUnavailable = errors.New("the journal cannot be written for now")

// Late says that a change was decided, and cannot be written for now. It will be as soon as it can.
type Late struct{ Err error }

func (e *Late) Error() string {
	return ErrUnavailable.Error() + "; what was asked for will be done once it can be, and who sends it again with the same idempotency key learns what became of it: " + e.Err.Error()
}

// Unwrap tells that it is a case of [ErrUnavailable].
func (e *Late) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// Open folds the journal and begins the world. Run has to follow.
func Open(ctx context.Context, cfg Config) (*Daemon, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.SegmentBytes == 0 {
		cfg.SegmentBytes = 256 << 20
	}
	d := &Daemon{cfg: cfg, log: cfg.Log, done: make(chan struct{})}
	d.inbox.init()
	d.tx.d = d
	d.tidier.bell = make(chan struct{}, 1)
	var err error
	if d.epoch, err = cfg.Store.Claim(ctx, cfg.Holder); err != nil {
		return nil, fmt.Errorf("claiming the journal: %w", err)
	}
	d.events = NewEvents(d.epoch)
	if err := d.fold(ctx); err != nil {
		return nil, err
	}
	if cfg.Spool != nil && d.head.Seq > 1 { // a new journal beside an old spool is more likely a mistake than a wish
		d.sweep(ctx)
	}
	if err := d.lookSince(ctx); err != nil {
		return nil, err
	}
	d.follow.init(d)
	if err := d.learn(ctx); err != nil {
		return nil, fmt.Errorf("recalling how long jobs ran: %w", err)
	}
	return d, nil
}

// lookSince finds out when the journal begins.
func (d *Daemon) lookSince(ctx context.Context) error {
	list, err := d.cfg.Store.Segments(ctx)
	if err == nil && len(list) > 0 {
		d.since.Store(list[0].From)
	}
	return err
}

// Since is when the journal begins, as far as it is kept.
func (d *Daemon) Since() workload.Time { return d.since.Load() }

// Book is what is known of jobs and nodes.
func (d *Daemon) Book() *Book { return d.book }

// Events tell of changes.
func (d *Daemon) Events() *Events { return d.events }

// Stats are the loop's counters.
func (d *Daemon) Stats() *Stats { return &d.stats }

// Ready tells whether changes can be made now, and what keeps them from it.
func (d *Daemon) Ready() (ok bool, trouble string) {
	if t := d.trouble.Load(); t != nil {
		return false, *t
	}
	if since := d.writing.Load(); since != nil {
		if took := d.cfg.Now().Sub(*since); took > slow {
			return false, fmt.Sprintf("a write to the journal has been under way for %s", took.Round(time.Second))
		}
	}
	select {
	case <-d.done:
		return false, ErrClosed.Error()
	default:
	}
	return d.ready.Load(), "the scheduler is starting"
}

// Now is the wall clock.
func (d *Daemon) Now() time.Time { return d.cfg.Now() }

// Done is closed once the loop has ended.
func (d *Daemon) Done() <-chan struct{} { return d.done }

// Header says on what the journal's present segment stands.
func (d *Daemon) Header() *journal.Header {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.header
}

// Shadow tells whether nothing is done.
func (d *Daemon) Shadow() bool { return d.cfg.Shadow }

// Wall is a time of the journal on the wall; zero for one that does not come.
func (d *Daemon) Wall(t workload.Time) time.Time { return d.clock.wall(t) }

// Time is a wall time on the journal's clock.
func (d *Daemon) Time(t time.Time) workload.Time { return d.clock.of(t) }
