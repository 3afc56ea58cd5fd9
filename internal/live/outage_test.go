package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// fragile is a store that fails as long as it is told to, and knows what is on disk.
type fragile struct {
	store.Store
	mu   sync.Mutex
	err  error
	hang time.Duration
	// lost: the batch is written, and its writer is not told so.
	lost bool
	disk map[orderLine]bool
}

// orderLine is what an action of the journal has the world do.
type orderLine struct {
	Do      string `json:"do"`
	Job     int32  `json:"job"`
	Attempt int32  `json:"try"`
}

func (s *fragile) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fragile) fault() (hang time.Duration, lost bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hang, s.lost, s.err
}

func (s *fragile) Append(ctx context.Context, b *store.Batch, rows store.Rows) error {
	hang, lost, err := s.fault()
	time.Sleep(hang)
	if err != nil && !lost {
		return err
	}
	if err := s.Store.Append(ctx, b, rows); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range bytes.Lines(b.Body) {
		var o orderLine
		if json.Unmarshal(line, &o) == nil && o.Do != "" {
			s.disk[o] = true
		}
	}
	return err
}

func (s *fragile) EndedByID(ctx context.Context, id string) (store.EndedRow, error) {
	if _, _, err := s.fault(); err != nil {
		return store.EndedRow{}, err
	}
	return s.Store.EndedByID(ctx, id)
}

// watched is a world that is told nothing but what is on disk.
type watched struct {
	world.World
	t *testing.T
	s *fragile
	// told counts the orders.
	told int
	mu   sync.Mutex
}

func (w *watched) Do(orders ...world.Order) {
	w.mu.Lock()
	w.told += len(orders)
	w.mu.Unlock()
	w.s.mu.Lock()
	for i := range orders {
		if o := &orders[i]; !w.s.disk[orderLine{o.Do.String(), o.Job, o.Attempt}] {
			w.t.Errorf("the world is told to %s run %d of job %d, of which nothing is on disk", o.Do, o.Attempt, o.Job)
		}
	}
	w.s.mu.Unlock()
	w.World.Do(orders...)
}

func (w *watched) orders() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told
}

// outage is a rig whose store can fail.
type outage struct {
	*rig
	s *fragile
	w *watched
}

func withFragile(t *testing.T, behave func(*world.Order) simworld.Behaviour, test func(o *outage)) {
	o := &outage{s: &fragile{disk: map[orderLine]bool{}}}
	bubble(t, behave, func(c *Config) {
		o.s.Store, c.Store = c.Store, o.s
	}, func(r *rig) {
		o.rig = r
		r.kill()
		r.cfg.World = r.machine.Open()
		o.w = &watched{World: r.cfg.World, t: t, s: o.s}
		r.cfg.World = o.w
		d, err := Open(r.ctx(), r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.d = d
		r.run()
		test(o)
	})
}

func (o *outage) submission(user string, gpus int32) *Submission {
	return &Submission{By: user, Key: fmt.Sprint(user, gpus), Job: workload.Job{User: user, Team: user, Need: workload.Need{GPUs: gpus}}}
}

// A store that cannot be written for a minute, whatever the reason: what is asked for is refused in
// words, reading and what runs go on, nothing is done that is not on disk, and then all goes on.
func TestTheStoreIsAwayForAMinute(t *testing.T) {
	for _, kind := range []error{store.ErrUnavailable, store.ErrFull, store.ErrReadOnly, store.ErrIO, store.ErrBusy, store.ErrDenied} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lost=%v", strings.ReplaceAll(kind.Error(), " ", "-"), lost), func(t *testing.T) {
				withFragile(t, lasts(90*time.Second), func(o *outage) { minute(t, o, kind, lost) })
			})
		}
	}
}

