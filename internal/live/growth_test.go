package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/spool"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// soaking tells whether tests go on for long: ESCALA_SOAK is set.
func soaking() bool { n, _ := strconv.Atoi(os.Getenv("ESCALA_SOAK")); return n > 1 }

// labNodes is the size of the lab's cluster.
const labNodes = 8

func labCluster() *cluster.Spec { return cluster.Uniform("lab", labNodes, 8) }

var labAssume = sim.Assumptions{Checkpoint: -1, Grace: 10 * workload.Second, StartLatency: 30 * workload.Second}

// remembersEnded is how many ended jobs the book of these tests keeps.
const remembersEnded = 200

// TestNothingGrows has a lab use a cluster for hours, everything that people and machines do
// included, and restarts. What the daemon has in memory, on disk beside the journal and open is
// bounded by what is alive, and in the end the ledger by hour is what ran.
func TestNothingGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("two hours of a lab, with the race detector for half a minute")
	}
	hours := 2
	if soaking() {
		hours = 96 // keys hold for a day, so that it is at rest from the second on
	}
	dir := memory(t)
	behave := func(o *world.Order) simworld.Behaviour {
		x := rand.New(rand.NewPCG(uint64(o.Job), uint64(o.Attempt)))
		b := simworld.Behaviour{Duration: time.Duration(20+x.ExpFloat64()*240) * time.Second, Start: time.Duration(x.IntN(3)) * time.Second, Leave: time.Duration(x.IntN(20)) * time.Second}
		switch x.IntN(20) {
		case 0:
			b.Exit = 1
		case 1:
			b.Fail = "no room"
		case 2:
			b.Yield = true
		case 3:
			b.Fail, b.Own = "no such program", true
		case 4:
			b.Checkpoint = 30 * time.Second
		}
		return b
	}
	rnd := rand.New(rand.NewPCG(11, 12))
	opts := simworld.Options{Behave: behave, Now: time.Now, Delay: func(*world.Report) time.Duration { return time.Duration(rnd.IntN(800)) * time.Millisecond }}
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(t.Context(), filepath.Join(dir, "journal.db"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Resolve("contract")
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, machine: simworld.New(labCluster(), opts), store: st, cfg: Config{Store: st, Policy: p, Version: "test", Holder: "test", Now: time.Now,
			SegmentBytes: 256 << 10, Assume: labAssume}}
		sp := spooled(t, filepath.Join(dir, "spool", "spool.db"), &r.cfg)
		l := &lab{rig: r, rnd: rnd, spool: sp}
		l.begin()
		var first, last footprint
		for h := range 2 * hours {
			for range 180 { // half an hour
				l.act()
				r.wait(10 * time.Second)
			}
			last = l.measure()
			t.Logf("after %4.1f h: %s", float64(h+1)/2, last)
			l.hold(&last)
			if first.heap == 0 && h+1 >= max(hours/2, 2) {
				first = last
			}
			if every := max(hours/4, 1); (h+1)%every == 0 {
				l.restart()
			}
		}
		if last.heap > first.heap*13/10+8<<20 || last.files > first.files+4 || last.goroutines > first.goroutines+4 {
			t.Errorf("it grows: %s, and in the end %s", first, last)
		}
		l.quiet()
		r.kill()
		if broken := r.machine.Broken(); len(broken) > 0 {
			t.Errorf("the machine was told what cannot be: %v", broken)
		}
		r.verify()
		for _, f := range []func() error{sp.Close, st.Close} {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	})
}

// lab is people, and an operator, who use a cluster.
type lab struct {
	*rig
	rnd   *rand.Rand
	spool *spool.Spool
	ids   []string
	n     int
	// stuck listens and never reads.
	stuck *Listener
}

func (l *lab) begin() {
	l.open()
	l.d.book.keep = remembersEnded
	l.run()
	l.stuck, _, _ = l.d.Events().Listen(0)
}

func (l *lab) restart() {
	l.kill()
	time.Sleep(time.Duration(l.rnd.IntN(60)) * time.Second)
	l.begin()
}

