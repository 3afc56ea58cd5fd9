package journal

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// maxTime bounds points and lengths of time, so that no sum of a few overflows.
const maxTime = 9_000_000_000_000_000

// field of a line.
type field uint8

const (
	fT field = iota
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
	fMilli
	fUntil
	fWhyJob
	fHave
	fWant
	fBlock
	fWhyUntil
	fSince
	fFrom
	fEpoch
	fObjective
	fBound
	fExit
	fPriority
	fUnalloc
	fFact
	fDo
	fOutcome
	fCause
	fHold
	fWhy
	fPlace
	fSpec
	fName
	fYAML
	fInputs
	fSolver
	fStarts
	fID
	fNodes
	fTeams
	fUsers
	fBy
	fText
	fState
	fSHA
	fields
)

var fieldNames = [fields]string{"t", "job", "try", "node", "kept", "lost", "restart", "est", "for", "tasks", "gpus", "milli", "until",
	"why_job", "have", "want", "block", "why_until", "since", "from", "epoch_ms", "objective", "bound", "exit", "priority", "unalloc", "fact", "do", "outcome", "cause", "hold", "why", "place", "spec", "name", "yaml",
	"inputs", "solver", "starts", "id", "nodes", "teams", "users", "by", "text", "state", "sha256"}

// fieldOf returns the field of a key, fields if it is none that this version knows.
func fieldOf(key []byte) field {
	for f, name := range fieldNames {
		if name == string(key) {
			return field(f)
		}
	}
	return fields
}

// isTime tells the fields that are times from those that count or name something.
func (f field) isTime() bool {
	return f == fT || f >= fKept && f <= fEst || f == fUntil || f >= fWhyUntil && f <= fEpoch
}

// isScore tells the fields that say what a plan is worth.
func (f field) isScore() bool { return f == fObjective || f == fBound }

// line is an entry taken apart: what it has, and the value of each field.
type line struct {
	has  uint64
	num  [fFact]int64
	word [fPlace - fFact]int
	// These are left as text, for those kinds of entry that have them.
	text [fields - fPlace][]byte
}

func (l *line) given(f field) bool { return l.has>>f&1 == 1 }

// or is the number in a field, or what is meant where it is not given.
func (l *line) or(f field, absent int64) int64 {
	if l.given(f) {
		return l.num[f]
	}
	return absent
}

// wordsOf lists the words that a field may hold.
func wordsOf(f field) []string {
	switch f {
	case fFact:
		return kindWords
	case fDo:
		return doWords
	case fOutcome:
		return outcomeWords
	case fCause:
		return causeWords
	case fHold:
		return holdWords
	}
	return codeWords
}

// parse takes a line apart; msg and want say what is wrong with it.
func (l *line) parse(raw []byte) (msg, want string) {
	*l = line{}
	o := begin(raw)
	for o.next() {
		f := fieldOf(o.key)
		if f == fields {
			continue
		}
		if l.given(f) {
			return "field " + quote(o.key) + " appears twice", "it once"
		}
		l.has |= 1 << f
		if msg, want = l.take(f, o.val); msg != "" {
			return msg, want
		}
	}
	return o.bad, "one JSON object a line, as in docs/journal.md"
}

func (l *line) take(f field, val []byte) (msg, want string) {
	switch {
	case f >= fPlace:
		l.text[f-fPlace] = val
	case f == fUnalloc:
		v, ok := yes(val)
		if !ok {
			return "unalloc is " + quote(val), "true or false"
		}
		if v {
			l.num[f] = 1
		}
	case f >= fFact:
		w, ok := plain(val)
		n := lookup(wordsOf(f), w)
		if f == fFact && string(w) == timerWord {
			n = 0
		}
		if f == fFact && string(w) == snapshotWord {
			n = len(kindWords)
		}
		if !ok || n < 0 {
			list := oneOf(wordsOf(f))
			if f == fFact {
				list += ", " + timerWord + ", " + snapshotWord
			}
			return "unknown " + fieldNames[f] + " " + quote(val), list
		}
		l.word[f-fFact] = n
	default:
		v, ok := whole(val)
		lo, hi := int64(math.MinInt32), int64(math.MaxInt32)
		if f.isTime() {
			lo, hi = -maxTime, maxTime
		}
		if f.isScore() {
			lo, hi = math.MinInt64, math.MaxInt64
		}
		if !ok || v < lo || v > hi {
			return fieldNames[f] + " is " + quote(val), fmt.Sprintf("a whole number from %d to %d", lo, hi)
		}
		l.num[f] = v
	}
	return "", ""
}

