package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// World runs jobs as processes of this machine. It implements [world.World], [world.Logger] and
// [world.Meter].
type World struct {
	*machine
	lock    *os.File // of the state directory: one world at a time
	cgroups *cgroupParent
	root    bool
	boot    string
	// token tells the runs of this state directory from those of others.
	token  string
	report func(...world.Report)
	watch  *watcher
	starts chan struct{}

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	begun  bool
	runs   map[world.Run]*run
	supers map[*supervision]bool
}

var (
	_ world.World  = (*World)(nil)
	_ world.Logger = (*World)(nil)
	_ world.Meter  = (*World)(nil)
)

// Open looks at the machine and takes the state directory. An error says what is missing; one
// that wraps [ErrInUse] that another world has the directory.
func Open(ctx context.Context, o Options) (*World, error) {
	m, err := look(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("this machine: %w", err)
	}
	w := &World{machine: m, root: os.Geteuid() == 0, boot: bootID(), runs: map[world.Run]*run{}, supers: map[*supervision]bool{}, starts: make(chan struct{}, m.opts.Starts)}
	// Users pass through to what is theirs, and see nothing else.
	for dir, mode := range map[string]fs.FileMode{"": 0o711, "runs": 0o711, "logs": 0o711, "checkpoints": 0o711} {
		if err := makeDir(m.path(dir), mode); err != nil {
			return nil, fmt.Errorf("state directory: %w", err)
		}
	}
	if w.lock, err = lockState(m.path("lock")); err != nil {
		return nil, err
	}
	if w.token, err = stateToken(m.path("token")); err != nil {
		closeQuietly(w.lock)
		return nil, fmt.Errorf("state directory: %w", err)
	}
	var said string
	w.cgroups, said = findCgroups(m.opts.Cgroups, m.opts.CgroupParent)
	if w.cgroups == nil && m.opts.Cgroups == CgroupsRequired {
		closeQuietly(w.lock)
		return nil, errors.New(said)
	}
	w.said = append(w.said, said, "device files are not closed off: a job is told its GPUs by CUDA_VISIBLE_DEVICES")
	if w.root {
		w.said = append(w.said, "jobs run as their submitters")
	} else {
		w.said = append(w.said, fmt.Sprintf("all jobs run as uid %d, as this is not root", os.Geteuid()))
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.watch = newWatcher(w)
	return w, nil
}

// ErrInUse says that another world has the state directory.
var ErrInUse = errors.New("the state directory is in use by another process")

func makeDir(dir string, mode fs.FileMode) error {
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	return os.Chmod(dir, mode) // whatever the umask is
}

func lockState(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for range 50 {
		// A daemon that was killed while it forked has it until its child is another program.
		if !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		closeQuietly(f)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", name, ErrInUse)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// stateToken is a word by which the processes of this state directory are known; it is made once.
func stateToken(name string) (string, error) {
	data, err := os.ReadFile(name)
	if err == nil && len(data) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	t := rand.Text()
	return t, os.WriteFile(name, []byte(t+"\n"), 0o600)
}

// Cluster is this machine.
func (w *World) Cluster() *cluster.Spec { return w.spec }

// Describe says in sentences what was found on this machine and what is done with it.
func (w *World) Describe() string { return strings.Join(w.said, "; ") }

// Begin adopts what runs, and reports what became of what is believed.
func (w *World) Begin(_ context.Context, believed []world.Belief, report func(...world.Report)) error {
	w.mu.Lock()
	if w.begun || w.closed {
		w.mu.Unlock()
		return errors.New("this world has begun before, or is closed")
	}
	w.begun, w.report = true, report
	w.mu.Unlock()
	w.watch.start()
	reapAll()
	found, err := w.readRuns()
	if err != nil {
		return err
	}
	for i := range believed {
		b := &believed[i]
		r := found[b.Run]
		if r == nil {
			r = &run{w: w, Run: b.Run, dir: w.path("runs", runName(b.Run))}
		}
		delete(found, b.Run)
		r.adopt(b)
	}
	for _, r := range found {
		r.disown()
	}
	return nil
}

// readRuns finds the runs that the state directory knows.
func (w *World) readRuns() (map[world.Run]*run, error) {
	list, err := os.ReadDir(w.path("runs"))
	if err != nil {
		return nil, err
	}
	found := map[world.Run]*run{}
	for _, e := range list {
		if id, ok := parseRunName(e.Name()); ok && e.IsDir() {
			found[id] = &run{w: w, Run: id, dir: w.path("runs", e.Name()), exists: true}
		}
	}
	return found, nil
}

// Do carries out orders, those of one run one after the other.
func (w *World) Do(orders ...world.Order) {
	for i := range orders {
		switch o := &orders[i]; o.Do {
		case fact.Start, fact.Stop:
			c := *o
			w.mail(o.Run, message{order: &c})
		}
	}
}

// Settled forgets runs that have ended. Their logs stay until [World.Prune].
func (w *World) Settled(runs ...world.Run) {
	for _, r := range runs {
		w.mail(r, message{settle: true})
	}
}

// Close ends the reports and lets the state directory go. What runs goes on.
func (w *World) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	for _, r := range w.runs {
		r.mailbox = nil
	}
	for s := range w.supers {
		s.close()
	}
	w.mu.Unlock()
	w.cancel()
	w.watch.close()
	w.wg.Wait()
	return w.lock.Close()
}

// tell reports. Only run's actors and Begin call it, so that reports of one run keep their order.
func (w *World) tell(r ...world.Report) {
	if w.ctx.Err() == nil {
		w.report(r...)
	}
}
