package trace

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/escala-sched/escala/workload"
)

// slurmFormat is the text of `sacct --parsable2` (and --parsable) with its
// header, or the headerless 26 columns that XDMoD's collector writes.
var slurmFormat = Format{
	Name:  "slurm",
	Title: "Slurm accounting: sacct -P with header, or XDMoD's 26 columns",
	Detect: func(head []byte, name string) bool {
		line := firstLine(head)
		return sacctHeader(line) || isXDMoD(line)
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

// isSacctJSON tells what sacct --json writes: one object with the jobs and, before
// or behind them, what Slurm says of itself.
func isSacctJSON(head []byte) bool {
	text := strings.ToLower(strings.TrimSpace(string(head)))
	return strings.HasPrefix(text, "{") && (strings.Contains(text, `"jobs"`) || strings.Contains(text, `"meta"`) && strings.Contains(text, `"slurm"`))
}

func (in *Input) failSacctJSON() error {
	return in.fail(0, "the JSON of Slurm's accounting is not read", "its text: "+sacctCommand)
}

// sacctDelimiters: the odd one is what a site uses whose fields hold bars.
var sacctDelimiters = []string{"|#", "|"}

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

// sacct reads records by column name.
type sacct struct {
	*builder
	col map[string]int
	rec []string
	// pastLimit and noMemory count jobs for the notes.
	pastLimit, noMemory int
	// lists remembers what each TRES list tells: a log has few different ones.
	lists map[string]gpusTold
}

type gpusTold struct {
	gpus GPUs
	err  error
}

func readSlurm(in *Input) (*workload.Workload, error) {
	text := unsafe.String(unsafe.SliceData(in.Data), len(in.Data))
	if isSacctJSON(in.Data[:min(len(in.Data), headSize)]) {
		return nil, in.failSacctJSON()
	}
	s := &sacct{builder: newBuilder(in), col: map[string]int{}, lists: map[string]gpusTold{}}
	s.calendar = true
	records := sacctRecords{delim: "|", line: 1}
	names := xdmodColumns
	if line := firstLine(in.Data); !isXDMoD(line) {
		for _, d := range sacctDelimiters {
			if strings.Contains(line, d) {
				records.delim = d
				break
			}
		}
		names = strings.Split(line, records.delim)
		_, text, _ = strings.Cut(text, "\n")
		records.line = 2
	}
	for i, name := range names {
		if _, dup := s.col[name]; !dup {
			s.col[name] = i
		}
	}
	if err := s.columns(); err != nil {
		return nil, err
	}
	records.text, records.want = text, len(names)
	for {
		fields, line, whole, more := records.next()
		if !more {
			break
		}
		s.w.Rows++
		if !whole {
			s.drop(line, causeFields)
			continue
		}
		s.rec = fields
		s.row(line)
	}
	s.note(in.zoneNote())
	s.note("GPU types bind a job only where ReqTRES or ReqGRES names them; AllocTRES tells what it got, not what it asked for.")
	s.noteJobs(s.pastLimit, "ran", "ran", "past the time limit; a simulation that enforces limits ends such a job at its limit.")
	s.noteJobs(s.noMemory, "has", "have", "an amount of memory that cannot be read (or Slurm's overflow value); none is asked for.")
	return s.finish()
}

// columns checks that the header has what a replay needs.
func (s *sacct) columns() error {
	missing := ""
	switch {
	case !s.has("JobID", "JobIDRaw"):
		missing = "JobID"
	case !s.has("Submit"):
		missing = "Submit"
	case !s.has("State"):
		missing = "State"
	case !s.has("Elapsed", "ElapsedRaw") && !(s.has("Start") && s.has("End")):
		missing = "Elapsed"
	case !s.has("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES"):
		missing = "AllocTRES (nothing else tells GPUs)"
	}
	if missing != "" {
		return s.in.fail(1, "column "+missing+" is missing", "the columns of "+sacctCommand)
	}
	return nil
}

// has tells whether one of the columns is there.
func (s *sacct) has(names ...string) bool {
	for _, n := range names {
		if _, ok := s.col[n]; ok {
			return true
		}
	}
	return false
}

// get returns the first non-empty field of the columns named.
func (s *sacct) get(names ...string) string {
	for _, n := range names {
		if i, ok := s.col[n]; ok {
			if v := strings.TrimSpace(s.rec[i]); v != "" {
				return v
			}
		}
	}
	return ""
}

// row turns one record into a job, or counts why not.
func (s *sacct) row(line int) {
	id, state := s.get("JobID", "JobIDRaw"), s.get("State")
	submit, okSubmit := parseClock(s.get("Submit"), s.in.location())
	outcome, _ := endState(state)
	cause := ""
	switch {
	case strings.Contains(id, "."):
		cause = "job step (.batch, .extern, .0)"
	case strings.Contains(id, "_["):
		cause = "array record that is not expanded"
	case liveState(state):
		cause = causeRunning
	case waitingState(state):
		cause = "still waiting"
	case strings.EqualFold(state, "REQUEUED"):
		cause = "run that was requeued (the job's last record counts)"
	case !okSubmit:
		cause = causeSubmit
	case s.has("Start") && noTime(s.get("Start")) && outcome == workload.OutcomeCancelled:
		cause = causeCancelled
	case s.has("Start") && noTime(s.get("Start")):
		cause = causeNoStart
	case s.has("End") && noTime(s.get("End")):
		cause = "no end recorded"
	}
	if cause != "" {
		s.drop(line, cause)
		return
	}
	a := actual(0, outcome)
	if t, ok := parseClock(s.get("Start"), s.in.location()); ok {
		a.Start = t
	}
	if t, ok := parseClock(s.get("End"), s.in.location()); ok {
		a.End = t
	}
	var ok bool
	if a.Duration, ok = s.elapsed(a); !ok {
		s.drop(line, causeDuration)
		return
	}
	if a.Duration == 0 && outcome == workload.OutcomeCancelled {
		s.drop(line, causeCancelled)
		return
	}
	need, cause := s.need()
	if cause != "" {
		s.drop(line, cause)
		return
	}
	j := workload.Job{
		ID: id, User: s.text(s.get("User")), Team: s.text(s.get("Account")), Partition: s.text(s.get("Partition")),
		Submit: submit, Need: need, Limit: s.limit(), Labels: s.label("qos", s.text(s.get("QOS"))),
	}
	j.Priority, _ = strconv.ParseInt(s.get("Priority"), 10, 64)
	if j.Limit > 0 && a.Duration > j.Limit {
		s.pastLimit++
	}
	s.add(line, j, a)
}

// elapsed is the run time: Elapsed leaves suspension out, so it comes before End - Start.
func (s *sacct) elapsed(a workload.Actual) (workload.Span, bool) {
	if v := s.get("ElapsedRaw"); v != "" {
		if n, ok := parseWhole(v); ok && n >= 0 {
			return n * workload.Second, true
		}
	}
	if d, ok := slurmSpan(s.get("Elapsed")); ok {
		return d, true
	}
	if a.Start != workload.Unknown && a.End != workload.Unknown {
		return a.End - a.Start, a.End >= a.Start
	}
	return 0, false
}

// limit is the time limit; UNLIMITED and Partition_Limit are none.
func (s *sacct) limit() workload.Span {
	if n, ok := parseWhole(s.get("TimelimitRaw")); ok && n > 0 {
		return n * workload.Minute
	}
	d, _ := slurmSpan(s.get("Timelimit"))
	return d
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

// need reads what the job asked for and had. cause says why it cannot be told.
func (s *sacct) need() (n workload.Need, cause string) {
	req, alloc := s.get("ReqTRES"), s.get("AllocTRES")
	nodes := max(tresAmount(alloc, "node"), tresAmount(req, "node"))
	if v, ok := parseWhole(s.get("NNodes", "AllocNodes")); ok && nodes == 0 && v <= math.MaxInt32 {
		nodes = v
	}
	// What was allocated decides; a request may leave GPUs out that a job got by
	// its partition's defaults.
	told := gpusTold{err: ErrNotTold}
	for _, field := range []string{alloc, req, s.get("AllocGRES"), s.get("ReqGRES")} {
		if told = s.gpus(field); !errors.Is(told.err, ErrNotTold) {
			break
		}
	}
	switch {
	case errors.Is(told.err, ErrCut):
		return n, "GPU count may be cut"
	case told.err != nil:
		return n, "GPU count not told"
	}
	total := told.gpus.Total(max(nodes, 1))
	if total > math.MaxInt32 {
		return n, causeHugeTotal
	}
	for _, field := range []string{req, s.get("ReqGRES")} {
		if asked := s.gpus(field); asked.err == nil && asked.gpus.TypeNames() != "" {
			n.GPUTypes = s.text(asked.gpus.TypeNames())
			break
		}
	}
	if total == 0 {
		n.GPUTypes = ""
	}
	cpus := max(tresAmount(alloc, "cpu"), 0)
	if cpus == 0 {
		if cpus = tresAmount(req, "cpu"); cpus == 0 {
			v, _ := parseCount(s.get("NCPUS", "AllocCPUS", "ReqCPUS"))
			cpus = int64(max(v, 0))
		}
	}
	n.GPUs, n.CPU, n.Memory = int32(total), cpus*1000, s.memory(req, alloc, nodes, cpus)
	// A request for several nodes is a gang of equal tasks; otherwise the total is
	// left to the scheduler to cut.
	if asked := tresAmount(req, "node"); asked > 1 && total%asked == 0 {
		n.Tasks = int32(asked)
		n.GPUs = int32(total / asked)
		n.CPU = (n.CPU + asked - 1) / asked
		n.Memory = (n.Memory + asked - 1) / asked
	}
	return n, ""
}

// gpus reads a list once for all rows that have it.
func (s *sacct) gpus(list string) gpusTold {
	told, ok := s.lists[list]
	if !ok {
		told.gpus, told.err = ParseGPUs(list)
		s.lists[list] = told
	}
	return told
}

// slurmOverflow: a wrapped 32-bit "no value" that sacct prints as an amount of MiB.
const slurmOverflow = 2147483648

// memory is the job's memory in MiB: that of the TRES list, else ReqMem, which
// is per node (n) or per core (c) where it says so.
func (s *sacct) memory(req, alloc string, nodes, cpus int64) int64 {
	for _, list := range []string{alloc, req} {
		if v := tresValue(list, "mem"); v != "" {
			return slurmMiB(v)
		}
	}
	v := s.get("ReqMem")
	if v == "" || v == "0" || v == "?" {
		return 0
	}
	times := int64(1)
	switch v[len(v)-1] {
	case 'n':
		v, times = v[:len(v)-1], max(nodes, 1)
	case 'c':
		v, times = v[:len(v)-1], max(cpus, 1)
	}
	mib := slurmMiB(v)
	if mib >= slurmOverflow || mib == 0 && strings.Trim(v, "0KMGTP.") != "" {
		s.noMemory++
		return 0
	}
	if mib > 1<<40/times {
		return 0
	}
	return mib * times
}
