package slurmworld_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
)

// TestALargeJobGetsItsDate: nodes are kept for a job that needs all of them until the last is free, jobs that would be in
// its way wait, those that are done by then do not, and there is no reservation in Slurm that could be left behind.
func TestALargeJobGetsItsDate(t *testing.T) {
	s := newSite(t, 0)
	s.open("easy", false)
	long := s.Sbatch("sleep 25", "-w", "n1", "--gres=gpu:8", "--time=1")
	s.await("one node is in use", func() bool { return s.fate(long) == "running" })
	large := s.Sbatch("sleep 5", "-N2", "--gres=gpu:8", "--time=1")
	s.await("the large job waits", func() bool { return s.fate(large) == "waiting" })
	var small []string
	for i := range 4 { // one that is done by then, and some that are not
		limit, work := "--time=10", "sleep 60"
		if i == 0 {
			limit, work = "--time=0:20", "sleep 2"
		}
		small = append(small, s.Sbatch(work, "--gpus=8", limit, "--comment=escala:estimate="+map[bool]string{true: "5s", false: "10m"}[i == 0]))
	}
	s.await("the short one has run", func() bool { return s.fate(small[0]) == "completed" })
	if f := s.fate(large); f != "waiting" {
		t.Errorf("the large job is %s already", f)
	}
	s.await("the large job runs", func() bool { return s.fate(large) == "running" })
	for _, id := range small[1:] {
		if f := s.fate(id); f != "waiting" {
			t.Errorf("job %s is %s, and was in the way", id, f)
		}
	}
	first, err1 := s.d.Job(t.Context(), long)
	second, err2 := s.d.Job(t.Context(), large)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	idle := time.Duration(second.Run().Up-first.Ended) * time.Millisecond
	t.Logf("it started %s after the last node was free", idle.Round(100*time.Millisecond))
	if out, err := s.Tools.Run(t.Context(), "scontrol", "show", "reservation"); err != nil || !strings.Contains(string(out), "No reservations") {
		t.Errorf("%s %v", out, err)
	}
	for _, id := range small[1:] {
		if j := s.line(id); j.State == slurm.Pending && !strings.HasPrefix(j.Dependency, "afterany:") {
			t.Errorf("%s is not kept back: %s", id, fmt.Sprint(j.Dependency))
		}
		_ = s.Cancel(t.Context(), id)
	}
}
