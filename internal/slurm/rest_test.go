package slurm_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestRealREST reads the same by slurmrestd and by the tools.
func TestRealREST(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, JWT: true})
	r := c.StartREST()
	ctx := context.Background()
	c.Sbatch("sleep 600", "--hold", "--array=1-5,7%2", "--gpus=2", "--comment=a comment")
	run := c.Sbatch("sleep 600", "--gres=gpu:2")
	c.Wait("a job runs", func() bool { return len(queue(t, c)[run].Nodes) == 1 })
	c.Run("scontrol", "create", "reservation", "reservation=r1", "starttime=now", "duration=60", "nodes=n2", "users=root", "flags=maint,ignore_jobs")

	jobs, odd, err := c.Jobs(ctx)
	if err != nil || len(odd) > 0 {
		t.Fatal(err, odd)
	}
	others, odd, err := r.Jobs(ctx)
	if err != nil || len(odd) > 0 || len(others) != len(jobs) {
		t.Fatalf("%+v, %v, %v", others, err, odd)
	}
	slices.SortFunc(jobs, byNumber)
	slices.SortFunc(others, byNumber)
	for i := range jobs {
		others[i].Priority, others[i].CPUsPerTask = jobs[i].Priority, jobs[i].CPUsPerTask
		same(t, "job "+jobs[i].ID, jobs[i], others[i])
	}
	nodes, err1 := c.Nodes(ctx)
	nodes2, err2 := r.Nodes(ctx)
	parts, err3 := c.Partitions(ctx)
	parts2, err4 := r.Partitions(ctx)
	held, err5 := c.Reservations(ctx)
	held2, err6 := r.Reservations(ctx, time.Now())
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil || len(nodes2) != len(nodes) || len(parts2) != len(parts) || len(held2) != 1 {
		t.Fatal(err, nodes2, parts2, held2)
	}
	for i := range nodes {
		same(t, "node", nodes[i], nodes2[i])
	}
	for i := range parts {
		parts2[i].PreemptMode, parts2[i].OverSubscribe = parts[i].PreemptMode, parts[i].OverSubscribe // told in other words
		same(t, "partition", parts[i], parts2[i])
	}
	same(t, "reservation", held[0], held2[0])

	d, err := r.Diag(ctx)
	d2, err2 := c.Diag(ctx)
	if err != nil || err2 != nil || d.Submitted != d2.Submitted || d.Since != d2.Since || d.Running != d2.Running || d.Calls["REQUEST_SUBMIT_BATCH_JOB"] != d2.Calls["REQUEST_SUBMIT_BATCH_JOB"] || len(d.Users) != len(d2.Users) {
		t.Errorf("%+v, %+v, %v, %v", d, d2, err, err2)
	}

	token := r.Token
	tokens := 0
	r.Token = func(ctx context.Context) (string, error) {
		if tokens++; tokens == 1 {
			return "no token", nil
		}
		return token(ctx)
	}
	r.Forget()
	if _, err := r.Nodes(ctx); err != nil || tokens != 2 {
		t.Errorf("%d tokens, %v", tokens, err)
	}
}
