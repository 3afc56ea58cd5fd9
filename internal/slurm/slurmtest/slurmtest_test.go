package slurmtest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
)

func TestNodeIsKilledWithItsJobs(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 2})
	on := map[string]string{"n1": c.Sbatch("sleep 1000", "-w", "n1"), "n2": c.Sbatch("sleep 1000", "-w", "n2")}
	works := func(node string) bool {
		return slices.ContainsFunc(c.stepsOf(node), func(pid int) bool {
			cmd, _ := os.ReadFile(proc(pid, "cmdline"))
			return string(cmd) == "sleep\x001000\x00"
		})
	}
	c.Wait("jobs run on both", func() bool { return works("n1") && works("n2") })
	c.LoseNode("n1")
	if left := c.stepsOf("n1"); len(left) > 0 {
		c.Wait("what was killed is gone", func() bool { return len(c.stepsOf("n1")) == 0 })
	}
	if !works("n2") {
		t.Error("the other node was hit")
	}
	state := func(id string) string { return strings.TrimSpace(c.Run("squeue", "-h", "-j", id, "-o", "%T")) }
	c.Wait("the job waits again", func() bool { return state(on["n1"]) == "PENDING" })
	if s := state(on["n2"]); s != "RUNNING" {
		t.Error(s)
	}
	c.StopController()
	c.StartController()
	c.StartNode("n1")
	c.Run("scontrol", "update", "nodename=n1", "state=resume")
	c.Wait("the node is back", func() bool {
		return strings.HasPrefix(c.Run("sinfo", "-h", "-n", "n1", "-p", "train", "-o", "%T"), "idle")
	})
}

func TestClusterOfTwoTypesThatPreempts(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 2, GPUs: 4, GPUTypes: []string{"a100", "h100"}, Extra: []string{"PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"},
		Partitions: []string{"PartitionName=high Nodes=ALL PriorityTier=2 Default=YES State=UP", "PartitionName=low Nodes=ALL PriorityTier=1 State=UP"}})
	ctx := t.Context()
	nodes, err := c.Nodes(ctx)
	if err != nil || len(nodes) != 2 || nodes[0].GPUs.TypeNames() != "a100" || nodes[1].GPUs.TypeNames() != "h100" || nodes[1].GPUs.Count != 4 {
		t.Errorf("%+v, %v", nodes, err)
	}
	config, err := c.Config(ctx)
	if err != nil || config.PreemptType != "preempt/partition_prio" || config.PriorityType != "priority/basic" {
		t.Errorf("%+v, %v", config, err)
	}
	job := func(id string) (j slurm.Job) {
		jobs, odd, err := c.Queue(ctx)
		if err != nil || len(odd) > 0 {
			t.Fatal(err, odd)
		}
		for i := range jobs {
			if jobs[i].ID == id {
				return jobs[i]
			}
		}
		return j
	}
	victim := c.Sbatch("sleep 1000", "-p", "low", "--gpus=h100:4")
	c.Wait("a job runs", func() bool { return job(victim).State == slurm.Running })
	first := c.Sbatch("sleep 1000", "--gpus=h100:2")
	c.Wait("another took its place", func() bool { return job(first).State == slurm.Running && job(victim).Restarts == 1 })
}
