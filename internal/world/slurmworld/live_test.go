package slurmworld_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/slurmworld"
	"github.com/escala-sched/escala/policy"
)

// site is a Slurm, and a scheduler over it.
type site struct {
	*testing.T
	*slurmtest.Cluster
	path            string
	lease, overtime time.Duration
	d               *live.Daemon
	w               *slurmworld.World
	stop            func()
	// calls a second at most; 0 = many.
	calls int
	// reader of the cluster; nil = as text.
	reader slurm.Reader
	// log instead of the test's own.
	log *slog.Logger
	// administers: the scheduler may close nodes and leave notes.
	administers bool
	// contracts of the site; nil = it says nothing.
	contracts *slurm.Contracts
	// accounting is asked for the command lines of jobs.
	accounting bool
}

// open begins a scheduler that goes on with the site's journal.
func (s *site) open(pol string, shadowed bool) {
	s.Helper()
	st, err := store.Open(s.Context(), s.path)
	if err != nil {
		s.Fatal(err)
	}
	log := cmp.Or(s.log, slog.New(slog.NewTextHandler(logTo{s.T}, nil)))
	w, err := slurmworld.New(s.Context(), slurmworld.Options{Slurm: s.Client, Now: time.Now, Partitions: []string{"train"}, Poll: 300 * time.Millisecond, Lease: s.lease, Overtime: s.overtime, Calls: cmp.Or(s.calls, 1000), Log: log, Reader: s.reader, Administers: s.administers, Contracts: s.contracts, Accounting: s.accounting})
	if err != nil {
		s.Fatal(err)
	}
	s.w = w
	var over world.World = w
	if shadowed {
		over = slurmworld.InShadow(w)
	}
	p, err := policy.Resolve(pol)
	if err != nil {
		s.Fatal(err)
	}
	if s.d, err = live.Open(s.Context(), live.Config{Store: st, World: over, Policy: p, Version: "test", Holder: "test", Now: time.Now, Log: log, Shadow: shadowed}); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.d.Run(ctx) }()
	s.stop = func() {
		cancel()
		if err := errors.Join(<-ended, st.Close()); err != nil {
			s.Error(err)
		}
		s.stop = func() {}
	}
	s.Cleanup(func() { s.stop() })
}

// fate is what has become of a job, "" as long as it is not known.
func (s *site) fate(id string) string {
	j, err := s.d.Job(s.Context(), id)
	if err != nil {
		return ""
	}
	return j.Fate()
}

// line of the queue that a job is on.
func (s *site) line(id string) slurm.Job {
	s.Helper()
	list, _, err := s.Queue(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, j := range list {
		if j.ID == id {
			return j
		}
	}
	return slurm.Job{}
}

func (s *site) await(what string, is func() bool) {
	s.Helper()
	s.awaitFor(time.Minute, what, is)
}

func (s *site) awaitFor(most time.Duration, what string, is func() bool) {
	s.Helper()
	for end := time.Now().Add(most); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			out, _ := s.Tools.Run(context.Background(), "squeue", "-o", "%i %P %T %r %E %N %n")
			s.Fatalf("after %s it is not so that %s; the queue:\n%s", most, what, out)
		}
	}
}

func newSite(t *testing.T, lease time.Duration) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	return &site{T: t, Cluster: slurmtest.Start(t, slurmtest.Options{Nodes: 2}), path: filepath.Join(t.TempDir(), "journal.db"), lease: lease}
}