// act is ten seconds of the lab.
func (l *lab) act() {
	for range l.rnd.IntN(3) {
		if l.d.Counts().Waiting < 100 { // people look before they submit
			l.submitOne()
		}
	}
	pick := func() []int32 {
		for range 20 {
			if n, err := l.d.Members(l.ctx(), l.ids[max(0, len(l.ids)-1-l.rnd.IntN(50))]); err == nil {
				return n
			}
		}
		return []int32{0}
	}
	if len(l.ids) == 0 {
		return
	}
	switch l.rnd.IntN(40) {
	case 0, 1:
		_, err := l.d.Cancel(l.ctx(), pick(), "ana", "")
		l.must(err)
	case 2, 3:
		_, err := l.d.Hold(l.ctx(), pick(), l.rnd.IntN(2) == 0, "ana", "")
		l.must(err)
	case 4, 5, 6:
		l.release()
	case 7:
		l.must(l.d.Requeue(l.ctx(), pick()[0], "root"))
	case 8:
		l.must(l.d.Drain(l.ctx(), []int32{int32(l.rnd.IntN(labNodes))}, "root", "a fan"))
	case 9:
		l.machine.Crash(int32(l.rnd.IntN(labNodes)))
	case 10, 11, 12, 13:
		n := int32(l.rnd.IntN(labNodes))
		l.must(l.d.Resume(l.ctx(), []int32{n}, "root"))
		l.machine.Return(n)
	case 14:
		if l.rnd.IntN(10) == 0 {
			p, err := policy.Resolve([]string{"contract", "easy", "multifactor"}[l.rnd.IntN(3)])
			if err != nil {
				l.t.Fatal(err)
			}
			l.must(l.d.SetPolicy(l.ctx(), p, "root", ""))
		}
	case 15, 16:
		v, err := l.d.View(l.ctx())
		l.must(err)
		l.must(l.d.foresee(l.ctx(), v, 2))
	}
}

// release lets go what was held, so that held jobs do not pile up.
func (l *lab) release() {
	jobs, _ := l.d.Alive(Filter{States: []string{"held"}}, -1, 1000)
	for i := range jobs {
		_, err := l.d.Release(l.ctx(), []int32{jobs[i].Number}, true, "root")
		l.must(err)
	}
}

func (l *lab) submitOne() {
	l.n++
	rnd := l.rnd
	user := fmt.Sprintf("u%d", rnd.IntN(12))
	s := &Submission{By: user, Job: workload.Job{User: user, Team: "team" + user[1:2], Need: workload.Need{GPUs: []int32{1, 1, 1, 2, 4, 8, 16}[rnd.IntN(7)]}, Estimate: int64(60+rnd.IntN(1200)) * workload.Second}}
	s.Payload = fmt.Appendf(nil, "what job %d runs", l.n)
	if rnd.IntN(2) == 0 {
		s.Key = fmt.Sprintf("key-%d", l.n)
	}
	if rnd.IntN(3) > 0 {
		s.Job.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: int64(rnd.IntN(3)) * workload.Minute, CheckpointOnStop: rnd.IntN(2) == 0, NotResumable: rnd.IntN(9) == 0}
	}
	switch rnd.IntN(12) {
	case 0:
		s.Indices, s.Throttle = []int32{1, 2, 3, 4}, rnd.IntN(3)
		s.Job.Need.GPUs = 1
	case 1:
		if len(l.ids) > 0 {
			s.Job.After = []workload.Dependency{{Job: l.ids[max(0, len(l.ids)-1-rnd.IntN(300))], When: workload.AfterAny}} // also those that only the store knows
		}
	case 2:
		s.Begin = time.Now().Add(time.Duration(rnd.IntN(600)) * time.Second)
	case 3:
		s.Hold = true
	case 4:
		s.Job.Need.GPUs = 1000 // which can never be
	case 5:
		s.Job.Limit = int64(60+rnd.IntN(300)) * workload.Second
	}
	done, err := l.d.Submit(l.ctx(), s)
	var never *Never
	if s.Job.Need.GPUs == 1000 && errors.As(err, &never) {
		return
	}
	l.must(err)
	if err == nil {
		l.ids = append(l.ids, done.Jobs[0])
	}
	if len(l.ids) > 1000 {
		l.ids = slices.Delete(l.ids, 0, 500)
	}
}

// quiet lets all come to its end, and holds that the ledger by hour is what ran.
func (l *lab) quiet() {
	for n := range int32(labNodes) {
		l.machine.Return(n)
		l.must(l.d.Resume(l.ctx(), []int32{n}, "root"))
	}
	for range 200 {
		l.release()
		l.wait(5 * time.Minute)
		if c := l.d.Counts(); c.Waiting+c.Running+c.Held+c.Blocked == 0 {
			break
		}
	}
	l.wait(2 * time.Hour)
	l.submit("ana", 1, nil) // something has to happen for an hour to be written
	jobs, _ := l.d.Alive(Filter{}, -1, 10)
	if len(jobs) != 1 {
		l.t.Errorf("%d jobs are alive in the end", len(jobs))
	}
	l.balance()
}

