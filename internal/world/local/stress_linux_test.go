package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

func openFiles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestManyAndAway: many short runs and some that leave stubborn grandchildren, and the daemon
// goes away in between, twice.
func TestManyAndAway(t *testing.T) {
	files := openFiles(t)
	g := newRig(t)
	w := g.open()
	r := newReports()
	if err := w.Begin(t.Context(), nil, r.report); err != nil {
		t.Fatal(err)
	}
	const short, stubborn = 200, 50
	var orders []world.Order
	for i := range short + stubborn {
		if i%5 == 4 {
			orders = append(orders, g.script("trap '' TERM; for i in 1 2; do (setsid sleep 1000; true) & done; exec sleep 1000"))
		} else {
			orders = append(orders, g.script("exit %d", i%3))
		}
	}
	w.Do(orders...)
	// Begin is told what a journal would hold: what it was told so far.
	ended := map[world.Run]int{}
	for range 2 {
		for g.sees(r) < (short+stubborn)/3 {
			time.Sleep(time.Millisecond)
		}
		w.Close()
		var believed []world.Belief
		for _, o := range orders {
			if _, ok := r.endOf(o.Run); ok {
				ended[o.Run]++
				continue
			}
			believed = append(believed, world.Belief{Order: o, Up: r.count(o.Run, fact.JobStarted) > 0})
		}
		orders = orders[:0]
		for _, b := range believed {
			orders = append(orders, b.Order)
		}
		w, r = g.open(), newReports()
		if err := w.Begin(t.Context(), believed, r.report); err != nil {
			t.Fatal(err)
		}
		for _, b := range believed {
			if !b.Up {
				w.Do(b.Order)
			}
		}
	}
	for _, o := range orders {
		if o.Job%5 == 4 {
			w.Do(world.Order{Do: fact.Stop, Run: o.Run, Cause: fact.CausePreempted, Grace: 20 * time.Millisecond})
		}
	}
	for _, o := range orders {
		end := g.end(r, o.Run)
		ended[o.Run]++
		switch {
		case o.Job%5 == 4 && (end.Kind != fact.JobStopped || end.Cause != fact.CausePreempted):
			t.Errorf("job %d: %+v", o.Job, end)
		case o.Job%5 != 4 && (end.Kind != fact.JobFinished || end.Exit != o.Job%3):
			t.Errorf("job %d: %+v", o.Job, end)
		}
	}
	for id, n := range ended {
		if n != 1 {
			t.Errorf("the end of %v was reported in %d lives of the daemon", id, n)
		}
	}
	if len(ended) != short+stubborn {
		t.Errorf("%d ends, want %d", len(ended), short+stubborn)
	}
	if n := g.alive(w.token); n > 0 {
		t.Errorf("%d processes are alive after all ends were reported", n)
	}
	for _, o := range orders {
		w.Settled(o.Run)
	}
	for range 1000 {
		if list, _ := os.ReadDir(w.path("runs")); len(list) == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if list, _ := os.ReadDir(w.path("runs")); len(list) > 0 {
		t.Errorf("%d runs are not forgotten", len(list))
	}
	w.Close()
	reapAll()
	if len(ours.pids) > 0 {
		t.Errorf("%d supervisors are not reaped", len(ours.pids))
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d files are open, %d were before", n, files)
	}
}

// sees counts the runs of which anything was reported.
func (g *rig) sees(r *reports) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// TestSupervisorKilled: what a killed supervisor leaves is found and killed, and its run ends.
func TestSupervisorKilled(t *testing.T) {
	type how struct{ away, cgroup bool }
	hows := []how{{false, false}, {true, false}}
	if p, _ := findCgroups(CgroupsAuto, ""); p != nil {
		hows = append(hows, how{true, true})
	}
	for _, how := range hows {
		away := how.away
		g := newRig(t)
		// What hides from the supervisor's mark is found where there is a cgroup.
		hidden := "setsid sleep 1000"
		if how.cgroup {
			g.opts.Cgroups, hidden = CgroupsRequired, "env -i setsid sleep 1000"
		}
		w, r := g.world()
		o := g.script("trap '' TERM; for i in 1 2; do (%s; true) & done; touch %s/ready/0.1; sleep 1000", hidden, g.base)
		w.Do(o)
		g.await(r, o.Run, fact.JobStarted)
		g.ready(t, o.Run)
		w.mu.Lock()
		var pid int
		for s := range w.supers {
			pid = s.pid
		}
		w.mu.Unlock()
		if away {
			w.Close()
		}
		unix.Kill(pid, unix.SIGKILL)
		if away {
			w, r = g.open(), newReports()
			if err := w.Begin(t.Context(), []world.Belief{{Order: o, Up: true}}, r.report); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
		}
		if end := g.end(r, o.Run); end.Kind != fact.JobFinished || end.Outcome != workload.OutcomeFailed || !strings.Contains(end.Text, "supervisor") {
			t.Errorf("away %v: %+v", away, end)
		}
		if n := g.alive(w.token); n > 0 {
			t.Errorf("away %v: %d processes are alive", away, n)
		}
		if how.cgroup && exists(filepath.Join(w.cgroups.dir, w.token[:8]+".0.1")) {
			t.Error("its cgroup is left")
		}
	}
}

// TestRestartedMachine: a run of another boot is gone by the node's fault.
func TestRestartedMachine(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	o := g.script("exec sleep 1000")
	w.Do(o)
	g.await(r, o.Run, fact.JobStarted)
	var pid int
	for s := range w.supers {
		pid = s.pid
	}
	w.Close()
	unix.Kill(pid, unix.SIGKILL)
	for i := 0; i < 5000 && g.alive(w.token) > 0; i++ {
		time.Sleep(time.Millisecond)
	}
	w = g.open()
	w.boot = "another"
	r = newReports()
	if err := w.Begin(t.Context(), []world.Belief{{Order: o, Up: true}}, r.report); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if end := g.end(r, o.Run); end.Kind != fact.JobStopped || end.Cause != fact.CauseNodeFailure {
		t.Errorf("%+v", end)
	}
}

const daemonArg = "__daemon"

// daemonMain is a daemon of its own, to be killed: it starts sleepers in a state directory.
func daemonMain(args []string) int {
	uid := uint32(nobody)
	p := &uid
	if os.Geteuid() != 0 {
		p = nil
	}
	script := "trap '' TERM; touch " + args[0] + "/ready/$ESCALA_JOB_NUMBER.1; sleep 0.3; exit $ESCALA_JOB_NUMBER"
	o := Options{Dir: filepath.Join(args[0], "state"), Now: time.Now, Pretend: 8, Cgroups: CgroupsOff,
		Payload: func(int32) ([]byte, error) { return mustJSON(Payload{Script: script, Dir: "/", UID: p, GID: p}), nil }}
	w, err := Open(context.Background(), o)
	if err != nil {
		return 1
	}
	if err := w.Begin(context.Background(), nil, func(...world.Report) {}); err != nil {
		return 1
	}
	for i := range int32(20) {
		w.Do(world.Order{Do: fact.Start, Run: world.Run{Job: i, Attempt: 1}, ID: strconv.Itoa(int(i))})
	}
	select {}
}

// TestDaemonKilled kills a real daemon while it starts runs: each is either known with its exit
// code, or the order never arrived and can be told again.
func TestDaemonKilled(t *testing.T) {
	g := newRig(t)
	var orders []world.Order
	for range 20 {
		o := g.script("touch %s/ready/$ESCALA_JOB_NUMBER.1; exit $ESCALA_JOB_NUMBER", g.base)
		orders = append(orders, o)
	}
	d := exec.Command(os.Args[0], daemonArg, g.base)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	g.ready(t, orders[2].Run)
	d.Process.Kill()
	d.Wait()
	w, r := g.open(), newReports()
	var believed []world.Belief
	for _, o := range orders {
		believed = append(believed, world.Belief{Order: o})
	}
	if err := w.Begin(t.Context(), believed, r.report); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	began := 0
	for _, o := range orders {
		if exists(w.path("runs", runName(o.Run))) {
			began++
		}
	}
	t.Logf("%d of 20 had begun", began)
	w.Do(orders...)
	for _, o := range orders {
		if end := g.end(r, o.Run); end.Kind != fact.JobFinished || end.Exit != o.Job {
			t.Errorf("%+v", end)
		}
	}
}
