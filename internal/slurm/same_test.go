package slurm_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestRealTextAndJSON reads jobs and nodes of a real cluster both ways. Among the jobs are some whose owners try to make
// them look like others.
func TestRealTextAndJSON(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 4})
	ctx := context.Background()
	c.Run("scontrol", "update", "nodename=n1,n2", "availablefeatures=ib,a")
	c.Run("scontrol", "update", "nodename=n1,n2", "activefeatures=ib,a")
	c.Run("scontrol", "update", "nodename=n3", "state=drain", "reason=a fan [again] State=IDLE")
	gang := c.Sbatch("sleep 600", "-N2", "-n4", "--gres=gpu:2", "--mem=3G", "-Cib", "--job-name=a gang", "--comment= Partition=x JobState=PENDING  ", "-t", "1-2:03:04")
	one := c.Sbatch("sleep 600", "--gpus=a100:3", "-c2", "--mem-per-cpu=100")
	c.Wait("two jobs run", func() bool { j := queue(t, c); return j[gang].State == slurm.Running && j[one].State == slurm.Running })
	// These claim to be the gang, in the form that scontrol writes.
	fake := fmt.Sprintf("y\nJobId=%s JobName=a gang UserId=root(0) Priority=1 ExitCode=9:9 NumNodes=1-99 MinMemoryNode=7G   Nodes=n9 CPU_IDs=0 Mem=0 GRES=gpu:h100:8 Network=(null)", gang)
	c.Sbatch("sleep 600", "--hold", "--job-name="+fake)
	c.Sbatch("sleep 600", "--hold", "--comment="+fake)
	waits := c.Sbatch("sleep 600", "--exclusive", "-N", "2-3", "--gpus-per-node=8", "--dependency=afterok:"+gang, "--exclude=n4", "--nice=5", "-p", "train,scav", "--no-requeue")
	c.Sbatch("sleep 600", "--hold", "--array=1-9:2,20%3", "--gpus-per-task=1", "-n2", "-t", "UNLIMITED")
	c.Sbatch("sleep 600", "--hold", "--array=7", "--gpus-per-socket=2", "--sockets-per-node=2", "-C", "ib|a", "-w", "n[1-2]")
	c.Sbatch("sleep 600", "--hold", "--gpus=2k")
	c.Sbatch("sleep 600", "--begin=now+1day", "--deadline=now+2days")
	c.Run("sbatch", "--hold", "--output=/dev/null", "-N2", "--gpus=2", ":", "-N1", "--gpus=1", "--wrap=true")
	c.Run("scontrol", "update", "jobid="+one, "admincomment=an operator's | words")

	jobs, odd, err := c.Jobs(ctx)
	if err != nil || len(odd) > 0 {
		t.Fatal(err, odd)
	}
	by := map[string]slurm.Job{}
	for _, j := range jobs {
		by[j.ID] = j
	}
	g := by[gang]
	if g.Name != "a gang" || g.Comment != " Partition=x JobState=PENDING  " || g.MemoryPerNode != 3072 || len(g.GPUsOn) != 2 || g.GPUsOn["n2"].Count != 2 || g.GPUsOn["n2"].TypeNames() != "a100" || g.Exit != 0 || g.MaxNodes != 2 || g.Allocated == "" {
		t.Errorf("%+v", g)
	}
	if o := by[one]; o.AdminComment != "an operator's | words" || o.MemoryPerCPU != 100 || o.GPUsOn["n1"].Count+o.GPUsOn["n2"].Count+o.GPUsOn["n4"].Count != 3 {
		t.Errorf("%+v", o)
	}
	if w := by[waits]; w.MaxNodes != 3 || w.NumNodes < 2 || !w.Exclusive || w.Excluded != "n4" || w.Allocated != "" {
		t.Errorf("%+v", w)
	}

	text, err := c.Tools.Run(ctx, "squeue", "--json")
	if err != nil {
		t.Skipf("this squeue writes no JSON: %v", err)
	}
	decoded, odd, err := slurm.DecodeJobs(text)
	if err != nil || len(odd) > 0 {
		t.Fatal(err, odd)
	}
	slices.SortFunc(jobs, byNumber)
	slices.SortFunc(decoded, byNumber)
	if len(jobs) != len(decoded) {
		t.Fatalf("%d jobs as text, %d as JSON", len(jobs), len(decoded))
	}
	for i := range jobs {
		a, b := jobs[i], decoded[i]
		if math.Abs(a.Priority-b.Priority) < 1e-9 {
			b.Priority = a.Priority
		}
		if b.CPUsPerTask == 0 { // 22.05 does not tell
			b.CPUsPerTask = a.CPUsPerTask
		}
		if a.State == slurm.Pending && b.State == slurm.Pending { // Slurm may think of another between the two
			b.Reason, b.Start = a.Reason, a.Start
		}
		same(t, "job "+a.ID, a, b)
	}

	nodes, err := c.Nodes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = c.Tools.Run(ctx, "sinfo", "--json"); err != nil {
		t.Fatal(err)
	}
	others, err := slurm.DecodeNodes(text)
	if err != nil || len(others) != len(nodes) {
		t.Fatalf("%+v, %v", others, err)
	}
	for i := range nodes {
		same(t, "node "+nodes[i].Name, nodes[i], others[i])
	}
	if n := nodes[2]; !n.Closed() || n.State != "IDLE" || n.Reason != "a fan [again] State=IDLE" {
		t.Errorf("%+v", n)
	}
	if n := nodes[0]; !slices.Equal(n.Features, []string{"ib", "a"}) || n.CPUsUsed == 0 || n.GPUsUsed.Count < 2 || len(n.GPUsUsed.IDs) != int(n.GPUsUsed.Count) {
		t.Errorf("%+v", n)
	}
}

func byNumber(a, b slurm.Job) int { return int(a.Number - b.Number) }

// same compares the fields of two values.
func same(t *testing.T, what string, a, b any) {
	t.Helper()
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if x.Field(i).Kind() == reflect.Struct && x.Type().Field(i).Anonymous {
			same(t, what, x.Field(i).Interface(), y.Field(i).Interface())
			continue
		}
		if p, q := x.Field(i).Interface(), y.Field(i).Interface(); !reflect.DeepEqual(p, q) {
			t.Errorf("%s: %s is %#v as text, %#v as JSON", what, x.Type().Field(i).Name, p, q)
		}
	}
}
