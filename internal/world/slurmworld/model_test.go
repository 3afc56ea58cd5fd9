package slurmworld_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestWhatIsModelled: gangs that take a part of each of several nodes, nodes by their features, and arrays that hold
// themselves back are escala's to start.
func TestWhatIsModelled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	s := &site{T: t, Cluster: slurmtest.Start(t, slurmtest.Options{Nodes: 3, JWT: os.Getuid() == 0}), path: filepath.Join(t.TempDir(), "journal.db")}
	if _, err := s.Tools.Run(t.Context(), "scontrol", "update", "nodename=n3", "availablefeatures=big,new", "activefeatures=big,new"); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // read by slurmrestd
		s.reader = s.StartREST()
	}
	s.open("fifo", false)
	where := func(id string) []string {
		j, err := s.d.Job(t.Context(), id)
		if err != nil || len(j.Runs) == 0 {
			return nil
		}
		var out []string
		for _, g := range j.Run().Place {
			out = append(out, fmt.Sprint(s.d.Header().Cluster.Nodes[g.Node].Name, ":", g.Count))
		}
		slices.Sort(out)
		return out
	}
	same := func(id string, want ...string) {
		t.Helper()
		got := where(id)
		if j := s.line(id); !slices.Equal(got, want) || len(j.Nodes) != len(want) {
			t.Errorf("job %s is on %v, want %v; Slurm has it on %v", id, got, want, j.Nodes)
		}
	}
	blocker := s.Sbatch("sleep 300", "-N3", "--gres=gpu:3")
	s.await("a part of each node is in use", func() bool { return s.fate(blocker) == "running" })
	same(blocker, "n1:3", "n2:3", "n3:3")

	// 5 are left of each node: two of these gangs do not go together, whatever is left in all.
	featured, gang, second := s.Sbatch("sleep 300", "--gpus=1", "--constraint=big&new"), s.Sbatch("sleep 300", "-N3", "--gres=gpu:4"), s.Sbatch("exit 0", "-N3", "--gres=gpu:4")
	s.await("one gang runs, the other waits", func() bool {
		return s.fate(featured) == "running" && s.fate(gang) == "running" && s.fate(second) == "waiting" && s.line(second).Reason == "Dependency"
	})
	same(gang, "n1:4", "n2:4", "n3:4")
	same(featured, "n3:1")
	for _, id := range []string{blocker, gang, featured} {
		if err := s.Cancel(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	s.await("the second gang has run", func() bool { return s.fate(second) == "completed" })

	array := s.Sbatch("sleep 3", "--array=0-4%2", "--gpus=1")
	held := false
	s.await("all of the array has run", func() bool {
		held = held || s.fate(array+"_4") == "held"
		done := 0
		for i := range 5 {
			if s.fate(fmt.Sprint(array, "_", i)) == "completed" {
				done++
			}
		}
		return done == 5
	})
	if !held {
		t.Error("no task was held, and only two may run")
	}

	odd := s.Sbatch("sleep 5", "--gpus=6", "-N2")
	s.await("what cannot be modelled runs as Slurm likes", func() bool { return s.line(odd).State == slurm.Running && s.fate(odd) == "running" })
	if j, err := s.d.Job(t.Context(), odd); err != nil || j.Spec.Labels["left-to-slurm"] == "" {
		t.Errorf("%+v %v", j, err)
	}
	if l := s.w.LeftAlone(); len(l.Jobs) != 1 || l.Jobs[0].ID != odd || !l.Jobs[0].Running || l.Jobs[0].GPUs != 6 || !strings.Contains(l.Jobs[0].Why, "divide") || len(l.Nodes) != 0 {
		t.Errorf("left to Slurm: %+v", l)
	}
	s.await("and ends", func() bool { return s.fate(odd) == "completed" })
}
