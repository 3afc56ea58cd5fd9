package sim_test

import (
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// legal is an observer that checks what must hold in every run, by its own naive
// book-keeping: no GPU is given away twice, gangs are whole, nothing starts
// before its submission or its dependencies, nothing runs on a node that is down.
type legal struct {
	t      testing.TB
	spec   *cluster.Spec
	work   *workload.Workload
	left   [][]int32 // milli left by node and GPU
	cpu    []int64
	mem    []int64
	count  int64
	on     map[int32]*fact.Action
	up     map[int32]bool // of on, the confirmed ones
	ended  map[string]workload.Outcome
	down   map[int32]bool
	submit map[int32]bool
}

func newLegal(t testing.TB, spec *cluster.Spec, w *workload.Workload) *legal {
	l := &legal{t: t, spec: spec, work: w, count: int64(spec.Count) * 1000, on: map[int32]*fact.Action{}, up: map[int32]bool{},
		ended: map[string]workload.Outcome{}, down: map[int32]bool{}, submit: map[int32]bool{}}
	for _, n := range spec.Nodes {
		gpus := make([]int32, n.GPUs)
		for i := range gpus {
			gpus[i] = 1000
		}
		l.left, l.cpu, l.mem = append(l.left, gpus), append(l.cpu, n.CPU), append(l.mem, n.Memory)
	}
	return l
}

func (l *legal) move(a *fact.Action, sign int32) {
	j := &l.work.Jobs[a.Job]
	if len(l.spec.Nodes) == 0 {
		milli := j.Need.TotalMilli()
		if a.Tasks > 0 {
			milli = int64(a.Tasks) * int64(j.Need.GPUs) * 1000
		}
		l.count -= int64(sign) * milli
		if l.count < 0 {
			l.t.Fatalf("at %d: job %s overbooks the pool", a.At, j.ID)
		}
		return
	}
	for _, g := range a.Place {
		for i := range l.left[g.Node] {
			if g.GPUs>>i&1 == 1 {
				l.left[g.Node][i] -= sign * g.Milli
				if l.left[g.Node][i] < 0 || l.left[g.Node][i] > 1000 {
					l.t.Fatalf("at %d: job %s overbooks GPU %d of node %d", a.At, j.ID, i, g.Node)
				}
			}
		}
		if l.spec.Nodes[g.Node].CPU > 0 {
			if l.cpu[g.Node] -= int64(sign) * g.CPU; l.cpu[g.Node] < 0 {
				l.t.Fatalf("at %d: job %s overbooks the cores of node %d", a.At, j.ID, g.Node)
			}
		}
		if l.spec.Nodes[g.Node].Memory > 0 {
			if l.mem[g.Node] -= int64(sign) * g.Memory; l.mem[g.Node] < 0 {
				l.t.Fatalf("at %d: job %s overbooks the memory of node %d", a.At, j.ID, g.Node)
			}
		}
	}
}

func (l *legal) Action(a *fact.Action) {
	if a.Do == fact.Resize {
		l.resize(a)
		return
	}
	if a.Do != fact.Start {
		return
	}
	j := &l.work.Jobs[a.Job]
	switch {
	case l.on[a.Job] != nil:
		l.t.Fatalf("at %d: job %s starts twice", a.At, j.ID)
	case !l.submit[a.Job]:
		l.t.Fatalf("at %d: job %s starts before its submission", a.At, j.ID)
	}
	for _, d := range j.After {
		o, done := l.ended[d.Job]
		if !done || d.When == workload.AfterOK && o != workload.OutcomeCompleted || d.When == workload.AfterNotOK && o == workload.OutcomeCompleted {
			l.t.Fatalf("at %d: job %s starts before its dependency %s", a.At, j.ID, d.Job)
		}
	}
	if len(l.spec.Nodes) > 0 {
		var gpus int32
		for _, g := range a.Place {
			gpus += g.Count
			if l.down[g.Node] {
				l.t.Fatalf("at %d: job %s starts on node %d, which takes no work", a.At, j.ID, g.Node)
			}
			if n := &l.spec.Nodes[g.Node]; !j.Need.AllowsNode(n.Name) || j.Need.GPUs > 0 && !j.Need.AllowsType(n.GPUType) {
				l.t.Fatalf("at %d: job %s starts on node %s, which it excludes", a.At, j.ID, n.Name)
			}
		}
		if most := j.Need.PerNode; most > 0 {
			for _, g := range a.Place {
				if n := tasksOn(&j.Need, a.Place, g.Node); n > most {
					l.t.Fatalf("at %d: %d tasks of job %s are on node %d, where there may be %d", a.At, n, j.ID, g.Node, most)
				}
			}
		}
		want := j.Need.TotalGPUs()
		if a.Tasks > 0 {
			want = a.Tasks * j.Need.GPUs
		}
		if gpus != want {
			l.t.Fatalf("at %d: job %s gets %d GPUs, wants %d", a.At, j.ID, gpus, want)
		}
	}
	own := *a
	own.Place = append([]cluster.Grant(nil), a.Place...)
	l.on[a.Job] = &own
	l.move(&own, 1)
}

// tasksOn is how many tasks of a place are on a node.
func tasksOn(n *workload.Need, place []cluster.Grant, node int32) (tasks int32) {
	for _, g := range place {
		switch {
		case g.Node != node:
		case n.GPUs > 0:
			tasks += g.Count / n.GPUs
		default:
			tasks += int32(g.CPU / n.CPU)
		}
	}
	return tasks
}

// resize: a real-time application that runs, on GPUs of its kind, in one pool.
func (l *legal) resize(a *fact.Action) {
	j := &l.work.Jobs[a.Job]
	was := l.on[a.Job]
	if was == nil || j.Service == nil {
		l.t.Fatalf("at %d: %s is resized, and is no application that runs", a.At, j.ID)
	}
	had := map[int32]bool{}
	for _, g := range was.Place {
		had[g.Node] = true
	}
	gpus := int32(0)
	for _, g := range a.Place {
		gpus += g.Count
		if n := &l.spec.Nodes[g.Node]; !j.Need.AllowsType(n.GPUType) || l.down[g.Node] && !had[g.Node] {
			l.t.Fatalf("at %d: %s grows onto node %s, where it may not be", a.At, j.ID, n.Name)
		}
	}
	if gpus != a.Count || a.Milli != int64(gpus)*1000 {
		l.t.Fatalf("at %d: %s is resized to %d GPUs on %d", a.At, j.ID, a.Count, gpus)
	}
	own := *a
	own.Place = append([]cluster.Grant(nil), a.Place...)
	l.move(was, -1)
	l.on[a.Job] = &own
	l.move(&own, 1)
}

func (l *legal) Fact(f *fact.Fact) {
	switch f.Kind {
	case fact.JobSubmitted:
		l.submit[f.Job] = true
	case fact.JobFinished, fact.JobStopped, fact.StartFailed:
		l.move(l.on[f.Job], -1)
		delete(l.on, f.Job)
		j := &l.work.Jobs[f.Job]
		switch {
		case f.Kind == fact.JobFinished:
			l.ended[j.ID] = f.Outcome
		case f.Kind == fact.JobStopped && j.Contract.NotResumable && l.up[f.Job] && f.Cause != fact.CauseNodeFailure && f.Cause != fact.CauseParked:
			l.ended[j.ID] = workload.OutcomePreempted
		}
		delete(l.up, f.Job)
	case fact.JobStarted:
		l.up[f.Job] = true
	case fact.JobCancelled:
		l.ended[l.work.Jobs[f.Job].ID] = workload.OutcomeCancelled
	case fact.NodeDown, fact.NodeDrained:
		l.down[f.Node] = true
	case fact.NodeUp, fact.NodeResumed:
		delete(l.down, f.Node)
	}
}

func (l *legal) Instant(g *sim.Gauge) {
	var used int64
	if len(l.spec.Nodes) == 0 {
		used = int64(l.spec.Count)*1000 - l.count
	}
	for _, gpus := range l.left {
		for _, m := range gpus {
			used += int64(1000 - m)
		}
	}
	if used != g.Assigned {
		l.t.Fatalf("at %d: the gauge says %d milli-GPU assigned, %d are", g.At, g.Assigned, used)
	}
}
