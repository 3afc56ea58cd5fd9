package slurmtest

import (
	"os"
	"slices"
	"strings"
	"testing"
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
