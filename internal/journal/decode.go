package journal

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// maxTime bounds points and lengths of time, so that no sum of a few overflows.
const maxTime = 9_000_000_000_000_000

// Fields of a line that hold a number.
const (
	fT = iota
	fJob
	fTry
	fNode
	fKept
	fLost
	fRestart
	fEst
	fFor
	fTasks
	fGPUs
	fUntil
	fWhyJob
	fHave
	fWant
	fBlock
	fWhyUntil
	numbers
	// fWhat and those below hold words and structures.
	fWhat
	fDo
	fOutcome
	fCause
	fWhy
	fPlace
	fSpec
)

var fieldNames = [...]string{fT: "t", fJob: "job", fTry: "try", fNode: "node", fKept: "kept", fLost: "lost", fRestart: "restart",
	fEst: "est", fFor: "for", fTasks: "tasks", fGPUs: "gpus", fUntil: "until", fWhyJob: "why_job", fHave: "have", fWant: "want",
	fBlock: "block", fWhyUntil: "why_until", numbers: "", fWhat: "fact", fDo: "do", fOutcome: "outcome", fCause: "cause", fWhy: "why",
	fPlace: "place", fSpec: "spec"}

// wordValues are the names that words stand for, by number.
var wordValues = map[int][]string{fWhat: factNames(), fDo: names(fact.Start, fact.Do.String), fCause: names(fact.CausePreempted, fact.Cause.String),
	fWhy: names(fact.InOrder, fact.Code.String), fOutcome: outcomeNames()}

// timerName stands in "fact" where time alone led to a decision.
const timerName = "timer"

func factNames() []string {
	return append(names(fact.NodeDown, fact.Kind.String), timerName)
}

// names lists what the closed list of an enum calls its members, "" for 0.
func names[E ~uint8](first E, name func(E) string) (out []string) {
	defer func() { _ = recover() }() // one past the last has no name
	for out = make([]string, first); ; first++ {
		out = append(out, name(first))
	}
}

func outcomeNames() (out []string) {
	for o := workload.OutcomeCompleted; o <= workload.OutcomeUnknown; o++ {
		out = append(out, o.String())
	}
	return out
}
