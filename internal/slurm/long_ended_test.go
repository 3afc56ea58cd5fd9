package slurm_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestRealLongEnded: what slurmctld has forgotten accounting still tells, and the same.
func TestRealLongEnded(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, Accounting: true})
	ctx := t.Context()
	var ids []string
	for _, x := range []string{"exit 3", "exit 0", "kill -9 $$", "sleep 100", "exit $SLURM_ARRAY_TASK_ID"} {
		var args []string
		if x == "exit $SLURM_ARRAY_TASK_ID" {
			args = append(args, "--array=5-6")
		}
		ids = append(ids, c.Sbatch(x, args...))
	}
	array := ids[4]
	ids = append(ids[:4], array+"_5", array+"_6")
	c.Wait("one runs", func() bool { return queue(t, c)[ids[3]].State == slurm.Running })
	if err := c.Cancel(ctx, ids[3]); err != nil {
		t.Fatal(err)
	}
	open := c.Sbatch("sleep 1000")
	c.Wait("all but one have ended, and another runs", func() bool { return len(queue(t, c)) == 1 && queue(t, c)[open].State == slurm.Running })
	before := map[string]slurm.End{}
	for _, id := range ids {
		e, err := c.Ended(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		before[id] = e
	}
	time.Sleep(3 * time.Second) // the database learns of it a moment later, and could not if it never did
	c.StopController()
	for _, f := range []string{"job_state", "job_state.old"} {
		if err := os.Remove(filepath.Join(c.Dir, "state", f)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	c.StartController()
	for _, id := range ids {
		if out, err := c.Tools.Run(ctx, "squeue", "-h", "-t", "all", "-j", id, "-o", "%i"); err == nil && len(out) > 0 {
			t.Fatalf("slurmctld still knows %s: %s", id, out)
		}
		e, err := c.Ended(ctx, id)
		if err != nil || e != before[id] {
			t.Errorf("%s: accounting tells %+v, %v; slurmctld told %+v", id, e, err, before[id])
		}
	}
	if all, err := c.Ends(ctx, append(ids, "4711")); err != nil || !maps.Equal(all, before) {
		t.Errorf("all at once: %v, %v; slurmctld told %v", all, err, before)
	}
	if e, err := c.Ended(ctx, "4711"); !errors.Is(err, slurm.ErrNoJob) {
		t.Errorf("a job that never was: %+v, %v", e, err)
	}
}

// sacct is a Slurm whose slurmctld has forgotten all, and whose accounting tells this.
type sacct struct {
	out string
	err error
}

func (s sacct) Run(_ context.Context, tool string, _ ...string) ([]byte, error) {
	if tool == "squeue" {
		return nil, nil
	}
	return []byte(s.out), s.err
}

// TestLongEnded: how a job ended is told where it is known, and is nothing to wait for where it is not.
func TestLongEnded(t *testing.T) {
	for _, c := range []struct {
		sacct sacct
		want  slurm.End
		no    bool
	}{
		{sacct{out: "12_3|FAILED|1:0|5|6\n12_4|CANCELLED by 7|0:15|10|20\n"}, slurm.End{State: "CANCELLED", Exit: 143, Start: time.Unix(10, 0), End: time.Unix(20, 0)}, false},
		{sacct{out: "12_4|CANCELLED by 7|0:0|None|20\n"}, slurm.End{State: "CANCELLED", End: time.Unix(20, 0)}, false},
		{sacct{out: "12_4|RUNNING|0:0|10|Unknown\n"}, slurm.End{}, true},
		{sacct{out: ""}, slurm.End{}, true},
		{sacct{err: &slurm.ToolError{Tool: "sacct", Exit: 1, Text: "Slurm accounting storage is disabled"}}, slurm.End{}, true},
	} {
		c2 := slurm.Client{Runner: c.sacct}
		e, err := c2.Ended(t.Context(), "12_4")
		if e != c.want || errors.Is(err, slurm.ErrNoJob) != c.no || !c.no && err != nil {
			t.Errorf("%+v: %+v, %v", c.sacct, e, err)
		}
	}
}
