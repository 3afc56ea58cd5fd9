package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unsafe"

	"github.com/escala-sched/escala/workload"
)

// swfFormat is the Standard Workload Format of the Parallel Workloads Archive:
// 18 numbers per job, ';' comments (Chapin et al., "Benchmarks and Standards for
// the Evaluation of Parallel Job Schedulers", JSSPP 1999). One processor is
// taken as one GPU.
var swfFormat = Format{
	Name:   "swf",
	Title:  "Standard Workload Format (Parallel Workloads Archive)",
	Detect: func(head []byte, name string) bool { return isSWF(head) },
	Read:   readSWF,
	Write:  writeSWF,
}

// Positions of the fields, 0-based, and their number.
const (
	swfJob       = 0
	swfSubmit    = 1
	swfWait      = 2
	swfRun       = 3
	swfAllocated = 4
	swfRequested = 7
	swfTime      = 8
	swfStatus    = 10
	swfUser      = 11
	swfGroup     = 12
	swfPreceding = 16
	swfFields    = 18
)

func isSWF(head []byte) bool {
	for line := range strings.SplitSeq(string(head), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case line[0] == ';':
			return true
		}
		var row swfRow
		return row.parse(line) && !strings.Contains(line, ",")
	}
	return false
}

// swfRow holds the fields of a line in thousandths.
type swfRow [swfFields]int64

// parse tells whether the line has 18 numbers.
func (row *swfRow) parse(line string) bool {
	n := 0
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' || line[i] == '\r' {
			i++
			continue
		}
		start := i
		for i < len(line) && line[i] != ' ' && line[i] != '\t' && line[i] != '\r' {
			i++
		}
		if n == swfFields {
			return false
		}
		v, ok := parseMilliLoose(line[start:i])
		if !ok {
			return false
		}
		row[n] = v
		n++
	}
	return n == swfFields
}

func readSWF(in *Input) (*workload.Workload, error) {
	b := newBuilder(in)
	text := unsafe.String(unsafe.SliceData(in.Data), len(in.Data))
	rows := strings.Count(text, "\n") + 1
	b.w.Jobs, b.w.Actual = make([]workload.Job, 0, rows), make([]workload.Actual, 0, rows)
	ids := swfNames{prefix: ""}
	users, groups := swfNames{prefix: "u"}, swfNames{prefix: "g"}
	thinking := 0
	for no := 1; text != ""; no++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if line[0] == ';' {
			b.swfHeader(line)
			continue
		}
		b.w.Rows++
		var row swfRow
		if !row.parse(line) {
			b.drop(no, "not 18 numbers")
			continue
		}
		if row[swfPreceding] > 0 {
			thinking++
		}
		if cause := row.unusable(); cause != "" {
			b.drop(no, cause)
			continue
		}
		j := workload.Job{
			ID:       ids.fresh(row[swfJob]),
			User:     users.name(row[swfUser]),
			Team:     groups.name(row[swfGroup]),
			Submit:   row[swfSubmit],
			Need:     workload.Need{GPUs: int32(row.processors())},
			Estimate: max(row[swfTime], 0),
		}
		a := actual(row[swfRun], swfOutcome(row[swfStatus]))
		if row[swfWait] >= 0 {
			a.Start = j.Submit + row[swfWait]
			a.End = a.Start + a.Duration
		}
		b.add(no, j, a)
	}
	b.note("One processor of the log counts as one GPU; a job has the larger of the processors asked for and allocated.")
	b.noteJobs(thinking, "names", "name", "a preceding job and think time, which are not replayed.")
	return b.finish()
}

// processors is max(allocated, requested), as most studies of the archive take it.
func (row *swfRow) processors() int64 { return max(row[swfAllocated], row[swfRequested]) / 1000 }

// unusable says why a row cannot be replayed, "" if it can. A run of zero stays:
// the job did start, and ended within the second.
func (row *swfRow) unusable() string {
	status, run := row[swfStatus]/1000, row[swfRun]
	switch {
	case row[swfJob] < 0:
		return causeNoID
	case status >= 2 && status <= 4:
		return "part of a job that has a line of its own (status 2-4)"
	case status == 5 && run <= 0:
		return causeCancelled
	case run < 0:
		return causeNegative
	case row[swfSubmit] < 0:
		return "negative submit time"
	case row.processors() <= 0:
		return "no processor count"
	case row.processors() > 1<<31-1:
		return causeHugeTotal
	}
	return ""
}

func swfOutcome(status int64) workload.Outcome {
	switch status / 1000 {
	case 1:
		return workload.OutcomeCompleted
	case 0:
		return workload.OutcomeFailed
	case 5:
		return workload.OutcomeCancelled
	}
	return workload.OutcomeUnknown
}

// swfHeader reads the header comments that matter here.
func (b *builder) swfHeader(line string) {
	key, value, ok := strings.Cut(strings.TrimLeft(line, "; \t"), ":")
	if !ok {
		return
	}
	value = strings.TrimSpace(value)
	switch strings.TrimSpace(key) {
	case "UnixStartTime":
		if t, ok := parseWhole(value); ok && t > 0 {
			b.w.Epoch = t * 1000
		}
	case "MaxProcs":
		if n, ok := parseWhole(value); ok {
			b.note(fmt.Sprintf(maxProcsNote, n))
		}
	case "Computer", "Installation":
		b.note(strings.TrimSpace(key) + ": " + b.valid(value) + ".")
	}
}

