package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestRealRights has people with and without rights change a cluster with accounting.
func TestRealRights(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, Accounting: true})
	ctx := context.Background()
	c.Run("sacctmgr", "-i", "-Q", "add", "account", "lab", "Description=lab", "Organization=lab")
	for user, level := range map[string]string{"games": "None", "news": "None", "list": "Operator", "irc": "Administrator"} {
		c.Run("sacctmgr", "-i", "-Q", "add", "user", user, "account=lab", "AdminLevel="+level)
	}
	people := map[string]*slurm.Client{}
	for _, name := range []string{"games", "news", "list", "irc"} {
		people[name] = c.As(name)
	}
	id, err := people["games"].Submit(ctx, "sleep 600", "--begin=now+1day", "--gres=gpu:2", "--output=/dev/null", "--chdir=/", "--export=PATH=/usr/bin:/bin")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"games", "news", "list", "irc"} {
		c := people[name]
		_, err := c.UpdateEach(ctx, []string{id}, "timelimit=5")
		failed, err2 := c.UpdateEach(ctx, []string{id}, fmt.Sprint("priority=", 200000+i)) // that it has already anybody may ask for
		drain := c.Drain(ctx, "n1", "x")
		operator, admin := name == "list" || name == "irc", name == "irc"
		if err != nil || err2 != nil || (failed[id] == nil) != operator || !operator && !errors.Is(failed[id], slurm.ErrDenied) {
			t.Errorf("%s changes a priority: %v, %v, %v", name, err, err2, failed)
		}
		if admin != (drain == nil) || !admin && !errors.Is(drain, slurm.ErrDenied) {
			t.Errorf("%s drains a node: %v", name, drain)
		}
	}
	if err := people["irc"].Resume(ctx, "n1"); err != nil {
		t.Error(err)
	}
	p, err := c.Probe(ctx)
	if err != nil || !p.Config.Accounting() || p.Right != slurm.SlurmUser {
		t.Errorf("%+v, %v", p, err)
	}
	for name, want := range map[string]slurm.Right{"games": slurm.Owner, "list": slurm.Operator, "irc": slurm.Administrator, "nobody": slurm.Owner} {
		if right, err := c.RightOf(ctx, name); err != nil || right != want {
			t.Errorf("%s: %v, %v", name, right, err)
		}
	}
	c.Run("scontrol", "update", "jobid="+id, "starttime=now")
	c.Wait("the job runs", func() bool {
		j := queue(t, c)[id]
		return j.State == slurm.Running && j.User == "games" && j.Account == "lab" && j.PerNode == "gres:gpu:2"
	})
	jobs, odd, err := c.Jobs(ctx)
	if err != nil || len(odd) > 0 || len(jobs) != 1 {
		t.Fatal(err, odd)
	}
	if j := jobs[0]; j.GPUsOn["n1"].Count != 2 || j.UID == 0 {
		t.Errorf("%+v", j)
	}
	if err := people["news"].Cancel(ctx, id); !errors.Is(err, slurm.ErrDenied) {
		t.Errorf("%v", err)
	}
	if err := people["list"].Requeue(ctx, id); err != nil {
		t.Errorf("%v", err)
	}
}
