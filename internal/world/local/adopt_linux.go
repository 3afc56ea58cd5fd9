package local

import (
	"os"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// adopt takes over a run that the journal believes in. It is called by Begin: what is known is
// reported before it returns.
func (r *run) adopt(b *world.Belief) {
	if !r.exists {
		if b.Up && !b.Stopping {
			r.w.tell(world.Report{Kind: fact.JobStopped, Run: r.Run, Node: -1, Cause: fact.CauseNodeFailure, Text: "this machine has no trace of it"})
		}
		return
	}
	r.enter()
	defer r.leave()
	r.toldUp = b.Up
	pid, held := r.lockedBy()
	if !held && pid == 0 && !r.hasEnd() {
		// The daemon went away before a supervisor lived: the order was not carried out.
		if os.RemoveAll(r.dir) == nil {
			r.exists, r.forgot = false, true
			if b.Up && !b.Stopping {
				r.w.tell(world.Report{Kind: fact.JobStopped, Run: r.Run, Node: -1, Cause: fact.CauseNodeFailure, Text: "it never began"})
			}
			return
		}
	}
	r.takeOver(pid, held)
}

// disown deals with a run that the journal does not believe in: an end is in the journal already,
// what runs has no right to its GPUs.
func (r *run) disown() {
	r.enter()
	defer r.leave()
	pid, held := r.lockedBy()
	if r.hasEnd() || !held && pid == 0 {
		r.exists, r.forgot = os.RemoveAll(r.dir) != nil, true
		return
	}
	r.takeOver(pid, held)
	if r.end == nil {
		r.tellToStop(&stopRecord{Cause: fact.CauseOperator.String(), Why: "the journal does not know it", Grace: r.w.opts.Grace})
	}
}

// takeOver reports what is known, and watches what goes on.
func (r *run) takeOver(pid int, held bool) {
	if held {
		r.watchFiles()
		r.follow(pid)
	}
	if r.toldUp {
		r.watchCheckpoint()
	}
	r.look()
	if !held {
		r.salvage()
	}
}

func (r *run) hasEnd() bool {
	var e endRecord
	ok, err := readRecord(r.dir, endedFile, &e)
	return ok && err == nil
}

// follow waits for the end of a supervisor that this world did not start.
func (r *run) follow(pid int) {
	if pid != 0 {
		if s := adoptSupervisor(pid); s != nil {
			// Still locked after its number was bound to it: it is the one.
			if _, held := r.lockedBy(); held {
				r.super = s
				r.w.await(r.Run, s)
				return
			}
			s.close()
		}
	}
	// It is about to write its number, or is ending this moment.
	r.w.later(10*time.Millisecond, func() { r.w.mail(r.Run, message{follow: true}) })
}

// followAgain is the second half of follow.
func (r *run) followAgain() {
	if !r.exists || r.end != nil {
		return
	}
	if pid, held := r.lockedBy(); held {
		if r.super == nil {
			r.follow(pid)
		}
		return
	}
	r.look()
	r.salvage()
}

// enter makes the run one of the world's, busy until leave: Begin is its actor.
func (r *run) enter() {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.busy = true
	r.w.runs[r.Run] = r
}

func (r *run) leave() {
	r.w.wg.Add(1)
	r.serve()
}