// TestLive: what people submit to Slurm is started in escala's order where escala says, what runs already is
// adopted, work that gives way is requeued and goes on later, and what is not escala's is Slurm's.
func TestLive(t *testing.T) {
	s := newSite(t, 0)
	early := s.Sbatch("sleep 8", "--gres=gpu:8", "-w", "n1")
	s.await("the first runs", func() bool { return s.line(early).State == slurm.Running })
	s.open("contract", false)
	s.await("it is adopted", func() bool { return s.fate(early) == "running" })

	low := s.Sbatch("trap 'exit 0' TERM; [ \"$SLURM_RESTART_COUNT\" = 1 ] && exit 0; sleep 300 & wait", "--gres=gpu:8", "--requeue", "--comment=escala:min-runtime=0,grace=3s")
	s.await("the unallocated one runs", func() bool { return s.fate(low) == "running" })
	foreign := s.Sbatch("sleep 1", "--gres=gpu:8", "-p", "scav")
	part := s.Sbatch("exit 0", "-N2", "--gres=gpu:1")
	array := s.Sbatch("exit $SLURM_ARRAY_TASK_ID", "--array=0-2", "--gpus=4", "--comment=escala:min-runtime=1h,team=vision")
	s.await("the array is done", func() bool {
		return s.fate(array+"_0") == "completed" && s.fate(array+"_1") == "failed" && s.fate(array+"_2") == "failed"
	})
	mixed := s.Sbatch("sleep 2", "--array=0-5", "--gpus=8") // some run, some wait, and are kept back
	s.await("the rest of an array is kept back", func() bool {
		j := s.line(mixed)
		return j.Reason == "Dependency" && len(j.Tasks) > 0 && len(j.Tasks) < 6
	})
	s.await("and comes to its end", func() bool {
		for i := range 6 {
			if s.fate(fmt.Sprint(mixed, "_", i)) != "completed" {
				return false
			}
		}
		return true
	})
	s.await("what gave way has come to its end", func() bool { return s.fate(low) == "completed" })
	j, err := s.d.Job(t.Context(), low)
	if err != nil || len(j.Runs) < 1 || j.Spec.Contract.MinRuntime != 0 || !j.Spec.Contract.HasMinRuntime {
		t.Errorf("%+v, %v", j, err)
	}
	s.await("the others have ended", func() bool {
		return s.line(foreign).ID == "" && s.line(part).ID == "" && s.fate(early) == "completed"
	})

	// Taken back there, and here.
	blocker := s.Sbatch("sleep 300", "-N2", "--gres=gpu:8")
	s.await("all is in use", func() bool { return s.fate(blocker) == "running" })
	there, here, held := s.Sbatch("exit 0", "--gpus=8"), s.Sbatch("exit 0", "--gpus=8"), s.Sbatch("exit 0", "--gpus=8", "--hold")
	s.await("they wait, kept back", func() bool {
		return s.fate(there) == "waiting" && s.fate(here) == "waiting" && s.fate(held) == "held" && s.line(here).Reason == "Dependency"
	})
	if err := s.Cancel(t.Context(), there); err != nil {
		t.Error(err)
	}
	n, err := s.d.Members(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.d.Cancel(t.Context(), n, "root", ""); err != nil {
		t.Error(err)
	}
	if _, err := s.Tools.Run(t.Context(), "scontrol", "release", held); err != nil {
		t.Error(err)
	}
	s.await("that is known on both sides", func() bool {
		return s.fate(there) == "cancelled" && s.line(here).ID == "" && s.fate(held) == "waiting"
	})
	n, _ = s.d.Members(t.Context(), blocker)
	if _, err := s.d.Cancel(t.Context(), n, "root", ""); err != nil {
		t.Error(err)
	}
	s.await("the last has ended", func() bool { return s.fate(blocker) == "cancelled" && s.fate(held) == "completed" })

	// A reboot of slurmctld while a job runs, and one of escala.
	long := s.Sbatch("sleep 12; exit 4", "--gpus=2")
	s.await("it runs", func() bool { return s.fate(long) == "running" })
	s.StopController()
	s.stop()
	s.StartController()
	s.open("contract", false)
	s.await("it has failed as it did", func() bool { return s.fate(long) == "failed" })
	if j, err := s.d.Job(t.Context(), long); err != nil || j.Exit != 4 || len(j.Runs) != 1 {
		t.Errorf("%+v, %v", j, err)
	}
}

// TestLeaseRunsOut: if escala is gone, the queue is Slurm's own once the lease has run out.
func TestLeaseRunsOut(t *testing.T) {
	s := newSite(t, 12*time.Second)
	s.open("contract", false)
	blocker := s.Sbatch("sleep 300", "-N2", "--gres=gpu:8")
	s.await("all is in use", func() bool { return s.fate(blocker) == "running" })
	var ids []string
	for range 5 {
		ids = append(ids, s.Sbatch("sleep 60", "--gpus=1"))
	}
	s.await("they are kept back", func() bool {
		for _, id := range ids {
			if s.line(id).Reason != "Dependency" {
				return false
			}
		}
		return true
	})
	s.stop()
	if err := s.Cancel(t.Context(), blocker); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if st := s.line(ids[0]).State; st != slurm.Pending {
		t.Errorf("it is %s while the lease lasts", st)
	}
	s.await("Slurm has started them all by itself", func() bool {
		for _, id := range ids {
			if s.line(id).State != slurm.Running {
				return false
			}
		}
		return true
	})
}

// TestLeaseIsCancelled: where nothing is free for the lease, Slurm cancels it once its deadline cannot be kept, which
// is as good; and a lease that somebody cancels is made anew.
func TestLeaseIsCancelled(t *testing.T) {
	s := newSite(t, 12*time.Second)
	s.overtime = 65 * time.Second
	s.open("contract", false)
	full := s.Sbatch("sleep 300", "-N2", "--gres=gpu:8", "--exclusive")
	s.await("all is in use, the cores too", func() bool { return s.fate(full) == "running" })
	id := s.Sbatch("sleep 60", "--gpus=1")
	lease := func() string {
		out, err := s.Tools.Run(t.Context(), "squeue", "-h", "-n", "escala-lease", "-t", "PENDING", "-o", "%A")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	kept := func() bool { l := lease(); return l != "" && strings.HasPrefix(s.line(id).Dependency, "afterany:"+l) }
	s.await("it is kept back", kept)
	old := lease()
	if err := s.Cancel(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	s.await("it is kept back by another lease", func() bool { return lease() != old && kept() })
	s.stop()
	s.await("the lease was cancelled, and the job is Slurm's", func() bool {
		return lease() == "" && s.line(id).Dependency == "" && s.line(id).State == slurm.Pending
	})
	if s.line(full).State != slurm.Running {
		t.Error("the cluster was not full any more")
	}
}

// TestRelease: everything is given back, and what people asked for is as it was.
func TestRelease(t *testing.T) {
	s := newSite(t, 0)
	s.reader = &slurm.JSON{Runner: s.Tools}
	s.open("contract", false)
	blocker := s.Sbatch("sleep 300", "-N2", "--gres=gpu:8")
	s.await("all is in use", func() bool { return s.fate(blocker) == "running" })
	a, b := s.Sbatch("sleep 60", "--gpus=1"), s.Sbatch("sleep 60", "--gpus=1", "--dependency=afterany:"+blocker)
	s.await("both are kept back", func() bool {
		return s.line(a).Reason == "Dependency" && len(s.line(b).Dependency) > len(s.line(a).Dependency)
	})
	s.stop()
	r, err := slurmworld.Release(t.Context(), s.Client, "")
	if err != nil || len(r.Jobs) != 2 || len(r.Leases) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if x, y := s.line(a).Dependency, s.line(b).Dependency; x != "" || y != "afterany:"+blocker+"(unfulfilled)" {
		t.Errorf("dependencies %q and %q", x, y)
	}
}

// TestShadow: nothing is changed, and what Slurm really does is written down.
func TestShadow(t *testing.T) {
	s := newSite(t, 0)
	s.reader = &slurm.JSON{Runner: s.Tools}
	s.open("contract", true)
	a, b := s.Sbatch("sleep 4; exit 3", "--gpus=8"), s.Sbatch("exit 0", "--gpus=8", "--hold")
	s.await("the first was seen to run", func() bool {
		j, err := s.d.Job(t.Context(), a)
		return err == nil && j.Real != nil && j.Real.Open()
	})
	s.await("and to fail", func() bool {
		j, err := s.d.Job(t.Context(), a)
		return err == nil && j.Real != nil && !j.Real.Open() && j.Real.Exit == 3
	})
	s.await("the second is held", func() bool { return s.fate(b) == "held" })
	if j := s.line(b); j.Dependency != "" || !j.Held() {
		t.Errorf("a shadow has changed a job: %+v", j)
	}
	out, err := s.Tools.Run(t.Context(), "squeue", "-h", "-n", "escala-lease")
	if err != nil || len(out) > 0 {
		t.Errorf("a shadow has a lease: %s, %v", out, err)
	}
}
