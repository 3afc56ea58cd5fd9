package slurmworld_test

import (
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
)

// lines keeps a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// TestOtherNodes: what becomes another node while the daemon runs is told once, and is not used as if it were the old one.
func TestOtherNodes(t *testing.T) {
	s := newSite(t, 0)
	var log lines
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	s.open("contract", false)
	before, err := os.ReadFile(s.Conf)
	if err != nil {
		t.Fatal(err)
	}
	conf := func(text string) {
		t.Helper()
		s.StopController()
		if err := os.WriteFile(s.Conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.StartController()
	}
	text := string(before)
	text = strings.Replace(text, "PartitionName=train", "NodeName=n9 NodeAddr=127.0.0.1 Port=9 CPUs=64 RealMemory=512000 Gres=gpu:a100:8 State=UNKNOWN\nPartitionName=train", 1)
	one, rest, _ := strings.Cut(text, "NodeName=n1 ")
	line, rest, _ := strings.Cut(rest, "\n")
	conf(one + "NodeName=n1 " + strings.Replace(line, "Gres=gpu:a100:8", "Gres=gpu:a100:4", 1) + "\n" + rest)
	s.await("the new node and the smaller one are told", func() bool {
		return log.count("node=n9") == 1 && log.count("node=n1 what=\"it has 4 GPUs a100 in Slurm, and 8 a100 in this journal") == 1
	})
	s.await("the smaller one is closed", func() bool { return s.drained("n1") })
	id := s.Sbatch("sleep 1", "--gpus=4")
	s.await("a job runs on the other", func() bool { return s.fate(id) == "completed" })
	if log.count("level=WARN msg=\"a node is not") != 2 {
		t.Error("it was told more than once")
	}
	one, rest, _ = strings.Cut(string(before), "NodeName=n2 ")
	_, rest, _ = strings.Cut(rest, "\n")
	conf(one + rest)
	s.await("the one that went is down, and the other as it was", func() bool {
		return s.d.Nodes()[1].Down && !s.drained("n1") && log.count("a node is again what it was") == 2
	})
	conf(string(before))
	s.await("it is back", func() bool { return !s.d.Nodes()[1].Down })
}
