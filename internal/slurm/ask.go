package slurm

import (
	"errors"
	"fmt"

	"github.com/escala-sched/escala/trace"
)

// Ask is how many GPUs a job asks for.
type Ask struct {
	// Total of all its nodes, of which a job that takes from 2 to 4 has NumNodes.
	Total int64
	// PerNode of each node, 0 = Slurm may divide Total as it likes.
	PerNode int64
	// Types by name, joined by "|"; "" = any.
	Types string
}

// ErrSockets is for GPUs that were asked for by socket: how many that are depends on the node.
var ErrSockets = errors.New("it asks for GPUs by socket")

// GPUs reads how many GPUs a job asks for, by whichever option it does: --gpus is a total, --gres and
// --gpus-per-node are of each node, --gpus-per-task of each task. A job that asks for none has a Total of 0, which
// is not to say that it can have none: an exclusive one has those of its nodes.
func (j *Job) GPUs() (Ask, error) {
	job, err1 := gpusIn(j.PerJob)
	node, err2 := gpusIn(j.PerNode)
	task, err3 := gpusIn(j.PerTask)
	socket, err4 := gpusIn(j.PerSocket)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return Ask{}, err
	}
	nodes, tasks := int64(max(j.NumNodes, 1)), int64(max(j.NumTasks, 1))
	var a Ask
	for _, g := range []trace.GPUs{job, node, task, socket} {
		if a.Types == "" {
			a.Types = g.TypeNames()
		}
	}
	switch {
	case node.Count > 0:
		a.PerNode, a.Total = node.Count, node.Count*nodes
	case job.Count > 0:
		a.Total = job.Count
	case task.Count > 0:
		a.Total = task.Count * tasks
	case socket.Count > 0:
		return a, ErrSockets
	}
	if job.Count > 0 {
		a.Total = job.Count
	}
	if nodes == 1 {
		a.PerNode = a.Total
	}
	return a, nil
}

func gpusIn(field string) (trace.GPUs, error) {
	g, err := trace.ParseGPUs(field)
	if errors.Is(err, trace.ErrNotTold) {
		return trace.GPUs{}, nil
	}
	if err == nil && (g.Count < 0 || g.Count > 1<<30) {
		err = fmt.Errorf("%d GPUs cannot be", g.Count)
	}
	if err != nil {
		return g, fmt.Errorf("%q: %w", field, err)
	}
	return g, nil
}
