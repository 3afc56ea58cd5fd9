package slurmworld_test

import (
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
)

// TestNice: what people make of a job's turn in Slurm counts among the jobs of its account, when it is submitted and as it is changed,
// also while the scheduler is away; "scontrol top" is such a change.
func TestNice(t *testing.T) {
	s := newSite(t, 0)
	s.open("contract", false)
	full := s.Sbatch("sleep 300", "-N2", "--gres=gpu:8")
	s.await("all is in use", func() bool { return s.fate(full) == "running" })
	job := func(args ...string) string {
		return s.Sbatch("sleep 1", append([]string{"--gres=gpu:8", "-N2"}, args...)...)
	}
	a, b, c, d := job(), job("--nice=50"), job(), job()
	priority := func(id string) int64 {
		j, err := s.d.Job(t.Context(), id)
		if err != nil {
			return -1 << 40
		}
		return j.Spec.Priority
	}
	s.await("all wait, one of them with less right", func() bool {
		for _, id := range []string{a, b, c, d} {
			if s.fate(id) != "waiting" || s.line(id).Reason != "Dependency" {
				return false
			}
		}
		return priority(a) == 0 && priority(b) == -50
	})
	s.Cluster.Run("scontrol", "update", "jobid="+a, "nice=100")
	s.await("another has less still", func() bool { return priority(a) == -100 })
	s.stop()
	s.Cluster.Run("scontrol", "top", d)
	s.open("contract", false)
	s.await("the last goes first", func() bool { return priority(d) > priority(c) && priority(c) > priority(b) })
	if err := s.Cancel(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	order := []string{d, c}
	if priority(b) > priority(a) {
		order = append(order, b, a)
	} else {
		order = append(order, a, b)
	}
	var last slurm.End
	for _, id := range order {
		s.await(id+" has ended", func() bool { return s.fate(id) == "completed" })
		e, err := s.Ended(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if e.Start.Before(last.End) {
			t.Errorf("job %s began at %s, before the one that goes before it had ended (%s)", id, e.Start, last.End)
		}
		last = e
	}
}
