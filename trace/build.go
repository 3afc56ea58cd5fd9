package trace

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/escala-sched/escala/workload"
)

// Causes that several formats share.
const (
	causeFields     = "wrong number of fields"
	causeDuplicate  = "job ID seen before"
	causeNoStart    = "never started"
	causeCancelled  = "cancelled before it started"
	causeRunning    = "still running"
	causeCPUOnly    = "asks for no GPU"
	causeSubmit     = "submit time not readable"
	causeDuration   = "duration not readable"
	causeNegative   = "negative duration"
	causeGPUs       = "GPU count not readable"
	causeNoID       = "no job ID"
	causeHugeTotal  = "GPU count too large"
	causeImpossible = "impossible need"
)

// builder collects the jobs of a foreign log: what it cannot use, it counts.
type builder struct {
	in    *Input
	w     *workload.Workload
	ids   idSet
	names intern
	// calendar: times are Unix milliseconds, to be rebased to a midnight.
	calendar bool
	repaired int
	labels   map[string]map[string]string
}

func newBuilder(in *Input) *builder {
	return &builder{in: in, w: &workload.Workload{Epoch: workload.Unknown}}
}

// drop counts a row that cannot be used.
func (b *builder) drop(line int, cause string) {
	// Only the first of a cause needs its place rendered.
	for i := range b.w.Dropped {
		if b.w.Dropped[i].Cause == cause {
			b.w.Dropped[i].Count++
			return
		}
	}
	b.w.Drop(cause, b.in.at(line))
}

func (b *builder) note(s string) { b.w.Notes = append(b.w.Notes, s) }

// noteJobs notes a number of jobs, with the verb's form for one and for several.
func (b *builder) noteJobs(n int, one, several, rest string) {
	switch n {
	case 0:
	case 1:
		b.note("1 job " + one + " " + rest)
	default:
		b.note(strconv.Itoa(n) + " jobs " + several + " " + rest)
	}
}

// text keeps a name that occurs often. Bytes that are no UTF-8 are replaced, and counted.
func (b *builder) text(s string) string { return b.names.get(b.valid(s)) }

func (b *builder) valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b.repaired++
	return strings.ToValidUTF8(s, "\ufffd")
}

// label returns a label map that all jobs of the same label share.
func (b *builder) label(key, value string) map[string]string {
	if value == "" {
		return nil
	}
	value = b.valid(value)
	m, ok := b.labels[value]
	if !ok {
		if b.labels == nil {
			b.labels = map[string]map[string]string{}
		}
		m = map[string]string{key: value}
		b.labels[value] = m
	}
	return m
}

// add takes a job, or drops it where it could not be replayed.
func (b *builder) add(line int, j workload.Job, a workload.Actual) {
	j.ID = b.valid(j.ID)
	switch {
	case j.ID == "":
		b.drop(line, causeNoID)
	case a.Duration < 0:
		b.drop(line, causeNegative)
	case j.Need.GPUs < 0 || j.Need.Tasks < 0:
		b.drop(line, causeGPUs)
	case int64(j.Need.GPUs)*int64(max(j.Need.Tasks, 1)) > math.MaxInt32:
		b.drop(line, causeHugeTotal)
	case j.Need.GPUs == 0 && (b.in.Options.GPUOnly || j.Need.CPU == 0 && j.Need.Memory == 0):
		b.drop(line, causeCPUOnly)
	case j.Need.Check() != nil:
		b.drop(line, causeImpossible)
	case !b.ids.add(b.w.Jobs, j.ID):
		b.drop(line, causeDuplicate)
	default:
		b.w.Jobs = append(b.w.Jobs, j)
		b.w.Actual = append(b.w.Actual, a)
	}
}

// finish checks that something is left, ties calendar times to an epoch, and sorts.
func (b *builder) finish() (*workload.Workload, error) {
	w := b.w
	if len(w.Jobs) == 0 {
		return nil, b.in.nothingLeft(w)
	}
	if b.repaired > 0 {
		b.note("Names held bytes that are no UTF-8; they were replaced by U+FFFD.")
	}
	if b.calendar {
		b.rebase()
	}
	w.Sort()
	return w, nil
}

// rebase makes the midnight before the first submission time 0, so that hours
// and days of the workload's clock are those of the calendar.
func (b *builder) rebase() {
	w := b.w
	first := w.Jobs[0].Submit
	for i := range w.Jobs {
		first = min(first, w.Jobs[i].Submit)
	}
	w.Epoch = midnight(first, b.in.location())
	Shift(w, -w.Epoch)
}

// nothingLeft explains a log without a usable row by all causes, most frequent
// first, and points at the first row of that one.
func (in *Input) nothingLeft(w *workload.Workload) *Error {
	if len(w.Dropped) == 0 {
		return in.fail(0, "no jobs in the file", "at least one row of data")
	}
	causes := slices.Clone(w.Dropped)
	slices.SortStableFunc(causes, func(a, b workload.Dropped) int { return b.Count - a.Count })
	line := 0
	if _, n, ok := strings.Cut(causes[0].First, in.base()+":"); ok {
		line = max(digits(n), 0)
	}
	texts := make([]string, len(causes))
	for i, d := range causes {
		texts[i] = strconv.Itoa(d.Count) + " " + d.Cause
	}
	return in.fail(line, "no usable row in the file: "+strings.Join(texts, ", "), "at least one job that can be replayed")
}

// actual is an Actual with nothing recorded but the duration.
func actual(d workload.Span, o workload.Outcome) workload.Actual {
	return workload.Actual{Duration: d, Outcome: o, Start: workload.Unknown, End: workload.Unknown}
}