// need returns the first of the fields that is missing.
func (l *line) need(fs ...field) (msg, want string) {
	for _, f := range fs {
		if !l.given(f) {
			return "no field " + quote(fieldNames[f]), "a field " + quote(fieldNames[f]) + " in this line"
		}
	}
	return "", ""
}

// toFact fills f in from a line; budgets, a window, a plan and the job of a submission are left to the caller.
func (l *line) toFact(f *fact.Fact) (msg, want string) {
	*f = fact.Fact{Kind: fact.Kind(l.word[0]), At: l.num[fT], Job: -1, Node: -1}
	f.Exit = int32(l.num[fExit])
	if msg, want = l.said(f); msg != "" {
		return msg, want
	}
	switch f.Kind {
	case fact.ClockStepped:
		f.Kept = l.num[fKept]
		return "", ""
	case fact.JobObserved:
		f.Job, f.Outcome = int32(l.num[fJob]), workload.Outcome(l.word[fOutcome-fFact])
		f.Since, f.Until = l.or(fSince, workload.Unknown), l.or(fUntil, workload.Unknown)
		if f.Since != workload.Unknown && f.Until != workload.Unknown && f.Until < f.Since {
			return "until is before since", "the end of a run, which comes after its start"
		}
		return l.need(fJob)
	case fact.JobHeld, fact.JobReleased:
		f.Job, f.Hold = int32(l.num[fJob]), fact.HoldBy(l.word[fHold-fFact])
		return l.need(fJob, fHold)
	case fact.JobEdited:
		f.Job, f.Priority = int32(l.num[fJob]), l.num[fPriority]
		return l.need(fJob, fPriority)
	case fact.JobAdopted:
		f.Job, f.Tasks = int32(l.num[fJob]), int32(l.num[fTasks])
		if msg, want = l.need(fJob, fPlace); msg == "" {
			f.Place, msg, want = l.place(nil)
		}
		return msg, want
	case fact.BudgetsChanged:
		f.Epoch = l.or(fEpoch, workload.Unknown)
		return l.need(fYAML)
	case fact.PlanProposed:
		return l.need(fUntil)
	case fact.WindowSet:
		return l.need(fID, fNodes, fFrom, fUntil)
	case fact.WindowLifted:
		return l.need(fID)
	case fact.NodeDown, fact.NodeUp, fact.NodeDrained, fact.NodeResumed:
		f.Node = int32(l.num[fNode])
		return l.need(fNode)
	case fact.JobSubmitted:
		f.Job, f.Estimate = int32(l.num[fJob]), l.num[fEst]
		return l.need(fJob, fSpec)
	case fact.JobCancelled, fact.SessionActive:
		f.Job = int32(l.num[fJob])
		return l.need(fJob)
	case fact.DemandChanged:
		f.Job, f.Demand = int32(l.num[fJob]), int32(l.num[fGPUs])
		if f.Demand < 0 {
			return "gpus is negative", "0 or more"
		}
		return l.need(fJob, fGPUs)
	case fact.SessionIdle:
		f.Job, f.Attempt, f.Since = int32(l.num[fJob]), int32(l.num[fTry]), l.num[fSince]
		return l.need(fJob, fTry, fSince)
	}
	f.Job, f.Attempt = int32(l.num[fJob]), int32(l.num[fTry])
	f.Node = int32(l.or(fNode, -1))
	f.Outcome, f.Cause = workload.Outcome(l.word[fOutcome-fFact]), fact.Cause(l.word[fCause-fFact])
	f.Kept, f.Lost, f.Restart = l.num[fKept], l.num[fLost], l.num[fRestart]
	if f.Kept < 0 || f.Lost < 0 || f.Restart < 0 {
		return "kept, lost or restart is negative", "0 or more"
	}
	return l.need(fJob, fTry)
}

// said reads who asked for a fact and what there is to read.
func (l *line) said(f *fact.Fact) (msg, want string) {
	for _, x := range [...]struct {
		f  field
		to *string
	}{{fBy, &f.By}, {fText, &f.Text}} {
		if !l.given(x.f) {
			continue
		}
		v, ok := plain(l.text[x.f-fPlace])
		if !ok {
			return fieldNames[x.f] + " is " + quote(l.text[x.f-fPlace]), "a text"
		}
		*x.to = string(v)
	}
	return "", ""
}

