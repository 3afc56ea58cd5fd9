package slurmworld_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestFailover: slurmctld dies and another takes over, the first comes back, and the other is told to take over. What
// runs is neither freed nor started twice, what waits stays kept back by the same lease, and under each of the
// two jobs start and end.
func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	s := &site{T: t, Cluster: slurmtest.Start(t, slurmtest.Options{Nodes: 2, Backup: true}), path: filepath.Join(t.TempDir(), "journal.db")}
	s.open("contract", false)
	marks := filepath.Join(t.TempDir(), "marks")
	// One job has all of n1 throughout; on n2 one after the other runs, each until it is told to end.
	job := func(name string, args ...string) string {
		return s.Sbatch(fmt.Sprintf("echo %s >> %s; while [ ! -e %s.%s ]; do sleep 0.1; done; exit 4", name, marks, marks, name), append([]string{"--gpus=8"}, args...)...)
	}
	end := func(name string) {
		if err := os.WriteFile(marks+"."+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := job("long", "-w", "n1")
	s.await("the long one runs", func() bool { return s.fate(long) == "running" })
	var ids []string
	names := []string{"a", "b", "c", "d"}
	for _, n := range names {
		ids = append(ids, job(n))
		if n == "a" {
			s.await("the first of the others runs", func() bool { return s.fate(ids[0]) == "running" })
		}
	}
	lease := func() string {
		return strings.TrimSpace(s.Cluster.Run("squeue", "-h", "-n", "escala-lease", "-t", "PENDING", "-o", "%A"))
	}
	kept := func() bool {
		for _, id := range ids {
			if s.fate(id) == "waiting" && s.line(id).Reason != "Dependency" {
				return false
			}
		}
		return true
	}
	s.await("those that wait are kept back", func() bool { return s.fate(ids[3]) == "waiting" && kept() })
	first := lease()
	answers := func() bool { _, _, err := s.Queue(t.Context()); return err == nil }
	next := func(k int) {
		t.Helper()
		end(names[k])
		s.await(names[k]+" has ended and the next runs", func() bool { return s.fate(ids[k]) == "failed" && s.fate(ids[k+1]) == "running" })
		s.await("the others are kept back", kept)
	}

	time.Sleep(6 * time.Second) // slurmctld writes what changed within 5 s; what it had not written is lost with it
	dead := time.Now()
	s.KillController()
	s.await("the second slurmctld answers", answers)
	t.Logf("slurmctld was away for %s", time.Since(dead).Round(100*time.Millisecond))
	next(0)
	s.StartController() // gives back
	s.await("the first answers", answers)
	next(1)
	s.Cluster.Run("scontrol", "takeover")
	s.await("the second answers again", answers)
	next(2)

	if l := lease(); l != first {
		t.Errorf("the lease is %s, it was %s", l, first)
	}
	end("long")
	end("d")
	s.await("all have ended", func() bool { return s.fate(long) == "failed" && s.fate(ids[3]) == "failed" })
	for _, id := range append(ids, long) {
		if j, err := s.d.Job(t.Context(), id); err != nil || j.Exit != 4 || len(j.Runs) != 1 || s.line(id).State == slurm.Pending {
			t.Errorf("%+v, %v", j, err)
		}
	}
	if text, err := os.ReadFile(marks); err != nil || strings.TrimSpace(string(text)) != "long\na\nb\nc\nd" { //nolint:gosec // a file of the test's own
		t.Errorf("what ran: %q, %v", text, err)
	}
}

// TestForgotten: slurmctld dies before it has written down what it was told last, and comes back without it: a job that
// ran and one that waited are gone for good, and one that it still has is kept back by a new lease.
func TestForgotten(t *testing.T) {
	s := newSite(t, 0)
	early := s.Sbatch("sleep 300", "--gpus=8", "--hold")
	time.Sleep(6 * time.Second) // this one is written down
	s.open("contract", false)
	s.await("it is on hold", func() bool { return s.fate(early) == "held" })
	runs := s.Sbatch("sleep 300", "-N2", "--gres=gpu:8")
	s.await("the other runs", func() bool { return s.fate(runs) == "running" })
	waits := s.Sbatch("sleep 300", "--gpus=8")
	s.await("a third is kept back", func() bool { return s.line(waits).Reason == "Dependency" })
	s.KillController()
	s.StartController()
	s.await("what Slurm forgot is gone here, too", func() bool {
		return s.fate(waits) == "cancelled" && s.fate(runs) == "cancelled"
	})
	s.Cluster.Run("scontrol", "release", early)
	s.await("what it has goes on", func() bool { return s.fate(early) == "running" })
}
