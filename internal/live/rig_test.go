package live

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/shadow"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a daemon before a machine of pretended runs, in a bubble of pretended time.
type rig struct {
	t       testing.TB
	machine *simworld.Machine
	store   store.Store
	cfg     Config
	d       *Daemon
	stop    context.CancelFunc
	ended   chan error
	// elsewhere takes the place of the machine where it is set.
	elsewhere world.World
	// after is done once the daemon has gone.
	after []func() error
}

// bubble runs a test in pretended time.
func bubble(t *testing.T, behave func(o *world.Order) simworld.Behaviour, edit func(*Config), test func(r *rig)) {
	t.Helper()
	bubbleOn(t, simworld.Options{Behave: behave, Now: time.Now}, edit, test)
}

func bubbleOn(t *testing.T, opts simworld.Options, edit func(*Config), test func(r *rig)) {
	t.Helper()
	path := filepath.Join(memory(t), "journal.db")
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Resolve("contract")
		if err != nil {
			t.Fatal(err)
		}
		m := simworld.New(cluster.Uniform("rig", 2, 8), opts)
		r := &rig{t: t, machine: m, store: st, cfg: Config{Store: st, Policy: p, Version: "test", Holder: "test", Now: time.Now,
			Assume: sim.Assumptions{Checkpoint: -1, Grace: 10 * workload.Second, StartLatency: 30 * workload.Second}}}
		if edit != nil {
			edit(&r.cfg)
		}
		r.start()
		test(r)
		r.kill()
		if broken := m.Broken(); len(broken) > 0 {
			t.Errorf("the machine was told what cannot be: %v", broken)
		}
		r.verify()
		for _, f := range append(r.after, st.Close) {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	})
}

// start opens a daemon over what the store has, and runs it.
func (r *rig) start() {
	r.t.Helper()
	r.open()
	r.run()
}

func (r *rig) open() {
	r.t.Helper()
	if r.elsewhere != nil {
		r.cfg.World = r.elsewhere
	} else if r.cfg.Shadow {
		r.cfg.World = shadow.Over(cluster.Uniform("rig", 2, 8), time.Now)
	} else {
		r.cfg.World = r.machine.Open()
	}
	d, err := Open(r.t.Context(), r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.d = d
}

func (r *rig) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stop, r.ended = cancel, make(chan error, 1)
	go func(d *Daemon) { r.ended <- d.Run(ctx) }(r.d)
	synctest.Wait()
}

// kill ends the daemon between two batches.
func (r *rig) kill() {
	r.t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		r.t.Error(err)
	}
}

// wait lets pretended time pass.
func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// submit queues a job of so many GPUs.
func (r *rig) submit(user string, gpus int32, edit func(*Submission)) string {
	r.t.Helper()
	s := &Submission{Job: workload.Job{User: user, Team: user, Need: workload.Need{GPUs: gpus}}, By: user}
	if edit != nil {
		edit(s)
	}
	done, err := r.d.Submit(r.t.Context(), s)
	if err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
	return done.ID
}

func (r *rig) job(id string) *Job {
	r.t.Helper()
	j, err := r.d.Job(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return &j
}

// want holds that a job is in a state.
func (r *rig) want(id, state string) {
	r.t.Helper()
	if j := r.job(id); j.Fate() != state {
		r.t.Errorf("job %s is %s, want %s", id, j.Fate(), state)
	}
}

func (r *rig) numbers(id string) []int32 {
	r.t.Helper()
	n, err := r.d.Members(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// export is the whole journal.
func (r *rig) export() []byte {
	r.t.Helper()
	var b bytes.Buffer
	if err := r.store.Read(context.Background(), 0, func(x *store.Batch) error { _, err := b.Write(x.Body); return err }); err != nil {
		r.t.Fatal(err)
	}
	return b.Bytes()
}

// verify holds that deciding again comes to the same, line by line.
func (r *rig) verify() {
	r.t.Helper()
	in, err := journal.NewReader("journal", bytes.NewReader(r.export()))
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := journal.Replay(in, true); err != nil {
		r.t.Errorf("%v\n%s", err, tail(r.export(), 4000))
	}
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// lasts is a behaviour of runs that end well after a time.
func lasts(d time.Duration) func(*world.Order) simworld.Behaviour {
	return func(*world.Order) simworld.Behaviour { return simworld.Behaviour{Duration: d} }
}

// memory is a folder whose file system is in memory where there is one: thousands of commits
// need not wait for a disk on which nothing depends here.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "escala-live")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// next is the number of the next job, reals what goes on under another scheduler. The loop writes
// them with the book locked.
func (r *rig) next() int32 {
	r.d.book.mu.RLock()
	defer r.d.book.mu.RUnlock()
	return r.d.book.next
}

func (r *rig) reals() map[int32]Real {
	r.d.book.mu.RLock()
	defer r.d.book.mu.RUnlock()
	return maps.Clone(r.d.book.reals)
}
