package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/escala-sched/escala/internal/spool"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/local"
	"github.com/escala-sched/escala/internal/world/shadow"
)

// place is what is scheduled: the world that carries orders out, and this machine where it is
// behind it.
type place struct {
	world world.World
	// here is nil where the cluster is on paper alone.
	here *local.World
	text string
}

// openPlace opens what is to be scheduled. In shadow a machine says what there is, and nothing is
// done to it.
func openPlace(ctx context.Context, o *Options, sp *spool.Spool) (*place, error) {
	if o.Cluster != nil {
		if !o.Shadow {
			return nil, &Misconfigured{fmt.Errorf("cluster %s is on paper: it can be scheduled in shadow alone", o.Cluster.Name)}
		}
		return &place{world: shadow.Over(o.Cluster, o.Now), text: fmt.Sprintf("in shadow: nothing is done; cluster %s of %d GPUs", o.Cluster.Name, o.Cluster.GPUs())}, nil
	}
	if o.Slurm != nil {
		return openSlurm(ctx, o)
	}
	cgroups := o.Cgroups
	if o.Shadow {
		cgroups = local.CgroupsOff
	}
	w, err := local.Open(ctx, local.Options{Dir: filepath.Join(o.State, "local"), Now: o.Now, Pretend: o.Pretend, AllowRoot: o.AllowRoot, Cgroups: cgroups,
		Payload: func(job int32) ([]byte, error) { return sp.Get(ctx, job) }})
	if err != nil {
		return nil, &Misconfigured{fmt.Errorf("this machine: %w", err)}
	}
	if w.Cluster().GPUs() == 0 && !o.Shadow {
		_ = w.Close()
		return nil, &Misconfigured{errors.New("this machine has no GPUs that nvidia-smi finds: say --gpus 8 to pretend that it has eight")}
	}
	p := &place{world: w, here: w, text: w.Describe()}
	if o.Shadow {
		p.world, p.text = shadow.Over(w.Cluster(), o.Now), "in shadow: nothing is done; "+w.Describe()
	}
	return p, nil
}

// measured is the world that can be measured, if there is one.
func (p *place) measured() world.World {
	if p.here == nil {
		return p.world
	}
	return p.here
}

// close lets go of the machine. It may be called twice.
func (p *place) close() {
	if p.here != nil {
		_ = p.here.Close()
	}
}
