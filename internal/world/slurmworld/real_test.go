package slurmworld_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/slurmworld"
	"github.com/escala-sched/escala/internal/world/worldtest"
	"github.com/escala-sched/escala/workload"
)

// slots are parts of one cluster, each a partition with two nodes: cases run side by side.
const slots = 6

// TestContract holds the world to the contract of all worlds, on a real Slurm.
func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	var parts []string
	for i := range slots {
		parts = append(parts, fmt.Sprintf("PartitionName=p%d Nodes=n[%d-%d] MaxTime=INFINITE DefaultTime=60 State=UP", i, 2*i+1, 2*i+2))
	}
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2 * slots, Partitions: parts})
	free := make(chan int, slots)
	for i := range slots {
		free <- i
	}
	t.Run("cases", func(t *testing.T) {
		worldtest.Run(t, func(t *testing.T) worldtest.Harness {
			k := <-free
			t.Cleanup(func() { free <- k })
			return harness(t, c, k)
		})
	})
}

// harness is a part of the cluster.
func harness(t *testing.T, c *slurmtest.Cluster, k int) worldtest.Harness {
	t.Helper()
	dir, part := t.TempDir(), fmt.Sprint("p", k)
	name := "lease-" + part
	lease := c.Sbatch("true", "--job-name="+name, "--begin=now+600", "--partition="+part)
	t.Cleanup(func() {
		_, _ = c.Tools.Run(context.Background(), "scancel", "--partition="+part)
		for range 100 {
			out, err := c.Tools.Run(context.Background(), "squeue", "-h", "--partition="+part)
			if err == nil && len(out) == 0 {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error("jobs are left")
	})
	open := func(t *testing.T) world.World {
		w, err := slurmworld.New(context.Background(), slurmworld.Options{Slurm: c.Client, Now: time.Now, Partitions: []string{part}, Poll: 200 * time.Millisecond, LeaseName: name,
			LeaseArgs: []string{"--partition=" + part}, ResumeExit: 85, Calls: 1000, Patience: 20 * time.Second, Log: slog.New(slog.NewTextHandler(logTo{t}, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	file := func(kind string, r world.Run) string { return filepath.Join(dir, fmt.Sprint(kind, r.Job)) }
	var n atomic.Int32
	h := worldtest.Harness{World: open(t), Reopen: open, Patience: 45 * time.Second, Quiet: time.Second, Grace: 8 * time.Second, Keeps: true}
	h.Job = func(t *testing.T, k worldtest.Kind) world.Order {
		if k.Fails || k.Late {
			return world.Order{Run: world.Run{Job: worldtest.Cannot}}
		}
		job := n.Add(1) - 1
		o := world.Order{Do: fact.Start, Run: world.Run{Job: job, Attempt: 1}, Place: []fact.Grant{cluster.WholeGrant(job/8%2, 1<<(job%8))},
			Spec: &workload.Job{User: "root", Team: "x", Need: workload.Need{GPUs: 1}}}
		args := []string{"--gpus=1", "--partition=" + part, "--dependency=afterany:" + lease}
		if k.Slow {
			args = append(args, "--begin=now+60")
		}
		o.ID = c.Sbatch(script(k, file("ready", o.Run), file("release", o.Run)), args...)
		return o
	}
	h.Ready = func(t *testing.T, r world.Run) {
		for range 200 {
			if _, err := os.Stat(file("ready", r)); err == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Error("a job never became ready")
	}
	h.Release = func(r world.Run) { _ = os.WriteFile(file("release", r), nil, 0o600) }
	node := func(i int32) string { return h.World.Cluster().Nodes[i].Name }
	h.Lose = func(i int32) { c.LoseNode(node(i)) }
	h.Return = func(i int32) {
		c.StartNode(node(i))
		for range 50 {
			if _, err := c.Tools.Run(context.Background(), "scontrol", "update", "nodename="+node(i), "state=resume"); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return h
}

// script is a job of a kind.
func script(k worldtest.Kind, ready, release string) string {
	loop := "while [ ! -e " + release + " ]; do sleep 0.1; done"
	switch {
	case k.Exits:
		return fmt.Sprint("exit ", k.Code)
	case k.Yields:
		return "exit 85"
	}
	var s strings.Builder
	switch {
	case k.Ignores:
		s.WriteString("trap '' TERM CONT; ")
	case k.Saves:
		s.WriteString("trap 'sleep 0.5; exit 0' TERM; ")
	default:
		s.WriteString("trap 'exit 143' TERM; ")
	}
	if k.Forks {
		s.WriteString("(while :; do sleep 0.2; done) & ")
	}
	return s.String() + "touch " + ready + "; " + loop
}

// logTo writes a log to a test.
type logTo struct{ t *testing.T }

func (l logTo) Write(p []byte) (int, error) {
	if l.t.Context().Err() == nil {
		l.t.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}
