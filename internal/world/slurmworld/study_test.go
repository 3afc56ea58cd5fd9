package slurmworld_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

var study = flag.Int("study", 0, "jobs of the study that docs/studies/slurm.md tells of; 0 = none")

// studyJob is a job of the study: what is asked for, and what it does.
type studyJob struct {
	at, length time.Duration
	gpus       int
	team       string
	fill       bool
}

// drawStudy draws jobs: a team that asks for most, two that ask for less, and work that nobody is charged for.
func drawStudy(n int) []studyJob {
	rnd := rand.New(rand.NewPCG(1, 1))
	var out []studyJob
	at := 0.0
	for range n {
		j := studyJob{at: time.Duration(at * float64(time.Second)), gpus: []int{1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16}[rnd.IntN(11)], length: time.Duration(5*math.Pow(12, rnd.Float64())) * time.Second}
		switch x := rnd.IntN(20); {
		case x < 4:
			j.fill, j.team = true, "sweeps"
		case x < 14:
			j.team = "large"
		case x < 18:
			j.team = "middle"
		default:
			j.team = "small"
		}
		out = append(out, j)
		at += 2.1 * -math.Log(1-rnd.Float64())
	}
	return out
}

// fates are when jobs ended, and what they used in all, in GPU-seconds.
type fates struct {
	ended []time.Duration
	used  float64
	runs  int
}

// row tells how a team fared.
func (f *fates) row(jobs []studyJob, team string) string {
	var jct, slow []float64
	for i, j := range jobs {
		if team != "" && j.team != team {
			continue
		}
		d := (f.ended[i] - j.at).Seconds()
		jct, slow = append(jct, d), append(slow, max(1, d/max(j.length.Seconds(), 10)))
	}
	mean := func(v []float64) (s float64) {
		for _, x := range v {
			s += x
		}
		return s / float64(len(v))
	}
	slices.Sort(jct)
	return fmt.Sprintf("%3d jobs: JCT mean %5.0f s, p90 %5.0f s; bounded slowdown %5.2f", len(jct), mean(jct), jct[len(jct)*9/10], mean(slow))
}

// TestStudy sends the same jobs at the same times to Slurm alone and to Slurm under escala, and asks the
// simulator what it thinks of both.
func TestStudy(t *testing.T) {
	if *study == 0 {
		t.Skip("for -study N")
	}
	jobs := drawStudy(*study)
	results := map[string]*fates{}
	for _, under := range []string{"Slurm's backfill", "escala, contract"} {
		results[under] = really(t, jobs, under != "Slurm's backfill")
	}
	results["simulated: easy"], results["simulated: contract"] = simulated(t, jobs, "easy"), simulated(t, jobs, "contract")
	for _, name := range []string{"Slurm's backfill", "simulated: easy", "escala, contract", "simulated: contract"} {
		f := results[name]
		last := slices.Max(f.ended)
		t.Logf("%-20s makespan %.0f s, occupancy %.1f %%, %d runs", name, last.Seconds(), 100*f.used/(32*last.Seconds()), f.runs)
		for _, team := range []string{"large", "middle", "small", "sweeps", ""} {
			t.Logf("    %-7s %s", team, f.row(jobs, team))
		}
	}
}

// really has the jobs run.
func really(t *testing.T, jobs []studyJob, escala bool) *fates {
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 4})
	s := &site{T: t, Cluster: c, path: filepath.Join(t.TempDir(), "journal.db")}
	if escala {
		s.budgets = studyBudgets(t)
		s.open("contract", false)
	}
	began := time.Now()
	ids := map[string]int{}
	for i, j := range jobs {
		time.Sleep(time.Until(began.Add(j.at)))
		comment := "escala:min-runtime=20s,grace=2s,team=" + j.team
		if j.fill {
			comment = "escala:min-runtime=0,grace=2s,team=" + j.team
		}
		ask := []string{fmt.Sprint("--gpus=", j.gpus), "-N1"}
		if j.gpus > 8 {
			ask = []string{"--gres=gpu:8", fmt.Sprint("-N", j.gpus/8)}
		}
		ids[c.Sbatch(fmt.Sprintf("sleep %d", int(j.length.Seconds())), append(ask, "--time=2", "--requeue", "--comment="+comment)...)] = i
	}
	s.awaitFor(20*time.Minute, "all is done", func() bool {
		out, err := c.Tools.Run(context.Background(), "squeue", "-h", "-p", "train", "-o", "%j")
		return err == nil && strings.Count(string(out), "wrap") == 0
	})
	s.stopIfOpen()
	f := &fates{ended: make([]time.Duration, len(jobs))}
	data, err := os.ReadFile(filepath.Join(c.Dir, "log", "jobcomp.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		v := map[string]string{}
		for field := range strings.FieldsSeq(line) {
			k, x, _ := strings.Cut(field, "=")
			v[k] = x
		}
		i, ok := ids[v["JobId"]]
		start, err1 := time.ParseInLocation("2006-01-02T15:04:05", v["StartTime"], time.Local)
		end, err2 := time.ParseInLocation("2006-01-02T15:04:05", v["EndTime"], time.Local)
		if !ok || err1 != nil || err2 != nil {
			continue
		}
		f.runs++
		f.used += end.Sub(start).Seconds() * float64(jobs[i].gpus)
		f.ended[i] = max(f.ended[i], end.Sub(began))
	}
	return f
}