const maxProcsNote = "The log's header names %d processors (MaxProcs)."

// MaxProcs returns the size of the machine that an SWF log's header names.
func MaxProcs(w *workload.Workload) (n int64, ok bool) {
	for _, note := range w.Notes {
		if _, err := fmt.Sscanf(note, maxProcsNote, &n); err == nil && n > 0 {
			return n, true
		}
	}
	return 0, false
}

// swfNames renders the log's numbers as names; unknown ones (-1) are "".
type swfNames struct {
	prefix string
	known  map[int64]string
}

func (n *swfNames) name(milli int64) string {
	if milli < 0 {
		return ""
	}
	s, ok := n.known[milli]
	if !ok {
		if n.known == nil {
			n.known = map[int64]string{}
		}
		s = n.fresh(milli)
		n.known[milli] = s
	}
	return s
}

func (n *swfNames) fresh(milli int64) string {
	return n.prefix + strconv.FormatInt(milli/1000, 10)
}

// writeSWF writes whole seconds and numbers only. What SWF has no field for
// (types, contracts, names) is lost; jobs that it cannot express are an error. The
// time requested is the estimate, or the limit of a job without one.
func writeSWF(out io.Writer, w *workload.Workload) error {
	buf := []byte("; Version: 2.2\n; Note: written by escala; names are numbers, times whole seconds\n")
	buf = append(buf, "; MaxJobs: "+strconv.Itoa(len(w.Jobs))+"\n; MaxRecords: "+strconv.Itoa(len(w.Jobs))+"\n"...)
	if w.Epoch != workload.Unknown {
		buf = append(buf, "; UnixStartTime: "+strconv.FormatInt(w.Epoch/1000, 10)+"\n"...)
	}
	if n := LimitsAsEstimates(w); n > 0 {
		buf = append(buf, "; Note: the requested time is the time limit where a job has no estimate ("+strconv.Itoa(n)+")\n"...)
	}
	ids := numbering("", w, func(j *workload.Job) string { return j.ID })
	users := numbering("u", w, func(j *workload.Job) string { return j.User })
	groups := numbering("g", w, func(j *workload.Job) string { return j.Team })
	for i := range w.Jobs {
		j, a := &w.Jobs[i], &w.Actual[i]
		if j.Need.TotalGPUs() == 0 || j.Need.Fractional() {
			return &Error{File: "swf", Msg: "job " + quote(j.ID) + " asks for " + j.Need.String() + ", which SWF cannot say",
				Want: "jobs of whole GPUs only (the csv and escala formats hold the others)"}
		}
		wait, estimate := int64(-1), int64(-1)
		if a.Start != workload.Unknown {
			wait = roundSeconds(a.Start - j.Submit)
		}
		if t := requested(j); t > 0 {
			estimate = (t + 999) / 1000
		}
		procs := int64(j.Need.TotalGPUs())
		fields := swfRow{ids[j.ID], roundSeconds(j.Submit), wait, roundSeconds(a.Duration), procs, -1, -1, procs, estimate,
			-1, swfStatusOf(a.Outcome), users[j.User], groups[j.Team], -1, -1, -1, -1, -1}
		for f, v := range fields {
			if f > 0 {
				buf = append(buf, ' ')
			}
			buf = strconv.AppendInt(buf, v, 10)
		}
		buf = append(buf, '\n')
		if len(buf) > 1<<16 {
			if _, err := out.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	_, err := out.Write(buf)
	return err
}

// requested is what a job says of its run time: its estimate, else its limit.
func requested(j *workload.Job) workload.Span {
	if j.Estimate > 0 {
		return j.Estimate
	}
	return j.Limit
}

// LimitsAsEstimates counts the jobs whose limit an SWF file holds as the time
// requested, since they have no estimate.
func LimitsAsEstimates(w *workload.Workload) int {
	n := 0
	for i := range w.Jobs {
		if j := &w.Jobs[i]; j.Estimate <= 0 && j.Limit > 0 {
			n++
		}
	}
	return n
}

func roundSeconds(ms int64) int64 { return (ms + 500) / 1000 }

func swfStatusOf(o workload.Outcome) int64 {
	switch o {
	case workload.OutcomeCompleted:
		return 1
	case workload.OutcomeCancelled:
		return 5
	case workload.OutcomeUnknown:
		return -1
	}
	return 0
}

// numbering gives each name a number: the one it carries ("u12" is 12) where all
// names carry one, else that of its first appearance from 1. "" is -1.
func numbering(prefix string, w *workload.Workload, of func(*workload.Job) string) map[string]int64 {
	carried, counted := map[string]int64{"": -1}, map[string]int64{"": -1}
	all := true
	for i := range w.Jobs {
		name := of(&w.Jobs[i])
		if _, ok := counted[name]; ok {
			continue
		}
		counted[name] = int64(len(counted))
		rest, ok := strings.CutPrefix(name, prefix)
		n, err := strconv.ParseInt(rest, 10, 32)
		if !ok || err != nil || n < 0 || strconv.FormatInt(n, 10) != rest {
			all = false
		}
		carried[name] = n
	}
	if all {
		return carried
	}
	return counted
}
