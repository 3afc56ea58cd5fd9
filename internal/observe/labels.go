package observe

import (
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// Sizes of jobs, by GPUs in all; parts of one and none count as one.
const (
	oneGPU = iota
	upTo8
	upTo64
	more
	sizes
)

var sizeNames = [sizes]string{"1", "2-8", "9-64", ">64"}

func sizeOf(gpus int32) uint8 {
	switch {
	case gpus <= 1:
		return oneGPU
	case gpus <= 8:
		return upTo8
	case gpus <= 64:
		return upTo64
	}
	return more
}

// Classes of runs.
const (
	allocated = iota
	unallocated
	classes
)

var classNames = [classes]string{"allocated", "unallocated"}

// outcomes is how many outcomes of a job there are.
const outcomes = workload.OutcomeUnknown + 1

// causes are those of stops after which a job waits again, or is parked.
var causes = []fact.Cause{fact.CausePreempted, fact.CauseReservation, fact.CauseDrain, fact.CauseParked, fact.CauseYielded, fact.CauseOperator, fact.CauseMaintenance}

// lostCauses are what work is lost by.
var lostCauses = []string{"preempted", "reservation", "node-failure", "cancelled", "drain", "parked", "yielded", "operator", "maintenance", "job-failure"}

// others is the team that all beyond the limit are counted for.
const others = "other"

// amount is a number of jobs and of their GPUs, in milli-GPU.
type amount struct{ jobs, milli int64 }

func (a *amount) add(jobs, milli int64) { a.jobs, a.milli = a.jobs+jobs, a.milli+milli }

// team is what is counted of one.
type team struct {
	name      string
	waiting   [sizes]amount
	running   [classes]amount
	submitted [sizes]int64
	starts    [classes]int64
	finished  [outcomes]int64
}

// teams are those seen, no more than a limit of them by name.
type teams struct {
	limit  int
	list   []*team
	byName map[string]*team
	other  *team
}

func newTeams(limit int) *teams { return &teams{limit: limit, byName: map[string]*team{}} }

func (t *teams) of(name string) *team {
	if x := t.byName[name]; x != nil {
		return x
	}
	if len(t.byName) < t.limit && name != others {
		x := &team{name: name}
		t.byName[name] = x
		t.list = append(t.list, x)
		return x
	}
	if t.other == nil {
		t.other = &team{name: others}
		t.list = append(t.list, t.other)
	}
	return t.other
}
