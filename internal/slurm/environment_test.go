package slurm_test

import (
	"context"
	"testing"

	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestRealOptionsOfPeople has the daemon started by somebody who set options of the tools for themselves.
func TestRealOptionsOfPeople(t *testing.T) {
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1})
	id := c.Sbatch("sleep 600", "--hold", "--array=1-3", "--gpus=1")
	run := c.Sbatch("sleep 600", "-p", "scav")
	c.Wait("a job runs", func() bool { return queue(t, c)[run].State == "RUNNING" })
	for k, v := range map[string]string{
		"SQUEUE_PARTITION": "train", "SQUEUE_ARRAY": "1", "SQUEUE_STATES": "RUNNING", "SQUEUE_FORMAT": "%j", "SQUEUE_USERS": "nobody", "SQUEUE_SORT": "x", "SINFO_PARTITION": "scav", "SINFO_FORMAT": "%n",
		"SCANCEL_STATE": "PENDING", "SCANCEL_NAME": "no such", "SCANCEL_CTLD": "1", "SBATCH_PARTITION": "nowhere", "SLURM_CLUSTERS": "elsewhere", "SLURM_TIME_FORMAT": "relative", "SLURM_BITSTR_LEN": "3", "LC_ALL": "xx",
	} {
		t.Setenv(k, v)
	}
	jobs := queue(t, c)
	if len(jobs) != 2 || len(jobs[id].Tasks) != 3 || jobs[run].Start.IsZero() {
		t.Errorf("%+v", jobs)
	}
	if nodes, err := c.Nodes(context.Background()); err != nil || len(nodes) != 1 {
		t.Errorf("%+v, %v", nodes, err)
	}
	if err := c.Cancel(context.Background(), run); err != nil {
		t.Error(err)
	}
	c.Wait("it was cancelled", func() bool { _, there := queue(t, c)[run]; return !there })
	c.Sbatch("true")
}
