package slurmworld

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
)

// look reads nodes and queue, and tells what has changed: ends first, then what is new.
func (w *World) look(ctx context.Context) error {
	w.forget()
	w.spend(callsOfALook)
	began := w.opts.Now()
	nodes, err := w.opts.Reader.Nodes(ctx)
	if err != nil {
		return err
	}
	jobs, odd, err := w.opts.Reader.Queue(ctx)
	w.rate.took = max(w.rate.took, w.opts.Now().Sub(began))
	if err != nil {
		return err
	}
	for _, err := range odd {
		w.log.Warn("a line of Slurm's queue is not understood; the job is left to Slurm", "err", err)
	}
	w.lookAtNodes(nodes)
	w.file(jobs)
	list := w.sorted()
	w.readEnds(ctx, list)
	for _, e := range list {
		switch {
		case !e.present && w.watch:
			w.seenOff(ctx, e)
		case !e.present:
			w.gone(ctx, e)
		case e.run != nil:
			w.follow(e)
		}
	}
	w.read(ctx, list)
	for _, e := range list {
		if e.present && e.run == nil {
			w.fresh(ctx, e)
		}
	}
	w.noteLeft(list)
	return nil
}

// forget lets go of runs whose ends are in the journal.
func (w *World) forget() {
	w.mu.Lock()
	settled := w.settled
	w.settled = nil
	w.mu.Unlock()
	for _, x := range settled {
		if r := w.runs[x]; r != nil && r.end != nil {
			delete(w.runs, x)
		}
	}
}

// file puts the lines of the queue to their entries.
func (w *World) file(jobs []slurm.Job) {
	for _, e := range w.entries {
		e.present = false
	}
	w.lease.alive = false
	arrays := map[int64]bool{}
	for i := range jobs {
		j := &jobs[i]
		arrays[j.Array] = true
		if j.ID == w.lease.id {
			w.lease.alive = j.State == slurm.Pending
			continue
		}
		put := func(id string) {
			e := w.entry(id)
			e.seen, e.line, e.present = *j, j.ID, true
		}
		if j.Throttle > 0 {
			w.throttle[j.Array] = j.Throttle
		}
		if j.Tasks == nil {
			put(j.ID)
			continue
		}
		for _, k := range j.Tasks {
			put(fmt.Sprintf("%s_%d", j.ID, k))
		}
	}
	maps.DeleteFunc(w.throttle, func(array int64, _ int32) bool { return !arrays[array] })
}

// lookAtNodes tells of nodes that went, came, were closed and opened.
func (w *World) lookAtNodes(nodes []slurm.Node) {
	w.compare(nodes)
	for i := range nodes {
		n := &nodes[i]
		k, ok := w.nodeOf[n.Name]
		if !ok {
			continue
		}
		w.silent[k] = n.Silent()
		if delete(w.drained, k); slices.Contains(n.Flags, "DRAIN") {
			w.drained[k] = n.Reason
		}
		if down := n.Down(); down != w.down[k] {
			w.down[k] = down
			kind, text := fact.NodeUp, "Slurm has it back"
			if down {
				kind, text = fact.NodeDown, "Slurm says that it is down"
				if n.Reason != "" {
					text += ": " + n.Reason
				}
			}
			w.tell(world.Report{Kind: kind, Node: k, Text: text})
		}
		other := w.other(n, k)
		if closed := n.Closed() || other != ""; closed != w.closed[k] {
			w.closed[k] = closed
			kind, text := fact.NodeResumed, "Slurm opened it"
			switch {
			case other != "":
				kind, text = fact.NodeDrained, other
			case closed:
				kind, text = fact.NodeDrained, "closed in Slurm ("+strings.ToLower(strings.Join(n.Flags, ", "))+")"
				if n.Reason != "" {
					text += ": " + n.Reason
				}
			}
			w.tell(world.Report{Kind: kind, Node: k, Text: text})
		}
	}
}
