package slurmworld_test

import (
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
)

// node is what Slurm says of a node.
func (s *site) node(name string) *slurm.Node {
	s.Helper()
	list, err := s.Nodes(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	s.Fatalf("there is no node %s", name)
	return nil
}

// state of a node in escala.
func (s *site) drained(node string) bool {
	s.Helper()
	return s.d.Nodes()[map[string]int{"n1": 0, "n2": 1}[node]].Drained
}

// TestDrainInSlurm: what people close by escala is closed in Slurm as well, with who did it and why, and what they
// open again is opened there, unless somebody else had closed it. A daemon that was started anew still knows.
func TestDrainInSlurm(t *testing.T) {
	s := newSite(t, 0)
	s.administers = true
	s.open("contract", false)
	if err := s.d.Drain(t.Context(), []int32{0}, "ana", "a fan\nis broken"); err != nil {
		t.Fatal(err)
	}
	s.await("it is drained in Slurm", func() bool {
		n := s.node("n1")
		return n.State == "IDLE" && n.Closed() && n.Reason == "escala: a fan is broken (ana)"
	})
	s.Cluster.Run("scontrol", "update", "nodename=n2", "state=drain", "reason=checking")
	s.await("what was drained in Slurm is so here", func() bool { return s.drained("n1") && s.drained("n2") })
	s.stop()
	s.open("contract", false)
	if err := s.d.Resume(t.Context(), []int32{0, 1}, "ana"); err != nil {
		t.Fatal(err)
	}
	s.await("the one is open on both sides, the other on none", func() bool {
		return !s.node("n1").Closed() && !s.drained("n1") && s.node("n2").Closed() && s.drained("n2")
	})
	s.Cluster.Run("scontrol", "update", "nodename=n2", "state=resume")
	s.await("that one, too, once it was opened in Slurm", func() bool { return !s.drained("n2") })
}

// TestDrainHere: without the right a node is closed for what escala starts, and stays open to all else.
func TestDrainHere(t *testing.T) {
	s := newSite(t, 0)
	s.open("contract", false)
	if err := s.d.Drain(t.Context(), []int32{0, 1}, "ana", "a fan"); err != nil {
		t.Fatal(err)
	}
	mine, other := s.Sbatch("sleep 1", "--gpus=1"), s.Sbatch("sleep 1", "--gpus=1", "-p", "scav")
	s.await("another's job has run, and the own one waits", func() bool {
		return s.line(other).ID == "" && s.fate(mine) == "waiting"
	})
	if s.node("n1").Closed() || s.node("n2").Closed() {
		t.Error("a node was closed in Slurm")
	}
	if err := s.d.Resume(t.Context(), []int32{0, 1}, "ana"); err != nil {
		t.Fatal(err)
	}
	s.await("it has run", func() bool { return s.fate(mine) == "completed" })
}

// TestNote: a job that gave way says so in its AdminComment, beside what others wrote there; one that waits says nothing.
func TestNote(t *testing.T) {
	s := newSite(t, 0)
	s.administers = true
	s.open("contract", false)
	low := s.Sbatch("sleep 300", "--gpus=8", "-N1", "-w", "n1", "--requeue", "--comment=escala:min-runtime=0,grace=1s")
	s.await("the unallocated one runs", func() bool { return s.fate(low) == "running" })
	s.Cluster.Run("scontrol", "update", "jobid="+low, "admincomment=by the site escala: of an earlier time")
	high := s.Sbatch("sleep 300", "--gpus=8", "-w", "n1", "--comment=escala:min-runtime=1h")
	var text string
	s.await("it gave way and says so", func() bool {
		var err error
		if text, err = s.AdminComment(t.Context(), low); err != nil {
			t.Fatal(err)
		}
		return s.fate(high) == "running" && strings.Contains(text, "requeued")
	})
	for _, want := range []string{"by the site escala: stopped and requeued at 2", "job " + high} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	third := s.Sbatch("sleep 300", "--gpus=8", "-w", "n1", "--comment=escala:min-runtime=1h")
	s.await("another waits", func() bool { return s.line(third).Reason == "Dependency" })
	if text, err := s.AdminComment(t.Context(), third); text != "" || err != nil {
		t.Errorf("it says %q, %v", text, err)
	}
	n, err := s.d.Members(t.Context(), high)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.d.Cancel(t.Context(), n, "ana", ""); err != nil {
		t.Fatal(err)
	}
	s.await("one that was cancelled while it ran says so as well", func() bool {
		text, err := s.AdminComment(t.Context(), high)
		return err == nil && strings.HasPrefix(text, "escala: stopped at 2")
	})
}
