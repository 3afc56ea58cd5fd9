package slurmworld

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// killed is the exit code of a run that was ended by Slurm.
const killed = 128 + 9

// look reads nodes and queue, and tells what has changed: ends first, then what is new.
func (w *World) look(ctx context.Context) error {
	w.forget()
	nodes, err := w.opts.Slurm.Nodes(ctx)
	if err != nil {
		return err
	}
	jobs, odd, err := w.opts.Slurm.Queue(ctx)
	if err != nil {
		return err
	}
	for _, err := range odd {
		w.log.Warn("a line of Slurm's queue is not understood; the job is left to Slurm", "err", err)
	}
	w.lookAtNodes(nodes)
	w.file(jobs)
	list := w.sorted()
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
	for i := range jobs {
		j := &jobs[i]
		if j.ID == w.lease.id {
			w.lease.alive = j.State == slurm.Pending
			continue
		}
		put := func(id string) {
			e := w.entry(id)
			e.seen, e.line, e.present = *j, j.ID, true
		}
		if j.Tasks == nil {
			put(j.ID)
			continue
		}
		for _, k := range j.Tasks {
			put(fmt.Sprintf("%s_%d", j.ID, k))
		}
	}
}

// lookAtNodes tells of nodes that went, came, were closed and opened.
func (w *World) lookAtNodes(nodes []slurm.Node) {
	for i := range nodes {
		n := &nodes[i]
		k, ok := w.nodeOf[n.Name]
		if !ok {
			continue
		}
		w.silent[k] = n.Silent()
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
		if closed := n.Closed(); closed != w.closed[k] {
			w.closed[k] = closed
			kind, text := fact.NodeResumed, "Slurm opened it"
			if closed {
				kind, text = fact.NodeDrained, "closed in Slurm ("+strings.ToLower(strings.Join(n.Flags, ", "))+")"
				if n.Reason != "" {
					text += ": " + n.Reason
				}
			}
			w.tell(world.Report{Kind: kind, Node: k, Text: text})
		}
	}
}

// finish tells the end of a run.
func (w *World) finish(e *entry, x world.Report) {
	r := e.run
	x.Run = r.Run
	switch x.Kind {
	case fact.StartFailed:
	case fact.JobStopped:
		x.Node = -1
		// The loop ends what was withdrawn, and what cannot be resumed.
		if x.Cause == fact.CauseCancelled || x.Cause != fact.CauseNodeFailure && w.lasting(e) {
			e.told = false
		}
	default:
		x.Node, e.told = -1, false
	}
	r.end = &x
	e.run = nil
	w.tell(x)
}

func stopped(c fact.Cause, exit int32, text string) world.Report {
	return world.Report{Kind: fact.JobStopped, Cause: c, Exit: exit, Text: text}
}

// follow compares a run with what Slurm does with its job.
func (w *World) follow(e *entry) {
	r, j := e.run, &e.seen
	switch j.State {
	case slurm.Pending:
		w.waits(e, r)
	case slurm.Running, slurm.Suspended, slurm.Completing:
		w.runsOn(e, r)
	}
}

// waits is about a run whose job waits.
func (w *World) waits(e *entry, r *run) {
	j := &e.seen
	switch {
	case r.state == asked:
	case r.believed && (r.state == released || r.leaving): // the loop tells it again
		e.run = nil
		delete(w.runs, r.Run)
	case r.state == up && r.stop != nil:
		w.finish(e, stopped(r.stop.Cause, killed, ""))
	case r.state == up && r.believed, r.state == up && w.lost(r):
		w.finish(e, stopped(fact.CauseNodeFailure, 0, "Slurm has it waiting again"))
	case r.state == up:
		w.finish(e, stopped(fact.CauseOperator, 0, "it was requeued in Slurm"))
	case r.back && gated(j.Dependency, w.lease.id):
		if r.stop != nil {
			w.finish(e, stopped(r.stop.Cause, 0, ""))
			return
		}
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: r.failed})
	case !r.back && j.Reason != "BeginTime" && w.opts.Now().Sub(r.since) > w.opts.Patience:
		r.back, r.failed = true, fmt.Sprintf("Slurm did not start it within %s: %s", w.opts.Patience, j.Reason)
	case !r.back:
		w.soon = w.soon || w.opts.Now().Sub(r.since) < 5*time.Second
	}
	r.believed = false
}

// lost tells whether a node of a run is down.
func (w *World) lost(r *run) bool {
	return slices.ContainsFunc(r.order.Place, func(g fact.Grant) bool { return w.down[g.Node] })
}

