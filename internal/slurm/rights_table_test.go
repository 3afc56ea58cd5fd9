package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// needed is a call and the least right with which Slurm takes it.
type needed struct {
	call  string
	least slurm.Right
	try   func(ctx context.Context, c *slurm.Client, id string) error
	// runs: it is tried on a job that runs, else on one that waits.
	runs bool
}

func update(words ...string) func(context.Context, *slurm.Client, string) error {
	return func(ctx context.Context, c *slurm.Client, id string) error { return c.Update(ctx, id, words...) }
}

func tool(words ...string) func(context.Context, *slurm.Client, string) error {
	return func(ctx context.Context, c *slurm.Client, id string) error {
		args := append([]string{}, words[1:]...)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "JOB", id)
		}
		_, err := c.Run(ctx, words[0], args...)
		return err
	}
}

// sees finds a job of another user in what a tool tells. The database learns of a job some seconds later.
func sees(within time.Duration, words ...string) func(context.Context, *slurm.Client, string) error {
	return func(ctx context.Context, c *slurm.Client, id string) error {
		for end := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
			out, err := c.Run(ctx, words[0], words[1:]...)
			if err != nil || strings.Contains("\n"+string(out), "\n"+id+"\n") {
				return err
			}
			if time.Now().After(end) {
				return slurm.ErrDenied // it is left out without a word
			}
		}
	}
}

// withLease submits a lease, changes it, and cancels it.
func withLease(words ...string) func(context.Context, *slurm.Client, string) error {
	return func(ctx context.Context, c *slurm.Client, _ string) error {
		id, err := c.Submit(ctx, "true", "--begin=now+600", "--deadline=now+800", "--time=1", "--output=/dev/null", "--chdir=/", "--export=NONE")
		if err != nil {
			return err
		}
		if len(words) > 0 {
			err = c.Update(ctx, id, words...)
		}
		return errors.Join(err, c.Cancel(ctx, id))
	}
}

// calls are all that escala makes, and the rights that they need; docs/slurm.md has the same list.
var calls = []needed{
	{"`squeue`, jobs of others, with `PrivateData=jobs`", slurm.Operator, sees(0, "squeue", "-h", "-a", "-o", "%A"), false},
	{"`sacct`, jobs of others", slurm.Owner, sees(20*time.Second, "sacct", "-a", "-X", "-n", "-P", "-o", "JobID"), true},
	{"`scontrol show node`", slurm.Owner, tool("scontrol", "-a", "-o", "-d", "show", "node"), false},
	{"`scontrol show config`", slurm.Owner, tool("scontrol", "show", "config"), false},
	{"`sdiag`", slurm.Owner, tool("sdiag"), false},
	{"`sacctmgr show user`", slurm.Owner, tool("sacctmgr", "-n", "-P", "show", "user", "format=AdminLevel"), false},
	{"`sbatch` and `scancel` of the lease", slurm.Owner, withLease(), false},
	{"`scontrol update starttime=` of the lease", slurm.Owner, withLease("starttime=now+900"), false},
	{"`scontrol update deadline=` of the lease", slurm.Operator, withLease("deadline=now+1100"), false},
	{"`scontrol update dependency=`", slurm.Operator, func(ctx context.Context, c *slurm.Client, id string) error {
		return c.Update(ctx, id, "dependency=afterany:1")
	}, false},
	{"`scontrol update reqnodelist=`", slurm.Operator, update("reqnodelist=n1"), false},
	{"`scancel`", slurm.Operator, tool("scancel", "JOB"), false},
	{"`scancel --full --signal=`", slurm.Operator, tool("scancel", "--full", "--signal=CONT", "JOB"), true},
	{"`scancel --batch --signal=`, `scancel --signal=`", slurm.Operator, func(ctx context.Context, c *slurm.Client, id string) error {
		return errors.Join(c.Ask(ctx, id, slurm.Signal{Name: "CONT", Batch: true}), c.Ask(ctx, id, slurm.Signal{Name: "CONT"}))
	}, true},
	{"`scontrol write batch_script`", slurm.Operator, func(ctx context.Context, c *slurm.Client, id string) error {
		_, err := c.SignalInScript(ctx, id)
		return err
	}, false},
	{"`scontrol requeue`", slurm.Operator, tool("scontrol", "requeue", "JOB"), true},
	{"`scontrol update admincomment=`", slurm.Administrator, update("admincomment=x"), true},
	{"`scontrol update nodename= state=drain`, `state=resume`", slurm.Administrator, func(ctx context.Context, c *slurm.Client, _ string) error {
		if err := c.Drain(ctx, "n2", "x"); err != nil {
			return err
		}
		return c.Resume(ctx, "n2")
	}, false},
}

// TestRealRightsTable has people with each right make each call that escala makes. Slurm takes it from those who have
// the right that the list says, and from nobody with less; the list of the documentation is that one.
func TestRealRightsTable(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, Accounting: true, Extra: []string{"PrivateData=jobs"}})
	ctx := context.Background()
	c.Run("sacctmgr", "-i", "-Q", "add", "account", "lab", "Description=lab", "Organization=lab")
	people := []struct {
		name  string
		right slurm.Right
	}{{"news", slurm.Owner}, {"list", slurm.Operator}, {"irc", slurm.Administrator}}
	c.Run("sacctmgr", "-i", "-Q", "add", "user", "games", "account=lab", "AdminLevel=None")
	for _, p := range people {
		c.Run("sacctmgr", "-i", "-Q", "add", "user", p.name, "account=lab", "AdminLevel="+map[slurm.Right]string{slurm.Owner: "None", slurm.Operator: "Operator", slurm.Administrator: "Administrator"}[p.right])
	}
	owner := c.As("games")
	submit := func(args ...string) string {
		id, err := owner.Submit(ctx, "sleep 600", append([]string{"--output=/dev/null", "--chdir=/", "--export=PATH=/usr/bin:/bin", "--requeue"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	doc, err := os.ReadFile("../../docs/slurm.md")
	if err != nil {
		t.Fatal(err)
	}
	submit("--begin=now+1day") // the first, on which others depend
	for _, n := range calls {
		for _, p := range people {
			id := ""
			if n.runs {
				id = submit("-w", "n1", "--gres=gpu:1")
				c.Wait("the job runs", func() bool { return queue(t, c)[id].State == slurm.Running })
			} else {
				id = submit("--begin=now+1day")
			}
			err := n.try(ctx, c.As(p.name), id)
			refused := errors.Is(err, slurm.ErrDenied) || errors.Is(err, slurm.ErrNoJob) // what is private is not there
			if allowed := p.right >= n.least; allowed != (err == nil) || !allowed && !refused {
				t.Errorf("%s by %s (%s): %v; it should need %s", n.call, p.name, p.right, err, n.least)
			}
			_ = c.Cancel(ctx, id)
		}
		least := map[slurm.Right]string{slurm.Owner: "none", slurm.Operator: "operator", slurm.Administrator: "administrator"}[n.least]
		if line := fmt.Sprintf("| %s | %s |", n.call, least); !strings.Contains(string(doc), line) {
			t.Errorf("docs/slurm.md does not say %q", line)
		}
	}
}
