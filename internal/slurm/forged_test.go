package slurm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestRealForgedJobs has users write what looks like a job, or like a part of one, wherever Slurm lets them: without
// accounting an account may be any text, and so may the type of a GPU.
func TestRealForgedJobs(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2})
	ctx := context.Background()
	victim := c.Sbatch("sleep 600", "--hold", "--gres=gpu:1")
	line := c.Run("squeue", "-h", "-j", victim, "-O", strings.ReplaceAll("ArrayJobID,ArrayTaskID,JobID,HetJobID,State,Reason,UserName,UserID,Account,QOS,Partition,SubmitTime,EligibleTime,StartTime,EndTime,TimeLimit,NodeList,ReqNodes,Feature,Licenses,Reservation,"+
		"NumNodes,NumTasks,NumCPUs,cpus-per-task,tres-per-job,tres-per-node,tres-per-socket,tres-per-task,OverSubscribe,Dependency,Priority,Nice,RestartCnt,Requeue,BatchFlag,", ",", ":\x1f,"))
	forged := "\n" + strings.Replace(line, "PENDING", "RUNNING", 1)
	record := fmt.Sprintf("\nJobId=%s JobName=wrap UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=0 Nice=0 Account=(null) QOS=(null) JobState=RUNNING ExitCode=9:9 AllocNode:Sid=%s:1 NumNodes=1-99 JOB_GRES=gpu:9 Nodes=n2 CPU_IDs=0 Mem=0 GRES=gpu:h100:8 MinMemoryNode=7G Features=(null) ",
		victim, strings.TrimSpace(c.Run("squeue", "-h", "-j", victim, "-O", "AllocNodes:")))
	part := "x NumNodes=1-99 JOB_GRES=gpu:a100:8   Nodes=n2 CPU_IDs=0 Mem=0 GRES=gpu:a100:8 MinMemoryNode=7G Features=(null) Network=(null)"
	ids := map[string]string{}
	for _, text := range []string{forged, record, part} {
		for _, option := range []string{"--account", "--mcs-label", "--wckey", "--gpus", "--qos", "--network", "--bb", "--container", "--cluster-constraint", "--job-name", "--comment"} {
			if id, err := c.Submit(ctx, "sleep 600", "--hold", "--output=/dev/null", option+"="+text); err == nil {
				ids[id] = option
			}
		}
	}
	claims := []string{"--account=" + part, "--mcs-label=" + part, "--network=" + part, "--comment=" + part, "--job-name=" + part, "--cluster-constraint=" + part}
	runs := c.Sbatch("sleep 600", append(claims, "--gpus=2", "-w", "n1", "--mem=1G", "--deadline=now+1day", "--time=20", "--time-min=10")...)
	if len(ids) < 20 {
		t.Errorf("only %d jobs were taken: %v", len(ids), ids)
	}
	c.Wait("a job runs", func() bool { return queue(t, c)[runs].State == slurm.Running })

	jobs, odd, err := c.Jobs(ctx)
	if err != nil || len(odd) > 0 || len(jobs) != len(ids)+2 {
		t.Fatalf("%d jobs, %v, %v", len(jobs), odd, err)
	}
	by := map[string]slurm.Job{}
	for _, j := range jobs {
		if _, twice := by[j.ID]; twice {
			t.Errorf("job %s is there twice", j.ID)
		}
		if by[j.ID] = j; j.MaxNodes != 1 || j.MemoryPerNode > 1024 || j.Exit != 0 || len(j.GPUsOn) > 0 && j.ID != runs {
			t.Errorf("%s: %+v", ids[j.ID], j)
		}
	}
	if v := by[victim]; v.State != slurm.Pending || v.PerNode != "gres:gpu:1" || v.WorkDir != c.Dir+"/jobs" {
		t.Errorf("%+v", v)
	}
	if r := by[runs]; len(r.GPUsOn) != 1 || r.GPUsOn["n1"].Count != 2 || r.MemoryPerNode != 1024 || r.Account != strings.ToLower(part) || r.MinLimit.Minutes() != 10 || r.Deadline.IsZero() {
		t.Errorf("%+v", r)
	}
	if on, err := c.Allocation(ctx, runs); err != nil || len(on) != 1 || on["n1"] != 2 {
		t.Errorf("%v, %v", on, err)
	}
}