// runsOn is about a run whose job runs.
func (w *World) runsOn(e *entry, r *run) {
	j := &e.seen
	switch {
	case r.state == up && r.believed && !r.since.IsZero() && j.Start.After(r.since.Add(10*time.Second)),
		r.state == up && !r.believed && j.Restarts > r.restarts:
		if r.stop != nil {
			w.finish(e, stopped(r.stop.Cause, killed, ""))
			return
		}
		cause := fact.CauseOperator
		if r.believed {
			cause = fact.CauseNodeFailure
		}
		w.finish(e, stopped(cause, 0, "Slurm began it anew"))
		return
	case r.state < up && j.State != slurm.Completing && !w.asOrdered(r, j.Nodes):
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: "Slurm started it on " + strings.Join(j.Nodes, ", ") + " instead"})
		return
	case r.state < up:
		r.state, r.since = up, j.Start
		w.tell(world.Report{Kind: fact.JobStarted, Run: r.Run, Node: -1, When: j.Start})
	}
	r.restarts, r.believed, r.back = j.Restarts, false, false
	if r.stop != nil {
		w.soon = w.soon || r.ended || w.opts.Now().Add(w.opts.Poll).After(r.by)
	}
}

// asOrdered tells whether nodes are those of the order.
func (w *World) asOrdered(r *run, nodes []string) bool {
	return slices.Equal(w.names(r.order.Place), slices.Sorted(slices.Values(nodes)))
}

