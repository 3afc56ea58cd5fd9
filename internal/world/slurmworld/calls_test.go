package slurmworld_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestCallsThatSlurmCounts: slurmctld counts no more calls than were allowed, while many jobs are kept back and started.
func TestCallsThatSlurmCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	s := &site{T: t, Cluster: slurmtest.Start(t, slurmtest.Options{Nodes: 2}), path: filepath.Join(t.TempDir(), "journal.db"), calls: 6}
	blocker := s.Sbatch("sleep 300", "-N2", "--gres=gpu:8")
	s.await("all is in use", func() bool { return s.line(blocker).State == slurm.Running })
	var ids []string
	for range 40 {
		ids = append(ids, s.Sbatch("exit 0", "--gpus=4"))
	}
	before, err := s.Diag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.open("fifo", false)
	kept := func() bool {
		n := 0
		for _, id := range ids {
			if s.fate(id) == "waiting" {
				n++
			}
		}
		return n == len(ids)
	}
	s.await("all wait here", kept)
	time.Sleep(10 * time.Second)
	if _, err := s.Tools.Run(t.Context(), "scancel", blocker); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second)
	took := time.Since(began)
	after, err := s.Diag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	calls, list := int64(0), []string{}
	for name, c := range after.Calls {
		n := c.Count - before.Calls[name].Count
		switch {
		case strings.HasPrefix(name, "MESSAGE_") || strings.Contains(name, "COMPLETE") || n == 0: // of slurmd and its steps
			continue
		}
		calls += n
		list = append(list, fmt.Sprint(name, " ", n))
	}
	if most := int64(took.Seconds()*6) + 2*6 + 8; calls > most {
		t.Errorf("%d calls in %v, and %d are allowed: %v", calls, took, most, list)
	}
	t.Logf("%d calls in %v: %v", calls, took.Round(time.Second), list)
}
