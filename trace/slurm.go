package trace

import (
	"bytes"
	"errors"
	"math"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// slurmFormat is the accounting of Slurm: the text of `sacct --parsable2` (and
// --parsable) with its header, the headerless 26 columns that XDMoD's collector
// writes, or the JSON of `sacct --json`.
var slurmFormat = Format{
	Name:  "slurm",
	Title: "Slurm accounting: sacct -P with header, sacct --json, or XDMoD's 26 columns",
	Detect: func(head []byte, name string) bool {
		line := firstLine(head)
		return sacctHeader(line) || isXDMoD(line) || isSacctJSON(head)
	},
	Read: readSlurm,
}

// xdmodColumns is the order of XDMoD's sacct export (its shredder's format).
var xdmodColumns = []string{"JobID", "JobIDRaw", "Cluster", "Partition", "QOS", "Account", "Group", "GID", "User", "UID",
	"Submit", "Eligible", "Start", "End", "Elapsed", "ExitCode", "State", "NNodes", "NCPUS", "ReqCPUS", "ReqMem",
	"ReqTRES", "AllocTRES", "Timelimit", "NodeList", "JobName"}

// xdmodSubmit is where the submission stands in xdmodColumns.
const xdmodSubmit = 10

// sacctCommand writes what is read here. --format=ALL would not do: SubmitLine and
// Comment hold bars and line breaks.
const sacctCommand = "sacct -P -o JobID,User,Account,Partition,QOS,Priority,Submit,Start,End,Elapsed,State,NNodes,NCPUS,ReqMem,ReqTRES,AllocTRES,Timelimit"

// sacctDelimiters: the odd ones are for fields that hold bars.
var sacctDelimiters = []string{"\x1f", "|#", "|"}

func sacctHeader(line string) bool {
	for _, d := range sacctDelimiters {
		if !strings.Contains(line, d) {
			continue
		}
		for name := range strings.SplitSeq(line, d) {
			if name == "JobID" || name == "JobIDRaw" {
				return true
			}
		}
		return false
	}
	return false
}

func isXDMoD(line string) bool {
	if strings.Count(line, "|")+1 != len(xdmodColumns) {
		return false
	}
	_, ok := parseClock(strings.Split(line, "|")[xdmodSubmit], nil)
	return ok
}

// slurmRows makes jobs of records.
type slurmRows struct {
	*builder
	// pastLimit and noMemory count jobs for the notes.
	pastLimit, noMemory int
	lists               SlurmLists
	// runs are the places of jobs by ID, nil as long as IDs rise; highest is the last of these.
	runs    map[string]int32
	highest string
}

// SlurmLists remembers what each list of resources tells: a log has few different ones.
// The zero value is not ready; make one.
type SlurmLists map[string]gpusTold

type gpusTold struct {
	gpus GPUs
	err  error
}

func readSlurm(in *Input) (*workload.Workload, error) {
	s := &slurmRows{builder: newBuilder(in), lists: SlurmLists{}}
	s.calendar = true
	src, err := ScanSlurm(in.Name, bytes.NewReader(in.Data), in.Options.Location, func(r *SlurmRecord) error {
		s.w.Rows++
		s.row(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !src.JSON {
		s.note(in.zoneNote())
	}
	s.note("GPU types bind a job only where ReqTRES or ReqGRES names them; AllocTRES tells what it got, not what it asked for.")
	s.noteJobs(s.pastLimit, "ran", "ran", "past the time limit; a simulation that enforces limits ends such a job at its limit.")
	s.noteJobs(s.noMemory, "has", "have", "an amount of memory that cannot be read (or Slurm's overflow value); none is asked for.")
	return s.finish()
}

// Cause says why no job can be made of a record by itself, "" where one can. live: jobs that
// still run are taken.
func (r *SlurmRecord) Cause(live bool) string {
	outcome, _ := endState(r.State)
	switch {
	case r.Fault != "":
		return r.Fault
	case isStep(r.ID):
		return causeStep
	case strings.Contains(r.ID, "_["):
		return "array record that is not expanded"
	case liveState(r.State) && !live:
		return causeRunning
	case waitingState(r.State):
		return "still waiting"
	case r.Submit == workload.Unknown:
		return causeSubmit
	case r.NoStart && outcome == workload.OutcomeCancelled:
		return causeCancelled
	case r.NoStart:
		return causeNoStart
	case r.NoEnd && !liveState(r.State):
		return "no end recorded"
	}
	return ""
}

const (
	causeStep     = "job step (.batch, .extern, .0)"
	causeRequeued = "run that was requeued (the job's last record counts)"
	causeEarlier  = "earlier run of a job (its last record counts)"
)

// Requeued tells whether the run ended with the job back in the queue by its own word;
// others tell by the record that follows.
func (r *SlurmRecord) Requeued() bool { return strings.EqualFold(r.State, "REQUEUED") }

// Live tells whether the run had not ended.
func (r *SlurmRecord) Live() bool { return liveState(r.State) }

// Outcome is how the run ended.
func (r *SlurmRecord) Outcome() workload.Outcome {
	o, _ := endState(r.State)
	return o
}

// Duration is the run time: Elapsed leaves suspension out, so it comes before End - Start.
func (r *SlurmRecord) Duration() (workload.Span, bool) {
	if r.Elapsed >= 0 {
		return r.Elapsed, true
	}
	if r.Start != workload.Unknown && r.End != workload.Unknown {
		return r.End - r.Start, r.End >= r.Start
	}
	return 0, false
}

// row turns one record into a job, or counts why not.
func (s *slurmRows) row(r *SlurmRecord) {
	cause := r.Cause(false)
	if r.Requeued() && cause != causeStep && r.Fault == "" {
		cause = causeRequeued
	}
	a := actual(0, r.Outcome())
	var ok bool
	if a.Duration, ok = r.Duration(); cause == "" && !ok {
		cause = causeDuration
	}
	if cause == "" && a.Duration == 0 && a.Outcome == workload.OutcomeCancelled {
		cause = causeCancelled
	}
	if cause != "" {
		s.drop(r.Line, cause)
		return
	}
	need, noMemory, cause := s.lists.Need(r)
	if noMemory {
		s.noMemory++
	}
	if cause != "" {
		s.drop(r.Line, cause)
		return
	}
	need.GPUTypes = s.text(need.GPUTypes)
	a.Start, a.End = r.Start, r.End
	j := workload.Job{
		ID: strings.Clone(r.ID), User: s.own(r.User), Team: s.own(r.Account), Partition: s.own(r.Partition),
		Submit: r.Submit, Need: need, Limit: r.Limit, Labels: s.label("qos", strings.Clone(r.QOS)), Priority: r.Priority,
	}
	if s.again(r, &j, &a) {
		return
	}
	if j.Limit > 0 && a.Duration > j.Limit {
		s.pastLimit++
	}
	s.add(r.Line, j, a)
}

// again takes a later run of a job that is known already in its place: sacct -D lists the
// runs of a job that was requeued, and the last counts.
func (s *slurmRows) again(r *SlurmRecord, j *workload.Job, a *workload.Actual) bool {
	if s.runs == nil {
		if len(s.w.Jobs) == 0 || shortlexLess(s.highest, j.ID) {
			s.highest = j.ID
			return false
		}
		s.runs = make(map[string]int32, 2*len(s.w.Jobs))
		for i := range s.w.Jobs {
			s.runs[s.w.Jobs[i].ID] = int32(i)
		}
	}
	i, ok := s.runs[j.ID]
	if !ok || int(i) >= len(s.w.Jobs) || s.w.Jobs[i].ID != j.ID {
		s.runs[j.ID] = int32(len(s.w.Jobs))
		return false
	}
	was, at := &s.w.Jobs[i], &s.w.Actual[i]
	if was.User != j.User || at.Start == workload.Unknown || a.Start == workload.Unknown || at.Start == a.Start {
		return false // the ID was given again, or the record stands twice
	}
	s.drop(r.Line, causeEarlier)
	j.Submit = min(j.Submit, was.Submit)
	if was.Submit = j.Submit; a.Start > at.Start {
		*was, *at = *j, *a
	}
	return true
}

// own keeps a name without the text that it stands in.
func (b *builder) own(s string) string {
	if known, ok := b.names.all[s]; ok {
		return known
	}
	return b.text(strings.Clone(s))
}

// slurmSpan reads [D-]HH:MM:SS or MM:SS, each with an optional fraction.
func slurmSpan(s string) (workload.Span, bool) {
	days := int64(0)
	if d, rest, ok := strings.Cut(s, "-"); ok {
		n := digits(d)
		if d == "" || len(d) > 7 || n < 0 {
			return 0, false
		}
		days, s = int64(n), rest
	}
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	var total int64
	for i, p := range parts {
		if len(p) > 10 {
			return 0, false
		}
		ms, ok := parseMilli(p)
		if !ok || ms < 0 || i < len(parts)-1 && ms%1000 != 0 {
			return 0, false
		}
		total = total*60 + ms
	}
	return days*workload.Day + total, true
}

// Need reads what the job asked for and had. cause says why it cannot be told; noMemory, that
// its memory cannot.
func (l SlurmLists) Need(r *SlurmRecord) (n workload.Need, noMemory bool, cause string) {
	nodes := max(tresAmount(r.AllocTRES, "node"), tresAmount(r.ReqTRES, "node"))
	if nodes == 0 && r.Nodes <= math.MaxInt32 {
		nodes = r.Nodes
	}
	// What was allocated decides; a request may leave GPUs out that a job got by
	// its partition's defaults.
	told := gpusTold{err: ErrNotTold}
	for _, field := range []string{r.AllocTRES, r.ReqTRES, r.AllocGRES, r.ReqGRES} {
		if told = l.gpus(field); !errors.Is(told.err, ErrNotTold) {
			break
		}
	}
	switch {
	case errors.Is(told.err, ErrCut):
		return n, false, "GPU count may be cut"
	case told.err != nil:
		return n, false, "GPU count not told"
	}
	total := told.gpus.Total(max(nodes, 1))
	if total > math.MaxInt32 {
		return n, false, causeHugeTotal
	}
	for _, field := range []string{r.ReqTRES, r.ReqGRES} {
		if asked := l.gpus(field); asked.err == nil && asked.gpus.TypeNames() != "" {
			n.GPUTypes = asked.gpus.TypeNames()
			break
		}
	}
	if total == 0 {
		n.GPUTypes = ""
	}
	cpus := max(tresAmount(r.AllocTRES, "cpu"), 0)
	if cpus == 0 {
		if cpus = tresAmount(r.ReqTRES, "cpu"); cpus == 0 {
			cpus = r.CPUs
		}
	}
	n.GPUs, n.CPU = int32(total), cpus*1000
	n.Memory, noMemory = r.memory(nodes, cpus)
	// A request for several nodes is a gang of equal tasks, each on a node of its own; otherwise the total is
	// left to the scheduler to cut.
	if asked := tresAmount(r.ReqTRES, "node"); asked > 1 && total%asked == 0 {
		n.Tasks, n.PerNode = int32(asked), 1
		n.GPUs = int32(total / asked)
		n.CPU = (n.CPU + asked - 1) / asked
		n.Memory = (n.Memory + asked - 1) / asked
	}
	return n, noMemory, ""
}

// GPUs reads a list of resources, as [ParseGPUs] does.
func (l SlurmLists) GPUs(list string) (GPUs, error) {
	told := l.gpus(list)
	return told.gpus, told.err
}

// gpus reads a list once for all records that have it.
func (l SlurmLists) gpus(list string) gpusTold {
	told, ok := l[list]
	if !ok {
		list = strings.Clone(list)
		told.gpus, told.err = ParseGPUs(list)
		l[list] = told
	}
	return told
}

// slurmOverflow: a wrapped 32-bit "no value" that sacct prints as an amount of MiB.
const slurmOverflow = 2147483648

// memory is the job's memory in MiB: that of the TRES list, else ReqMem, which
// is per node (n) or per core (c) where it says so. unread: it cannot be read.
func (r *SlurmRecord) memory(nodes, cpus int64) (mib int64, unread bool) {
	for _, list := range []string{r.AllocTRES, r.ReqTRES} {
		if v := tresValue(list, "mem"); v != "" {
			return slurmMiB(v), false
		}
	}
	v := r.ReqMem
	if v == "" || v == "0" || v == "?" {
		return 0, false
	}
	times := int64(1)
	switch v[len(v)-1] {
	case 'n':
		v, times = v[:len(v)-1], max(nodes, 1)
	case 'c':
		v, times = v[:len(v)-1], max(cpus, 1)
	}
	mib = slurmMiB(v)
	if mib >= slurmOverflow || mib == 0 && strings.Trim(v, "0KMGTP.") != "" {
		return 0, true
	}
	if mib > 1<<40/times {
		return 0, false
	}
	return mib * times, false
}