// names of the nodes of a place, sorted.
func (w *World) names(place []fact.Grant) []string {
	var out []string
	for i := range place {
		out = append(out, w.spec.Nodes[place[i].Node].Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// gone is about a job that is in the queue no more.
func (w *World) gone(ctx context.Context, e *entry) {
	r := e.run
	if r == nil {
		if e.told {
			w.tell(world.Report{Kind: fact.JobCancelled, ID: e.id, Node: -1, Text: "it is in Slurm's queue no more"})
		}
		delete(w.entries, e.id)
		return
	}
	end, err := w.opts.Slurm.Ended(ctx, e.id)
	switch {
	case errors.Is(err, slurm.ErrNoJob):
		end = slurm.End{State: "UNKNOWN"}
	case err != nil:
		w.log.Warn("how a job ended cannot be read", "job", e.id, "err", err)
		return
	case alive(end.State):
		w.soon = true // it was on its way between two lines of the queue
		return
	}
	w.ended(ctx, e, r, end)
}

func alive(state string) bool {
	switch state {
	case slurm.Pending, slurm.Running, slurm.Suspended, slurm.Completing, slurm.Configuring, "REQUEUED", "SIGNALING", "STAGE_OUT", "STOPPED", "RESIZING":
		return true
	}
	return false
}

// ended tells how a run came to its end, and has it queued anew where it is to go on.
func (w *World) ended(ctx context.Context, e *entry, r *run, end slurm.End) {
	never := end.Start.IsZero() || end.State == "CANCELLED" && !end.End.After(end.Start)
	if r.state < up && (never || end.State == "UNKNOWN") {
		if r.believed || r.leaving {
			delete(w.runs, r.Run)
			e.run = nil
			return
		}
		if r.stop != nil {
			w.finish(e, stopped(r.stop.Cause, 0, "it was cancelled in Slurm"))
			return
		}
		w.finish(e, world.Report{Kind: fact.StartFailed, Node: -1, Text: "it is in Slurm's queue no more"})
		return
	}
	if r.state < up {
		r.state = up
		w.tell(world.Report{Kind: fact.JobStarted, Run: r.Run, Node: -1, When: end.Start})
	}
	switch {
	case r.leaving && r.stop == nil: // the order to stop it comes again, and is answered then
		e.run = nil
		delete(w.runs, r.Run)
		return
	case end.State == "UNKNOWN":
		w.finish(e, stopped(fact.CauseNodeFailure, 0, "Slurm does not know it any more"))
	case r.stop != nil && r.signalled:
		if r.stop.Cause != fact.CauseCancelled && !w.lasting(e) {
			w.again(ctx, e)
		}
		w.finish(e, stopped(r.stop.Cause, end.Exit, ""))
	case w.opts.ResumeExit != 0 && end.Exit == w.opts.ResumeExit && !w.lasting(e):
		w.again(ctx, e)
		w.finish(e, stopped(fact.CauseYielded, end.Exit, "it asked to be resumed"))
	case end.State == "NODE_FAIL" && !w.lasting(e):
		w.again(ctx, e)
		w.finish(e, stopped(fact.CauseNodeFailure, 0, "its node failed"))
	default:
		w.finish(e, world.Report{Kind: fact.JobFinished, Outcome: outcome(end.State), Exit: end.Exit, When: end.End})
	}
}

// lasting tells whether a job cannot be queued anew.
func (w *World) lasting(e *entry) bool {
	return e.spec != nil && e.spec.Contract.NotResumable || !e.seen.Requeue && e.seen.Number != 0
}

// again has a job that ended queued anew.
func (w *World) again(ctx context.Context, e *entry) {
	if err := w.opts.Slurm.Requeue(ctx, e.id); err != nil {
		w.log.Warn("a job cannot be queued anew", "job", e.id, "err", err)
	}
	w.soon = true
}

func outcome(state string) workload.Outcome {
	state, _, _ = strings.Cut(state, " ")
	switch strings.TrimSuffix(state, "+") {
	case "COMPLETED":
		return workload.OutcomeCompleted
	case "CANCELLED", "REVOKED":
		return workload.OutcomeCancelled
	case "TIMEOUT", "DEADLINE":
		return workload.OutcomeTimeout
	case "NODE_FAIL", "BOOT_FAIL":
		return workload.OutcomeNodeFail
	case "PREEMPTED":
		return workload.OutcomePreempted
	}
	return workload.OutcomeFailed
}

// patient is how far ahead a time to begin may lie without being a wish of the owner: a job that was queued
// anew is not to begin before about two minutes have passed.
const patient = 3 * time.Minute

// keptBack says why Slurm would not start a job that waits, "" = it would.
func (w *World) keptBack(j *slurm.Job) string {
	switch {
	case j.Held():
		return "it is on hold in Slurm (" + j.Reason + ")"
	case len(without(j.Dependency, w.lease.id)) > 0:
		return "it depends on others in Slurm (" + strings.Join(without(j.Dependency, w.lease.id), ",") + ")"
	case j.Eligible.After(w.opts.Now().Add(patient)):
		return "it is not to begin before " + j.Eligible.Format("2006-01-02 15:04")
	}
	return ""
}

// fresh is about a job without a run here: it is new, waits, or runs where nobody asked it to.
func (w *World) fresh(ctx context.Context, e *entry) {
	j := &e.seen
	if !e.looked {
		if w.classify(e); !e.looked {
			return
		}
	}
	if w.watch {
		w.see(e)
		return
	}
	switch j.State {
	case slurm.Pending:
		if e.why == "" {
			w.queued(e)
		}
	case slurm.Running, slurm.Suspended:
		w.adopt(ctx, e)
	}
}

// read reads the comments of jobs that are new, all in one call.
func (w *World) read(ctx context.Context, list []*entry) {
	var wanted []int64
	for _, e := range list {
		if e.present && e.run == nil && !e.looked && !e.told && w.managed(&e.seen) {
			wanted = append(wanted, e.seen.Number)
		}
	}
	w.texts = nil
	if len(wanted) == 0 {
		return
	}
	slices.Sort(wanted)
	texts, err := w.opts.Slurm.Texts(ctx, slices.Compact(wanted)...)
	if err != nil {
		w.log.Warn("the comments of new jobs cannot be read", "err", err)
	}
	w.texts = texts
}

// classify finds out whether a job is escala's, and what it needs.
func (w *World) classify(e *entry) {
	j := &e.seen
	e.where = j.Where
	if e.told && e.spec != nil { // the journal has it
		e.looked, e.why = true, e.spec.Labels[leftLabel]
		if j.State == slurm.Pending {
			e.where = "" // what stands there may be of an earlier start
		}
		return
	}
	if !w.managed(j) {
		e.looked, e.why = true, "is in a partition that escala was not given"
		return
	}
	if ask, err := j.GPUs(); err == nil && ask.Total == 0 {
		e.looked, e.why = true, "asks for no GPUs"
		return
	}
	text, ok := w.texts[j.Number]
	if !ok {
		return // at the next look
	}
	e.looked = true
	d, err := slurm.ParseContract(text.Comment)
	if err != nil {
		w.log.Warn("a job's contract is not understood; it has the site's", "job", j.ID, "user", j.User, "err", err)
	}
	need, why := w.need(j, text.Excluded)
	if e.why = why; why != "" {
		w.log.Info("a job is left to Slurm", "job", j.ID, "user", j.User, "why", "it "+why)
		return
	}
	e.spec = w.jobOf(j, need, &d)
}

// queued tells of a job that waits, and of what keeps it back.
func (w *World) queued(e *entry) {
	if e.spec == nil {
		return
	}
	text := w.keptBack(&e.seen)
	switch {
	case !e.told:
		w.tell(world.Report{Kind: fact.JobSubmitted, ID: e.id, Node: -1, Spec: e.spec, When: e.seen.Submit, Text: text})
		e.told = true
	case e.held && text == "":
		w.tell(world.Report{Kind: fact.JobReleased, ID: e.id, Node: -1})
	case !e.held && text != "":
		w.tell(world.Report{Kind: fact.JobHeld, ID: e.id, Node: -1, Text: text})
	}
	e.held = text != ""
}

// adopt tells of a job that runs without having been told to. It is told until the loop orders its start.
func (w *World) adopt(ctx context.Context, e *entry) {
	j := &e.seen
	place, ok := w.place(ctx, e)
	if !ok {
		return
	}
	if !e.told {
		spec := e.spec
		if spec == nil || e.why != "" {
			n := int64(0)
			for i := range place {
				n += int64(place[i].Count)
			}
			spec = w.foreign(j, n, e.why)
		}
		w.tell(world.Report{Kind: fact.JobSubmitted, ID: e.id, Node: -1, Spec: spec, When: j.Submit})
		e.told, e.held, e.spec = true, false, spec
	}
	tasks := int32(0)
	w.tell(world.Report{Kind: fact.JobAdopted, ID: e.id, Node: -1, Place: place, Tasks: tasks, When: j.Start})
}
