package slurmtest

import "testing"

// TestBackup: the second slurmctld takes over, and gives back.
func TestBackup(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 1, Backup: true})
	id := c.Sbatch("sleep 1000")
	answers := func() bool {
		out, err := c.Tools.Run(t.Context(), "squeue", "-h", "-j", id, "-o", "%A")
		return err == nil && len(out) > 0
	}
	c.Wait("the first knows the job", answers)
	c.KillController()
	c.Wait("the second knows the job", answers)
	if first, second := c.pings(); first || !second {
		t.Errorf("the first answers: %t, the second: %t", first, second)
	}
	c.StartController()
	c.StopBackup()
	c.Wait("the first knows it again", answers)
}
