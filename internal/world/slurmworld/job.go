package slurmworld

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// entry is a job of Slurm, or a task of an array.
type entry struct {
	id string
	// job and task are the numbers that make the ID.
	job, task int64
	// line is the name of the line of the queue that it is on: of a task that waits, the array's.
	line string
	seen slurm.Job
	// looked: its comment was read. why says why it is left to Slurm, "" = it is not.
	looked bool
	why    string
	spec   *workload.Job
	own    own
	// told: the loop knows it; held: it was told that Slurm keeps it back.
	told, held bool
	// present: it was in the queue at the last look.
	present bool
	// where are the nodes that its owner named.
	where string
	run   *run
	// began is the start that was told last, where nothing is changed.
	began time.Time
}

// runState is how far a run has come.
type runState uint8

const (
	// asked: it is to start; released: Slurm may start it; up: it runs, or has run.
	asked runState = iota
	released
	up
)

// run is a run as it was ordered.
type run struct {
	world.Run
	order world.Order
	state runState
	// since is when it was released, or came up.
	since time.Time
	// believed: it is as the journal has it, and Slurm was not asked yet. leaving: so was that
	// it had been told to stop, the order for which comes again.
	believed, leaving bool
	restarts          int
	// stop is the first order to stop it, due by by. signalled and ended are what was done for it.
	stop             *world.Order
	by               time.Time
	signalled, ended bool
	// back: it is to be kept back again, since failed, or since it was told to stop before it came up.
	back   bool
	failed string
	end    *world.Report
}

func (w *World) entry(id string) *entry {
	e := w.entries[id]
	if e == nil {
		e = &entry{id: id}
		e.job, e.task = numbers(id)
		w.entries[id] = e
	}
	return e
}

// sorted lists the entries in the order in which Slurm numbered them: reports come in that order.
func (w *World) sorted() []*entry {
	out := make([]*entry, 0, len(w.entries))
	for _, e := range w.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.task, b.task))
	})
	return out
}

// numbers of an ID "12_3".
func numbers(id string) (job, task int64) {
	a, b, _ := strings.Cut(id, "_")
	job, _ = strconv.ParseInt(a, 10, 64)
	task, _ = strconv.ParseInt(b, 10, 64)
	return job, task
}

// managed tells whether a job's partitions were given to escala.
func (w *World) managed(j *slurm.Job) bool {
	if len(w.opts.Partitions) == 0 {
		return true
	}
	return len(j.Partitions) > 0 && !slices.ContainsFunc(j.Partitions, func(p string) bool { return !slices.Contains(w.opts.Partitions, p) })
}
