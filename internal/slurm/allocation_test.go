package slurm_test

import (
	"context"
	"maps"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestRealAllocation asks where the GPUs of a heterogeneous job and of a task of an array are.
func TestRealAllocation(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 3})
	ctx := context.Background()
	c.Run("sbatch", "--output=/dev/null", "--chdir=/", "-w", "n1", "--gpus=3", ":", "-w", "n2,n3", "-N2", "--gpus=2", "--wrap=sleep 600")
	array := c.Sbatch("sleep 600", "--array=4-5%1", "--gpus=2", "-N2")
	want := map[string]map[string]int64{"1": {"n1": 3}, "2": {"n2": 1, "n3": 1}}
	c.Wait("they run", func() bool {
		n := 0
		for _, j := range queue(t, c) {
			if j.State == slurm.Running {
				n++
			}
		}
		return n == 3
	})
	for id, on := range want {
		if got, err := c.Allocation(ctx, id); err != nil || !maps.Equal(got, on) {
			t.Errorf("%s: %v, %v", id, got, err)
		}
	}
	if got, err := c.Allocation(ctx, array+"_4"); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := c.Allocation(ctx, array+"_5"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := c.Allocation(ctx, "99"); err == nil {
		t.Errorf("%v", got)
	}
}
