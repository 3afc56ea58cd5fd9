package slurm_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestReal reads and changes a real cluster, with jobs whose names try to be more than names.
func TestReal(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2})
	ctx := context.Background()
	nodes, err := c.Nodes(ctx)
	if err != nil || len(nodes) != 2 || nodes[0].Name != "n1" || nodes[0].GPUs.Count != 8 || nodes[0].GPUs.TypeNames() != "a100" || nodes[0].CPUs != 64 || nodes[0].Memory != 512000 {
		t.Fatalf("%+v, %v", nodes, err)
	}
	evil := "x State=RUNNING|77|N/A\n99|N/A|99|"
	comment := "escala:min-runtime=2h|x\n7|N/A|7|"
	big := c.Sbatch("sleep 60", "--gres=gpu:8", "-N2", "--job-name="+evil, "--comment="+comment, "-t", "1-2:03:00")
	small := c.Sbatch("exit 3", "--gpus=4", "--exclude=n2", "--dependency=afterany:"+big)
	array := c.Sbatch("sleep 60", "--array=1-3,7%2", "--gpus-per-task=1", "--ntasks=2", "--hold")
	var jobs map[string]slurm.Job
	await(t, "the first runs", func() bool {
		jobs = queue(t, c)
		return jobs[big].State == slurm.Running
	})
	if j := jobs[big]; !slices.Equal(j.Nodes, []string{"n1", "n2"}) || j.PerNode != "gres:gpu:8" || j.NumNodes != 2 || j.Limit != 26*time.Hour+3*time.Minute || !j.Requeue || !j.Batch ||
		time.Since(j.Start) > time.Minute || !slices.Equal(j.Partitions, []string{"train"}) {
		t.Errorf("%+v", j)
	}
	if j := jobs[small]; j.State != slurm.Pending || j.Reason != "Dependency" || j.Dependency != "afterany:"+big+"(unfulfilled)" || j.PerJob != "gres:gpu:4" {
		t.Errorf("%+v", j)
	}
	if j := jobs[array]; !slices.Equal(j.Tasks, []int32{1, 2, 3, 7}) || !j.Held() || j.PerTask != "gres:gpu:1" || j.NumTasks != 2 || j.Array == 0 || j.Throttle != 2 {
		t.Errorf("%+v", j)
	}
	if len(jobs) != 3 {
		t.Errorf("%d jobs, want 3: %v", len(jobs), jobs)
	}
	if text, not, err := c.Comment(ctx, small); err != nil || text != "" || not != "n2" {
		t.Errorf("%q, %q, %v", text, not, err)
	}
	if text, _, err := c.Comment(ctx, big); err != nil || text != "escala:min-runtime=2h|x" {
		t.Errorf("%q, %v", text, err)
	}

	if err := c.Update(ctx, array+"_3", "nice=5"); err != nil {
		t.Errorf("%v", err)
	}
	if err := c.Update(ctx, "99999", "dependency="); !errors.Is(err, slurm.ErrNoJob) {
		t.Errorf("%v", err)
	}
	if err := c.Requeue(ctx, big); err != nil {
		t.Errorf("%v", err)
	}
	await(t, "it waits again", func() bool { j := queue(t, c)[big]; return j.State == slurm.Pending && j.Restarts == 1 })
	if err := c.Cancel(ctx, big); err != nil {
		t.Errorf("%v", err)
	}
	var end slurm.End
	await(t, "the second has ended", func() bool {
		if _, there := queue(t, c)[small]; there {
			return false
		}
		end, err = c.Ended(ctx, small)
		return err == nil
	})
	if end.State != "FAILED" || end.Exit != 3 || end.End.Before(end.Start) || end.Start.IsZero() {
		t.Errorf("%+v", end)
	}
	tasks := c.Sbatch("exit $SLURM_ARRAY_TASK_ID", "--array=0-2,5")
	await(t, "an array has ended", func() bool { _, there := queue(t, c)[tasks+"_5"]; return !there && len(queue(t, c)) < 3 })
	all, err := c.Ends(ctx, []string{small, tasks + "_0", tasks + "_1", tasks + "_5", "99999"})
	if err != nil || len(all) != 4 || all[small] != end || all[tasks+"_0"].State != "COMPLETED" || all[tasks+"_5"].Exit != 5 || all[tasks+"_1"].Exit != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if none, err := c.Ends(ctx, []string{"99999"}); err != nil || len(none) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
	if _, err := c.Ended(ctx, "99999"); !errors.Is(err, slurm.ErrNoJob) {
		t.Errorf("%v", err)
	}
	c.StopController()
	if _, _, err := c.Queue(ctx); !errors.Is(err, slurm.ErrAway) {
		t.Errorf("%v", err)
	}
	c.StartController()
	if _, there := queue(t, c)[array]; !there {
		t.Error("slurmctld forgot a job")
	}
}

func queue(t *testing.T, c *slurmtest.Cluster) map[string]slurm.Job {
	t.Helper()
	list, odd, err := c.Queue(context.Background())
	if err != nil || len(odd) > 0 {
		t.Fatal(err, odd)
	}
	out := map[string]slurm.Job{}
	for _, j := range list {
		out[j.ID] = j
	}
	return out
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 30 s it is not so that %s", what)
		}
	}
}