func studyBudgets(t *testing.T) *budget.Tree {
	t.Helper()
	return budget.Equal("study", []string{"large", "middle", "small", "sweeps"})
}

// simulated is what the simulator says of the same jobs.
func simulated(t *testing.T, jobs []studyJob, pol string) *fates {
	t.Helper()
	p, err := policy.Resolve(pol)
	if err != nil {
		t.Fatal(err)
	}
	w := &workload.Workload{Name: "study", Source: "study", Format: "study", Epoch: workload.Unknown}
	for i, j := range jobs {
		x := workload.Job{ID: fmt.Sprint(i), User: j.team, Team: j.team, Submit: j.at.Milliseconds(), Need: workload.Need{GPUs: int32(j.gpus)}, Limit: 2 * workload.Minute,
			Contract: workload.Contract{HasMinRuntime: true, MinRuntime: 20 * workload.Second, Grace: 2 * workload.Second}}
		if j.fill {
			x.Contract.MinRuntime = 0
		}
		if j.gpus > 8 {
			x.Need = workload.Need{Tasks: int32(j.gpus / 8), GPUs: 8}
		}
		w.Jobs = append(w.Jobs, x)
		w.Actual = append(w.Actual, workload.Actual{Duration: j.length.Milliseconds(), Start: workload.Unknown, End: workload.Unknown})
	}
	w.Rows = len(w.Jobs)
	res, err := sim.Run(t.Context(), sim.Options{Workload: w, Cluster: cluster.Uniform("study", 4, 8), Policy: p, Budgets: studyBudgets(t), Assume: sim.Assumptions{Checkpoint: -1, StartLatency: workload.Second}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fates{}
	for i := range res.Jobs {
		r := &res.Jobs[i]
		f.ended = append(f.ended, time.Duration(r.Finish)*time.Millisecond)
		f.used += float64(r.Assigned) / 1e6
		f.runs += int(r.Starts)
	}
	return f
}

// TestLatency tells how long it takes from a submission to the start on an idle cluster, with Slurm's scheduler as it
// is by default and looks every two seconds.
func TestLatency(t *testing.T) {
	if *study == 0 {
		t.Skip("for -study N")
	}
	s := &site{T: t, Cluster: slurmtest.Start(t, slurmtest.Options{Nodes: 2, Extra: []string{"SchedulerParameters=requeue_delay=1"}}), path: filepath.Join(t.TempDir(), "journal.db"), poll: 2 * time.Second}
	waiting := func(n int) (took []time.Duration) {
		for range n {
			began := time.Now()
			id := s.Sbatch("sleep 0.1", "--gpus=1")
			s.await("it has started", func() bool { j := s.line(id); return j.ID == "" || j.State == "RUNNING" || j.State == "COMPLETING" })
			took = append(took, time.Since(began).Round(10*time.Millisecond))
			time.Sleep(time.Duration(700+rand.IntN(1500)) * time.Millisecond)
		}
		slices.Sort(took)
		return took
	}
	alone := waiting(20)
	s.open("contract", false)
	blocker := s.Sbatch("sleep 3600", "--gpus=1") // what comes is kept back, and let go
	s.await("it runs", func() bool { return s.fate(blocker) == "running" })
	with := waiting(20)
	t.Logf("from submission to start, 20 jobs: Slurm alone %v in the middle, %v at most; with escala %v, %v", alone[10], alone[19], with[10], with[19])
	s.stopIfOpen()
}
