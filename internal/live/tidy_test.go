package live

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/spool"
)

// spooled opens a spool in the rig's bubble.
func spooled(t testing.TB, path string, c *Config) *spool.Spool {
	t.Helper()
	s, err := spool.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	c.Spool = s
	return s
}

// What a job was to run is there as long as something may start it, and then it is not.
func TestTheSpoolIsTidied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool", "spool.db")
	var s *spool.Spool
	bubble(t, lasts(time.Minute), func(c *Config) { s = spooled(t, path, c) }, func(r *rig) {
		defer func() { r.after = append(r.after, s.Close) }()
		has := func(id string, want bool) {
			t.Helper()
			_, err := s.Get(context.Background(), r.job(id).Number)
			if got := err == nil; got != want || err != nil && !errors.Is(err, spool.ErrNotFound) {
				t.Errorf("job %s in the spool: %v, want %v: %v", id, got, want, err)
			}
		}
		with := func(x *Submission) { x.Payload = []byte("secret") }
		a, b, c := r.submit("ana", 16, with), r.submit("ana", 16, with), r.submit("ana", 16, with)
		r.wait(64 * time.Second)
		r.want(a, "completed")
		has(a, false)
		has(b, true)
		if _, err := r.d.Cancel(r.ctx(), r.numbers(c), "ana", ""); err != nil {
			t.Fatal(err)
		}
		r.wait(3 * time.Second)
		has(c, false)
		// A crash leaves entries of submissions that never got into the journal, and of jobs that ended.
		r.kill()
		left := []spool.Entry{{Job: r.job(a).Number, Body: []byte("ended")}, {Job: 1000, Body: []byte("orphan")}, {Job: r.next(), Body: []byte("orphan")}}
		if err := s.Put(context.Background(), left); err != nil {
			t.Fatal(err)
		}
		r.start()
		for _, e := range left {
			if _, err := s.Get(context.Background(), e.Job); !errors.Is(err, spool.ErrNotFound) {
				t.Errorf("entry %v is still there: %v", e, err)
			}
		}
		has(b, true)
		r.wait(2 * time.Minute)
		has(b, false)
	})
}

// failing is a spool that cannot be written for a while.
type failing struct {
	Spool
	fails   atomic.Bool
	mu      sync.Mutex
	deleted []int32
	swept   int
}

func (f *failing) Put(context.Context, []spool.Entry) error { return nil }

func (f *failing) Delete(_ context.Context, jobs ...int32) error {
	if f.fails.Load() {
		return errors.New("no room")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted = append(f.deleted, jobs...)
	return nil
}

func (f *failing) Sweep(context.Context, func(int32) bool) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.swept++
	return 0, nil
}

func TestTheSpoolIsTidiedOnceItCanBe(t *testing.T) {
	f := &failing{}
	f.fails.Store(true)
	bubble(t, lasts(time.Second), func(c *Config) { c.Spool = f }, func(r *rig) {
		for range 5 {
			r.submit("ana", 1, func(s *Submission) { s.Payload = []byte("x") })
		}
		r.wait(time.Minute)
		f.fails.Store(false)
		r.wait(3 * time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.deleted) != 5 {
			t.Errorf("deleted %v, want 5 jobs", f.deleted)
		}
		f.mu.Unlock()
		r.d.tidier.add(make([]int32, tidyMost+1)...) // too many to remember
		r.wait(time.Minute)
		f.mu.Lock()
		if f.swept != 1 {
			t.Errorf("swept %d times, want once", f.swept)
		}
	})
}

// Keys hold for a day, and are forgotten then; so are the alarms of jobs that ended before them.
func TestKeysAndAlarmsAreForgotten(t *testing.T) {
	bubble(t, lasts(time.Minute), nil, func(r *rig) {
		for i := range 100 {
			r.submit("ana", 1, func(s *Submission) { s.Key = string(rune('a'+i%26)) + time.Duration(i).String() })
		}
		r.wait(23 * time.Hour)
		r.submit("ana", 1, func(s *Submission) { s.Key = "late" })
		if keys, _, _ := r.sizes(); keys != 101 {
			t.Errorf("%d keys, want 101", keys)
		}
		r.wait(2 * time.Hour)
		r.submit("ana", 1, nil)
		if keys, given, _ := r.sizes(); keys != 1 || given != 1 {
			t.Errorf("%d keys in the order of %d, want 1", keys, given)
		}
		for range 300 {
			id := r.submit("ana", 1, func(s *Submission) { s.Begin = time.Now().Add(1000 * time.Hour) })
			if _, err := r.d.Cancel(r.ctx(), r.numbers(id), "ana", ""); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, alarms := r.sizes(); alarms > 200 {
			t.Errorf("%d alarms of jobs that are gone", alarms)
		}
	})
}

// sizes are how many keys, keys in order and alarms there are; the loop writes them with the book locked.
func (r *rig) sizes() (keys, given, alarms int) {
	r.d.book.mu.RLock()
	defer r.d.book.mu.RUnlock()
	return len(r.d.book.keys), len(r.d.book.given), len(r.d.follow.alarms)
}

// A segment begins at least once a day, and with a long queue not after every few lines.
func TestSegmentsBegin(t *testing.T) {
	bubble(t, lasts(0), func(c *Config) { c.SegmentBytes = 2000 }, func(r *rig) {
		count := func() int {
			list, err := r.store.Segments(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		for range 200 {
			r.submit("ana", 16, func(s *Submission) {
				s.Job.Labels = map[string]string{"a": "a label that makes the job longer than it would be"}
			})
		}
		if n := count(); n < 4 || n > 25 { // each is at least twice as long as its snapshot
			t.Errorf("%d segments after 200 jobs", n)
		}
		before := count()
		r.wait(25 * time.Hour)
		if n := count() - before; n != 1 {
			t.Errorf("%d segments began in a day, want 1", n)
		}
		if j := r.next(); j != 200 {
			t.Error(j)
		}
	})
}
