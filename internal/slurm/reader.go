package slurm

import (
	"context"
	"slices"
	"time"
)

// Reader reads what a scheduler looks at every few seconds. [Client] does so as text, which is by far the cheapest.
type Reader interface {
	// Queue reads all jobs that wait, run or leave. Those that cannot be read are left out and told.
	Queue(ctx context.Context) (jobs []Job, odd []error, err error)
	// Nodes reads all nodes.
	Nodes(ctx context.Context) ([]Node, error)
}

var (
	_ Reader = (*Client)(nil)
	_ Reader = (*JSON)(nil)
	_ Reader = (*REST)(nil)
)

// JSON reads by the tools' --json.
type JSON struct{ Runner }

// Queue implements [Reader].
func (r *JSON) Queue(ctx context.Context) (jobs []Job, odd []error, err error) {
	out, err := r.Run(ctx, "squeue", "--json")
	if err != nil {
		return nil, nil, err
	}
	jobs, odd, err = DecodeJobs(out)
	return inQueue(jobs), odd, err
}

// Nodes implements [Reader].
func (r *JSON) Nodes(ctx context.Context) ([]Node, error) {
	out, err := r.Run(ctx, "scontrol", "show", "node", "--json")
	if err == nil {
		return DecodeNodes(out)
	}
	// Before 23.02 sinfo does what scontrol cannot yet.
	if out, err = r.Run(ctx, "sinfo", "--json"); err != nil {
		return nil, err
	}
	return DecodeNodes(out)
}

// Queue implements [Reader].
func (r *REST) Queue(ctx context.Context) (jobs []Job, odd []error, err error) {
	jobs, odd, err = r.Jobs(ctx)
	return inQueue(jobs), odd, err
}

// inQueue takes out what has ended, which JSON tells for some minutes more.
func inQueue(jobs []Job) []Job {
	return slices.DeleteFunc(jobs, func(j Job) bool { return !Alive(j.State) })
}

// Alive tells whether a job in that state is in the queue still.
func Alive(state string) bool {
	switch state {
	case Pending, Running, Suspended, Completing, Configuring, "REQUEUED", "SIGNALING", "STAGE_OUT", "STOPPED", "RESIZING":
		return true
	}
	return false
}

// Fallback reads by First, and by Then for a while after that has failed: slurmrestd may be away while slurmctld is there.
type Fallback struct {
	First, Then Reader
	Now         func() time.Time
	// Failed is told of each time that First failed.
	Failed func(error)

	until time.Time
}

// insteadFor is for how long.
const insteadFor = time.Minute

// Queue implements [Reader].
func (f *Fallback) Queue(ctx context.Context) (jobs []Job, odd []error, err error) {
	if f.Now().After(f.until) {
		if jobs, odd, err = f.First.Queue(ctx); !f.failed(ctx, err) {
			return jobs, odd, err
		}
	}
	return f.Then.Queue(ctx)
}

// Nodes implements [Reader].
func (f *Fallback) Nodes(ctx context.Context) ([]Node, error) {
	if f.Now().After(f.until) {
		if nodes, err := f.First.Nodes(ctx); !f.failed(ctx, err) {
			return nodes, err
		}
	}
	return f.Then.Nodes(ctx)
}

func (f *Fallback) failed(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	f.Failed(err)
	f.until = f.Now().Add(insteadFor)
	return true
}