func minute(t *testing.T, o *outage, kind error, lost bool) {
	running, waiting := o.submit("ana", 16, nil), o.submit("ana", 8, nil)
	if _, err := o.d.View(o.ctx()); err != nil {
		t.Fatal(err)
	}
	o.wait(40 * time.Second)
	before := o.w.orders()
	o.s.mu.Lock()
	o.s.err, o.s.lost = &store.Error{Op: "append", Where: "here", Kind: kind, Do: "mend it"}, lost
	o.s.mu.Unlock()
	began := time.Now()
	// The first to come is decided on, and told after a moment that it will be done.
	_, err := o.d.Submit(o.ctx(), o.submission("eva", 1))
	var late *Late
	if !errors.As(err, &late) || !errors.Is(err, ErrUnavailable) || !errors.Is(err, kind) || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	// Those who come later are refused at once; one who gives up leaves nothing behind.
	began = time.Now()
	if _, err = o.d.Submit(o.ctx(), o.submission("ida", 1)); !errors.Is(err, ErrUnavailable) || errors.As(err, &late) || time.Since(began) > 0 {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if ok, trouble := o.d.Ready(); ok || !strings.Contains(trouble, kind.Error()) || !strings.Contains(trouble, "mend it") {
		t.Errorf("ready: %v, %s", ok, trouble)
	}
	o.want(running, "running")
	o.want(waiting, "waiting")
	if v, err := o.d.View(o.ctx()); err != nil || len(v.Queue) != 1 {
		t.Errorf("the queue cannot be read: %v", err)
	}
	if list, _ := o.d.Alive(Filter{}, -1, 10); len(list) != 3 {
		t.Errorf("%d jobs are listed", len(list))
	}
	o.wait(60 * time.Second) // the first job ends in the meantime
	if n := o.w.orders(); n != before {
		t.Errorf("%d orders were given while nothing could be written", n-before)
	}
	o.want(running, "running") // as far as the journal knows
	o.s.set(nil)
	o.wait(6 * time.Second)
	if ok, trouble := o.d.Ready(); !ok {
		t.Errorf("not ready again: %s", trouble)
	}
	o.want(running, "completed")
	o.want(waiting, "running")
	// It was done once, and who asks again under the same key is told so.
	again, err := o.d.Submit(o.ctx(), o.submission("eva", 1))
	if err != nil || !again.Again {
		t.Fatalf("%+v %v", again, err)
	}
	o.want(again.ID, "running")
	if d, err := o.d.Submit(o.ctx(), o.submission("ida", 1)); err != nil || d.Again {
		t.Errorf("what was refused was done: %+v %v", d, err)
	}
	if r := o.job(running).Runs[0]; r.Kept < 89_000 || r.Kept > 91_000 { // told late, and by when it ended
		t.Errorf("it ran for %d ms, and 90 s count", r.Kept)
	}
}

// A daemon that is ended while its store is away loses nothing that was promised, and says that it
// does not know of the rest.
func TestEndedWhileTheStoreIsAway(t *testing.T) {
	withFragile(t, lasts(time.Minute), func(o *outage) {
		id := o.submit("ana", 4, nil)
		o.s.set(&store.Error{Kind: store.ErrUnavailable})
		asked := make(chan error, 1)
		go func() {
			_, err := o.d.Submit(o.ctx(), o.submission("eva", 1))
			asked <- err
		}()
		o.wait(time.Second)
		o.stop()
		if err := <-asked; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if err := <-o.ended; !errors.Is(err, ErrClosed) {
			t.Errorf("it says nothing of the batch that is lost: %v", err)
		}
		o.s.set(nil)
		o.wait(time.Minute)
		o.start()
		o.wait(time.Second)
		o.want(id, "completed")
		if d, err := o.d.Submit(o.ctx(), o.submission("eva", 1)); err != nil || d.Again {
			t.Errorf("%+v %v", d, err)
		}
	})
}

// While the journal cannot be written what the world tells takes little room, however long it is, and
// nothing of it is lost. A write that hangs is told, too.
func TestReportsPileUp(t *testing.T) {
	withFragile(t, lasts(0), func(o *outage) {
		var ids []string
		for range 16 {
			ids = append(ids, o.submit("ana", 1, nil))
		}
		o.s.set(&store.Error{Kind: store.ErrFull})
		_, _ = o.d.Submit(o.ctx(), o.submission("eva", 1))
		for i := range 200_000 {
			run := world.Run{Job: o.job(ids[i%16]).Number, Attempt: 1}
			o.d.inbox.report(world.Report{Kind: fact.JobCheckpointed, Run: run, Node: -1, When: time.Now()})
			if i%1000 == 0 {
				o.d.inbox.report(world.Report{Kind: fact.NodeDown, Node: 1}, world.Report{Kind: fact.NodeUp, Node: 1})
			}
		}
		o.machine.End(world.Run{Job: o.job(ids[3]).Number, Attempt: 1}, 0)
		o.wait(time.Hour)
		o.d.inbox.mu.Lock()
		n := len(o.d.inbox.reports)
		o.d.inbox.mu.Unlock()
		if n > 2*thinFrom {
			t.Errorf("%d reports wait", n)
		}
		o.s.mu.Lock()
		o.s.err, o.s.hang = nil, 30*time.Second
		o.s.mu.Unlock()
		o.wait(16 * time.Second)
		if ok, trouble := o.d.Ready(); ok || trouble == "" {
			t.Errorf("a write hangs, and it is ready: %s", trouble)
		}
		o.s.mu.Lock()
		o.s.hang = 0
		o.s.mu.Unlock()
		o.wait(time.Minute)
		o.want(ids[3], "completed")
		o.want(ids[4], "running")
		if j := o.job(ids[4]); j.Kept == 0 {
			t.Error("that it had saved its state is not known")
		}
	})
}

// A policy that is set while the store is away holds from when it can be written.
func TestAPolicyWhileTheStoreIsAway(t *testing.T) {
	withFragile(t, lasts(time.Minute), func(o *outage) {
		p, err := policy.Resolve("fifo")
		if err != nil {
			t.Fatal(err)
		}
		o.s.set(&store.Error{Kind: store.ErrFull})
		var late *Late
		if err := o.d.SetPolicy(o.ctx(), p, "root", ""); !errors.As(err, &late) {
			t.Error(err)
		}
		o.s.set(nil)
		o.wait(10 * time.Second)
		if q, _, _ := o.d.Policy(); q.Name != "fifo" {
			t.Error(q.Name)
		}
		id := o.submit("ana", 1, nil)
		o.want(id, "running")
	})
}

// One who reads what comes in the very batch that cannot be written is shown what stood before, as soon
// as that is known.
func TestReadingWithTheBatchThatFails(t *testing.T) {
	withFragile(t, lasts(time.Hour), func(o *outage) {
		o.submit("ana", 16, nil)
		old, err := o.d.View(o.ctx())
		if err != nil {
			t.Fatal(err)
		}
		o.wait(time.Minute) // it is fresh no more
		set := func(hang time.Duration, err error) {
			o.s.mu.Lock()
			defer o.s.mu.Unlock()
			o.s.hang, o.s.err = hang, err
		}
		set(time.Second, nil)
		go func() { _, _ = o.d.Submit(o.ctx(), o.submission("eva", 1)) }()
		o.wait(500 * time.Millisecond)
		set(0, &store.Error{Kind: store.ErrUnavailable})
		go func() { _, _ = o.d.Submit(o.ctx(), o.submission("ida", 1)) }()
		v, err := o.d.View(o.ctx()) // both wait for the batch that is being written, and make the next
		if took := time.Since(v.made); err != nil || v != old || took != 60500*time.Millisecond+500*time.Millisecond {
			t.Errorf("%v: the same %v, %v after it was made", err, v == old, took)
		}
		set(0, nil)
		o.wait(10 * time.Second)
	})
}
