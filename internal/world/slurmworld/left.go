package slurmworld

import (
	"maps"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
)

var (
	_ world.Chooser = (*World)(nil)
	_ world.Chooser = (*Shadow)(nil)
)

// LeftAlone implements [world.Chooser].
func (w *World) LeftAlone() *world.Left {
	if l := w.left.Load(); l != nil {
		return l
	}
	return &world.Left{}
}

// noteLeft keeps what this look left to Slurm.
func (w *World) noteLeft(list []*entry) {
	l := &world.Left{At: w.opts.Now()}
	for _, e := range list {
		if !e.present || !e.looked || e.why == "" {
			continue
		}
		j := &e.seen
		x := world.LeftJob{ID: e.id, User: j.User, Account: j.Account, Partition: strings.Join(j.Partitions, ","), Running: j.State != slurm.Pending, Nodes: j.Nodes, Since: j.Submit, Why: e.why}
		if x.Running {
			x.Since = j.Start
		}
		if ask, err := j.GPUs(); err == nil {
			x.GPUs = ask.Total
		}
		l.Jobs = append(l.Jobs, x)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Skipped)) {
		l.Nodes = append(l.Nodes, world.LeftNode{Name: name, Why: w.Skipped[name]})
	}
	w.left.Store(l)
}