// balance holds that the ledger by hour is what ran, user by user.
func (l *lab) balance() {
	ran, charged := map[string]int64{}, map[string]int64{}
	for after := ""; ; {
		jobs, next, err := l.d.Past(context.Background(), Filter{}, after, 1000)
		if err != nil {
			l.t.Fatal(err)
		}
		for i := range jobs {
			for k := range jobs[i].Runs {
				if x := &jobs[i].Runs[k]; x.Up != workload.Unknown {
					end := x.Left
					if x.Told != workload.Unknown { // the time to leave is not charged
						end = min(end, x.Told)
					}
					ran[jobs[i].Spec.User] += x.Milli * max(end-x.Up, 0)
				}
			}
		}
		if after = next; next == "" {
			break
		}
	}
	rows, err := l.store.Hours(context.Background(), 0, workload.Never)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, x := range rows {
		charged[x.User] += x.Allocated + x.Unallocated
	}
	for u, v := range ran {
		if charged[u] != v {
			l.t.Errorf("user %s had %d milli-GPU x ms, and the ledger has %d", u, v, charged[u])
		}
	}
	if len(ran) < 10 {
		l.t.Errorf("only %d users ran something", len(ran))
	}
}

// footprint is what a daemon has.
type footprint struct {
	heap                        uint64
	goroutines, files           int
	alive, known, ids, keys     int
	predicted, alarms, arrivals int
	engine, spooled, evs        int
}

func (f footprint) String() string {
	return fmt.Sprintf("%.1f MiB of heap, %d goroutines, %d files, %d jobs alive of %d known, %d keys, %d forecasts, %d alarms, %d KiB of engine state, %d in the spool",
		float64(f.heap)/(1<<20), f.goroutines, f.files, f.alive, f.known, f.keys, f.predicted, f.alarms, f.engine>>10, f.spooled)
}

func (l *lab) measure() footprint {
	d := l.d
	var f footprint
	jobs, _ := d.Alive(Filter{}, -1, 1<<30)
	f.alive = len(jobs)
	must := func(err error) {
		if err != nil {
			l.t.Fatal(err)
		}
	}
	// Between two instants nobody changes anything.
	_, err := change(l.ctx(), d, func(*tx) (bool, error) {
		b := d.book
		f.known, f.ids, f.keys, f.alarms = len(b.jobs), len(b.byID), len(b.keys), len(d.follow.alarms)
		f.engine = len(d.engine.Snapshot().AppendTo(nil))
		d.ahead.mu.Lock()
		f.predicted, f.arrivals = len(d.ahead.predicted), len(d.ahead.arrived)
		d.ahead.mu.Unlock()
		if a, b := len(b.given), len(b.keys); a != b {
			l.t.Errorf("%d keys in order, %d by name", a, b)
		}
		if n := len(d.follow.blocked); n > f.alive {
			l.t.Errorf("%d jobs are blocked of %d that are alive", n, f.alive)
		}
		return true, nil
	})
	must(err)
	d.events.mu.Lock()
	f.evs = len(d.events.recent)
	d.events.mu.Unlock()
	_, err = l.spool.Sweep(l.ctx(), func(int32) bool { f.spooled++; return true })
	must(err)
	list, err := os.ReadDir("/proc/self/fd")
	if err == nil {
		f.files = len(list)
	}
	f.goroutines = runtime.NumGoroutine()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.heap = m.HeapAlloc
	return f
}

// hold compares what is there with what is alive.
func (l *lab) hold(f *footprint) {
	for _, x := range []struct {
		what      string
		has, most int
	}{
		{"jobs in the book", f.known, f.alive + remembersEnded},
		{"IDs in the book", f.ids, f.known},
		{"forecasts", f.predicted, f.alive},
		{"alarms", f.alarms, 2*f.alive + 130},
		{"arrivals", f.arrivals, arrivalsKept * 5 / 4},
		{"events", f.evs, remembered * 5 / 4},
		{"entries of the spool", f.spooled, f.alive + 30}, // gathered for a moment
		{"bytes of engine state", f.engine, 100_000 + 4000*f.alive},
	} {
		if x.has > x.most {
			l.t.Errorf("%d %s with %d jobs alive, want at most %d", x.has, x.what, f.alive, x.most)
		}
	}
	if n := l.d.Events().Listeners(); n > 1 {
		l.t.Errorf("%d listeners", n)
	}
}
