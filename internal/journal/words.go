package journal

import (
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// The words of the format, by the number they stand for. A test holds that each
// list goes as far as package fact does.
var (
	kindWords    = words(fact.JobEdited, fact.Kind.String)
	doWords      = words(fact.Resize, fact.Do.String)
	codeWords    = words(fact.Adopted, fact.Code.String)
	causeWords   = words(fact.CauseMaintenance, fact.Cause.String)
	holdWords    = words(fact.HoldElsewhere, fact.HoldBy.String)
	outcomeWords = words(workload.OutcomeUnknown, workload.Outcome.String)
)

// timerWord stands for the fact that time alone led to a decision.
const timerWord = "timer"

// snapshotWord is the fact that holds a whole state; its number is behind those of other kinds.
const snapshotWord = "snapshot"

func words[E ~uint8](last E, name func(E) string) []string {
	out := make([]string, last+1)
	for i := range out {
		out[i] = name(E(i))
	}
	return out
}

// number of a word in a list, -1 if it is not there. The empty word is in none.
func lookup(list []string, word []byte) int {
	for i, w := range list {
		if w == string(word) && w != "" {
			return i
		}
	}
	return -1
}

// oneOf renders a list of words for a message.
func oneOf(list []string) string {
	if list[0] == "" {
		list = list[1:]
	}
	return "one of " + strings.Join(list, ", ")
}
