package slurm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestRealChanges changes jobs, many at once, and reads the rest of a real cluster.
func TestRealChanges(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2})
	ctx := context.Background()
	evil := "x Partition=evil JobState=RUNNING\nJobId=77 JobName=y"
	comment := " Partition=x JobState=RUNNING NodeList=n1|\x1f\n7"
	a := c.Sbatch("sleep 60", "--hold", "--job-name="+evil, "--comment="+comment, "--exclude=n2")
	b := c.Sbatch("sleep 60", "--begin=now+1day")
	array := c.Sbatch("sleep 60", "--begin=now+1day", "--array=1-5", "--gpus=1")

	t.Run("texts", func(t *testing.T) {
		jobs := queue(t, c)
		all, err := c.Texts(ctx)
		if err != nil || len(all) != 3 {
			t.Fatalf("%v, %v", all, err)
		}
		some, err := c.Texts(ctx, jobs[a].Number, 99999)
		if want := (slurm.Texts{Name: evil, Comment: comment, WorkDir: c.Dir + "/jobs", Excluded: "n2"}); err != nil || len(some) != 1 || some[jobs[a].Number] != want || all[jobs[a].Number] != want {
			t.Errorf("%+v, %v", some, err)
		}
		if none, err := c.Texts(ctx, 99999); err != nil || len(none) != 0 {
			t.Errorf("%+v, %v", none, err)
		}
	})
	t.Run("tasks that differ have lines of their own", func(t *testing.T) {
		failed, err := c.UpdateEach(ctx, []string{array + "_2", "99999", b, array + "_9"}, "timelimit=7")
		if err != nil || len(failed) != 2 || !errors.Is(failed["99999"], slurm.ErrNoJob) || !errors.Is(failed[array+"_9"], slurm.ErrNoJob) {
			t.Errorf("%v, %v", failed, err)
		}
		jobs := queue(t, c)
		if rest := jobs[array]; !slices.Equal(rest.Tasks, []int32{1, 3, 4, 5}) || jobs[array+"_2"].Limit.Minutes() != 7 || jobs[b].Limit.Minutes() != 7 || rest.Limit.Minutes() != 60 {
			t.Errorf("%+v", jobs)
		}
		if texts, err := c.Texts(ctx); err != nil || texts[jobs[array+"_2"].Number].Name != "wrap" || len(texts) != len(jobs) {
			t.Errorf("%v, %v", texts, err)
		}
		if _, err := c.UpdateEach(ctx, []string{b}, "colour=red"); !errors.Is(err, slurm.ErrInvalid) {
			t.Errorf("%v", err)
		}
		if failed, err := c.UpdateEach(ctx, []string{b, array}, "partition=nowhere"); err != nil || len(failed) != 2 || !errors.Is(failed[array], slurm.ErrInvalid) {
			t.Errorf("%v, %v", failed, err)
		}
	})
	t.Run("an array of which a task runs", func(t *testing.T) {
		id := c.Sbatch("sleep 600", "--array=1-4", "--exclusive", "-N2")
		defer func() { _ = c.Cancel(ctx, id) }()
		c.Wait("a task runs", func() bool { return queue(t, c)[id+"_1"].State == slurm.Running })
		if failed, err := c.UpdateEach(ctx, []string{id, "99999"}, "dependency=afterany:"+b); err != nil || len(failed) != 1 {
			t.Errorf("%v, %v", failed, err)
		}
		if failed, err := c.UpdateEach(ctx, []string{id + "_1", id + "_3"}, "timelimit=5", "dependency="); err != nil || len(failed) != 1 || !errors.Is(failed[id+"_1"], slurm.ErrBusy) {
			t.Errorf("%v, %v", failed, err)
		}
		jobs := queue(t, c)
		rest := jobs[id]
		if rest.Dependency == "" || rest.Address() != id+"_[2,4]" || jobs[id+"_3"].Dependency != "" {
			t.Errorf("%+v", jobs)
		}
		if failed, err := c.UpdateEach(ctx, []string{rest.Address()}, "partition=nowhere"); err != nil || len(failed) != 1 || !errors.Is(failed[rest.Address()], slurm.ErrInvalid) {
			t.Errorf("%v, %v", failed, err)
		}
		if failed, err := c.UpdateEach(ctx, []string{rest.Address()}, "timelimit=6"); err != nil || len(failed) > 0 {
			t.Errorf("%v, %v", failed, err)
		}
		if jobs := queue(t, c); jobs[id].Limit.Minutes() != 6 || jobs[id+"_3"].Limit.Minutes() != 5 {
			t.Errorf("%+v", jobs)
		}
	})
	t.Run("nodes of many jobs", func(t *testing.T) {
		failed, err := c.UpdateEach(ctx, []string{array + "_3", b, "99999", array + "_9"}, "reqnodelist=n2", "timelimit=8")
		if err != nil || len(failed) != 2 || !errors.Is(failed["99999"], slurm.ErrNoJob) || !errors.Is(failed[array+"_9"], slurm.ErrNoJob) {
			t.Errorf("%v, %v", failed, err)
		}
		// The array has tasks that were set apart.
		if failed, err = c.UpdateEach(ctx, []string{array, b}, "reqnodelist=n1"); err != nil || len(failed) != 1 || !errors.Is(failed[array], slurm.ErrInvalid) {
			t.Errorf("%v, %v", failed, err)
		}
		jobs := queue(t, c)
		if j := jobs[array+"_3"]; j.Where != "n2" || j.Limit.Minutes() != 8 || jobs[b].Where != "n1" || jobs[array].Where != "" {
			t.Errorf("%+v", jobs)
		}
		// No word of it becomes a command.
		if failed, err := c.UpdateEach(ctx, []string{b}, "reqnodelist=n2", "comment=x\nshutdown"); err != nil || len(failed) > 0 {
			t.Errorf("%v, %v", failed, err)
		}
		if j := queue(t, c)[b]; j.Where != "n2" {
			t.Errorf("%+v", j)
		}
		if failed, err := c.UpdateEach(ctx, []string{b}, "reqnodelist="); err != nil || len(failed) > 0 || queue(t, c)[b].Where != "" {
			t.Errorf("%v, %v", failed, err)
		}
	})
	t.Run("hold and release", func(t *testing.T) {
		if failed, err := c.Hold(ctx, b, "99999"); err != nil || len(failed) != 1 || !errors.Is(failed["99999"], slurm.ErrNoJob) {
			t.Errorf("%v, %v", failed, err)
		}
		if j := queue(t, c)[b]; !j.Held() || j.Reason != "JobHeldUser" {
			t.Errorf("%+v", j)
		}
		if failed, err := c.Release(ctx, b); err != nil || len(failed) > 0 {
			t.Errorf("%v, %v", failed, err)
		}
		if j := queue(t, c)[b]; j.Held() {
			t.Errorf("%+v", j)
		}
	})
	t.Run("nodes and reservations", func(t *testing.T) {
		if err := c.Drain(ctx, "n2", "a fan"); err != nil {
			t.Error(err)
		}
		nodes, err := c.Nodes(ctx)
		if err != nil || !nodes[1].Closed() || nodes[1].Reason != "a fan" {
			t.Errorf("%+v, %v", nodes, err)
		}
		if err := c.Resume(ctx, "n2"); err != nil {
			t.Error(err)
		}
		if err := c.Drain(ctx, "n99", "x"); !errors.Is(err, slurm.ErrInvalid) {
			t.Errorf("%v", err)
		}
		name, err := c.CreateReservation(ctx, "reservation=r1", "starttime=now", "duration=60", "nodes=n1", "users=root,daemon", "flags=maint")
		if err != nil || name != "r1" {
			t.Fatalf("%q, %v", name, err)
		}
		if _, err := c.CreateReservation(ctx, "reservation=r1", "starttime=now", "duration=60", "nodes=n1", "users=root"); !errors.Is(err, slurm.ErrBusy) {
			t.Errorf("%v", err)
		}
		list, err := c.Reservations(ctx)
		if err != nil || len(list) != 1 || !list[0].Active || !list[0].Maintenance() || list[0].End.Sub(list[0].Start).Minutes() != 60 || !slices.Equal(list[0].Users, []string{"root", "daemon"}) || !slices.Equal(list[0].Nodes, []string{"n1"}) {
			t.Errorf("%+v, %v", list, err)
		}
		if err := c.DeleteReservation(ctx, "r1"); err != nil {
			t.Error(err)
		}
		if err := c.DeleteReservation(ctx, "r1"); !errors.Is(err, slurm.ErrInvalid) {
			t.Errorf("%v", err)
		}
	})
	t.Run("what there is", func(t *testing.T) {
		p, err := c.Probe(ctx)
		if err != nil || !p.AtLeast(20, 11) || p.Config.Port == 0 || p.Config.ClusterName != "test" || p.Config.Accounting() || p.RightUnknown != nil || p.Right != slurm.SlurmUser || p.Config.MinJobAge.Seconds() != 300 ||
			p.Config.MaxArraySize != 1001 || p.Config.PriorityType != "priority/basic" || p.Config.CredentialsExpire == 0 || p.Config.Booted.IsZero() || p.Config.Scheduler["sched_interval"] == "" {
			t.Errorf("%+v, %v", p, err)
		}
		if p.Major == 22 && (p.JSON["scontrol"] || !p.JSON["squeue"]) {
			t.Errorf("%v", p.JSON)
		}
		parts, err := c.Partitions(ctx)
		if err != nil || len(parts) != 2 || parts[0].Name != "train" || !parts[0].Default || len(parts[0].Nodes) != 2 || parts[0].MaxTime != 0 || parts[0].DefaultTime.Hours() != 1 || parts[0].State != "UP" || parts[0].MaxNodes != slurm.Unlimited {
			t.Errorf("%+v, %v", parts, err)
		}
		d, err := c.Diag(ctx)
		if err != nil || d.Submitted != 11 || d.Calls["REQUEST_SUBMIT_BATCH_JOB"].Count != 4 || len(d.Users) == 0 || d.ServerThreads == 0 || d.At.Before(d.Since) {
			t.Errorf("%+v, %v", d, err)
		}
		if !strings.Contains(p.Right.String(), "SlurmUser") {
			t.Error(p.Right)
		}
	})
}