// budgets reads the tree of a line.
func (l *line) budgets() (t *budget.Tree, msg, want string) {
	name, ok := plain(l.text[fName-fPlace])
	if l.given(fName) && !ok {
		return nil, "name is " + quote(l.text[fName-fPlace]), "a text"
	}
	text, ok := plain(l.text[fYAML-fPlace])
	if !ok {
		return nil, "yaml is " + quote(l.text[fYAML-fPlace]), "a text"
	}
	t, err := budget.Parse(string(name)+".yaml", text)
	if err != nil {
		return nil, err.Error(), "a budgets file, see docs/budgets.md"
	}
	return t, "", ""
}

// toAction fills a in from a line; its place is put behind buf.
func (l *line) toAction(a *fact.Action, buf []fact.Grant) (msg, want string) {
	*a = fact.Action{Do: fact.Do(l.word[fDo-fFact]), At: l.num[fT], Job: int32(l.num[fJob]), Attempt: int32(l.num[fTry]),
		For: int32(l.or(fFor, -1)), Tasks: int32(l.num[fTasks]), Count: int32(l.num[fGPUs]), Milli: l.or(fMilli, l.num[fGPUs]*1000), Until: l.num[fUntil],
		Unallocated: l.num[fUnalloc] == 1,
		Reason: fact.Reason{Code: fact.Code(l.word[fWhy-fFact]), For: int32(l.or(fWhyJob, -1)), Have: int32(l.num[fHave]),
			Want: int32(l.num[fWant]), Block: int32(l.num[fBlock]), Until: l.num[fWhyUntil]}}
	if msg, want = l.need(fJob); msg != "" || !l.given(fPlace) {
		return msg, want
	}
	a.Place, msg, want = l.place(buf)
	return msg, want
}

// place reads the field of that name, behind buf.
func (l *line) place(buf []fact.Grant) (place []fact.Grant, msg, want string) {
	place, ok := parsePlace(l.text[0], buf)
	if !ok {
		return nil, "place is " + quote(l.text[0]), `a list of [node,"GPUs in hex",milli,cpu_milli,memory_mib,count], all but two left out at their defaults`
	}
	return place, "", ""
}

// parsePlace reads what appendPlace writes; spaces are allowed between elements.
func parsePlace(val []byte, buf []fact.Grant) ([]fact.Grant, bool) {
	o := object{b: val}
	if o.peek() != '[' {
		return buf, false
	}
	for o.i++; ; o.i++ {
		if o.space(); o.peek() != '[' {
			return buf, false
		}
		o.i++
		g, ok := o.grant()
		if !ok {
			return buf, false
		}
		buf = append(buf, g)
		o.space()
		switch o.peek() {
		case ',':
		case ']':
			return buf, true
		default:
			return buf, false
		}
	}
}

// grant reads one element of a place, behind its opening bracket. The syntax is
// known to be that of JSON.
func (o *object) grant() (g fact.Grant, ok bool) {
	values := [6]int64{2: 1000, 5: -1}
	for n := 0; n < len(values); n++ {
		o.space()
		from := o.i
		if !o.value(0) {
			return g, false
		}
		val := o.b[from:o.i]
		if n == 1 {
			g.GPUs, ok = gpuSet(val)
		} else {
			values[n], ok = whole(val)
		}
		if !ok {
			return g, false
		}
		o.space()
		end := o.peek() == ']'
		o.i++
		if end && n >= 1 {
			break
		}
		if end || n == len(values)-1 {
			return g, false
		}
	}
	if values[5] < 0 {
		values[5] = int64(bits.OnesCount64(g.GPUs))
	}
	for _, i := range [...]int{0, 2, 5} {
		if values[i] < 0 || values[i] > math.MaxInt32 {
			return g, false
		}
	}
	g.Node, g.Milli, g.CPU, g.Memory, g.Count = int32(values[0]), int32(values[2]), values[3], values[4], int32(values[5])
	return g, g.CPU >= 0 && g.Memory >= 0
}

// gpuSet reads up to 16 hexadecimal digits in quotes.
func gpuSet(val []byte) (set uint64, ok bool) {
	if len(val) < 3 || len(val) > 18 || val[0] != '"' {
		return 0, false
	}
	for _, c := range val[1 : len(val)-1] {
		if !isHex(c) {
			return 0, false
		}
		d := uint64(c - '0')
		if c > '9' {
			d = uint64(c|32-'a') + 10
		}
		set = set<<4 | d
	}
	return set, true
}
