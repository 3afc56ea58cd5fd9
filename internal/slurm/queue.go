package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Job is a line of the queue: a job, a task of an array, or the tasks of an array that wait together.
type Job struct {
	// ID names it for the tools: "12", "12_3"; of tasks that wait together the array's, "12". Number is
	// Slurm's own of this line, Array that of the array, 0 = it is none.
	ID            string
	Number, Array int64
	// Tasks of an array that wait together; nil = it is one job.
	Tasks []int32
	// Throttle is how many tasks of its array may run at once, 0 = all. Of tasks that were set apart it is not told.
	Throttle int32
	// Het is the number of the heterogeneous job that it is a part of, 0 = none.
	Het int64

	State, Reason string
	User          string
	UID           int64
	Account, QOS  string
	Partitions    []string

	// Times are zero where they are not known. Start of a job that waits is when Slurm expects, or is
	// asked, to start it.
	Submit, Eligible, Start, End time.Time
	// Limit is the time limit, 0 = none.
	Limit time.Duration
	// Nodes that it has; Where, Not and Features are what it wants of them.
	Nodes    []string
	Where    string
	Features string
	Licenses string
	// Reservation that it asks for.
	Reservation string
	// NumNodes at least, tasks, CPUs in all, Memory in MiB of each node or CPU as asked for.
	NumNodes, NumTasks, NumCPUs, CPUsPerTask int
	// What it asks for by "gres:gpu:a100:4", per job, node, socket, task.
	PerJob, PerNode, PerSocket, PerTask string
	// Exclusive: its nodes are its own.
	Exclusive bool
	// Dependency as Slurm shows it, "" = none.
	Dependency string
	Priority   float64
	Nice       int64
	Restarts   int
	Requeue    bool
	Batch      bool

	// Detail is not told by the queue.
	Detail
}

// States of jobs that are in the queue; all others are ends.
const (
	Pending     = "PENDING"
	Running     = "RUNNING"
	Suspended   = "SUSPENDED"
	Completing  = "COMPLETING"
	Configuring = "CONFIGURING"
)

// Held tells whether the owner or an operator put the job on hold.
func (j *Job) Held() bool { return j.State == Pending && j.Priority == 0 }

// fields of the queue that are read. Owners write some of them: where accounting does not check it, an account may be any
// text, as may the type of a GPU that is asked for by --gpus.
var fields = []string{"ArrayJobID", "ArrayTaskID", "JobID", "HetJobID", "State", "Reason", "UserName", "UserID", "Account", "QOS", "Partition",
	"SubmitTime", "EligibleTime", "StartTime", "EndTime", "TimeLimit", "NodeList", "ReqNodes", "Feature", "Licenses", "Reservation",
	"NumNodes", "NumTasks", "NumCPUs", "cpus-per-task", "tres-per-job", "tres-per-node", "tres-per-socket", "tres-per-task", "OverSubscribe",
	"Dependency", "Priority", "Nice", "RestartCnt", "Requeue", "BatchFlag"}

// queueFormat asks for the fields in full, with a separator behind each.
func queueFormat(sep string) string { return strings.Join(fields, ":"+sep+",") + ":" + sep }

// Queue reads all jobs that wait, run or leave. Those that cannot be read are left out and told.
//
// Tasks of an array that wait have one line only as long as nothing sets them apart. Without --array-unique squeue
// would put all that wait into one, and show there what holds for the first: a task that was let go, or put off,
// could not be told from the others.
func (c *Client) Queue(ctx context.Context) (jobs []Job, odd []error, err error) {
	sep := separator()
	out, err := c.Run(ctx, "squeue", "-h", "-a", "--array-unique", "-O", queueFormat(sep))
	if err != nil {
		return nil, nil, err
	}
	return parseQueue(string(out), sep)
}

// parseQueue reads the fields of one job after the other. Lines say nothing: a field may have line breaks.
func parseQueue(text, sep string) (jobs []Job, odd []error, err error) {
	v := strings.Split(text, sep)
	if (len(v)-1)%len(fields) != 0 || strings.TrimSpace(v[len(v)-1]) != "" {
		return nil, nil, fmt.Errorf("the queue has %d fields, not %d for each job: %.80q", len(v)-1, len(fields), text)
	}
	for ; len(v) > len(fields); v = v[len(fields):] {
		j, err := parseJob(v[:len(fields)])
		if err != nil {
			odd = append(odd, err)
			continue
		}
		jobs = append(jobs, j)
	}
	return jobs, odd, nil
}

// parseJob reads the fields of a job. It writes to them.
func parseJob(v []string) (j Job, err error) {
	for i := range v {
		switch v[i] = strings.TrimSpace(v[i]); v[i] {
		case "(null)", "N/A", "n/a", "Unknown", "NONE":
			v[i] = ""
		}
	}
	r := reader{fields: v}
	array, task := r.number("an array"), r.text()
	j.Number = r.number("a job")
	j.Het = r.number("a heterogeneous job")
	j.State, j.Reason, j.User, j.UID = waits(r.text()), r.text(), r.text(), r.number("a uid")
	j.Account, j.QOS = r.text(), r.text()
	if p := r.text(); p != "" {
		j.Partitions = strings.Split(p, ",")
	}
	j.Submit, j.Eligible, j.Start, j.End = r.time(), r.time(), r.time(), r.time()
	j.Limit = r.limit()
	nodes := r.text()
	j.Where, j.Features, j.Licenses, j.Reservation = r.text(), r.text(), r.text(), r.text()
	j.NumNodes, j.NumTasks, j.NumCPUs, j.CPUsPerTask = r.count(), r.count(), r.count(), r.count()
	j.PerJob, j.PerNode, j.PerSocket, j.PerTask = r.text(), r.text(), r.text(), r.text()
	j.Exclusive = r.exclusive()
	j.Dependency = r.text()
	j.Priority, err = strconv.ParseFloat(r.text(), 64)
	if err != nil {
		r.fail("priority", err)
	}
	j.Nice = r.number("a nice value")
	j.Restarts = r.count()
	j.Requeue, j.Batch = r.text() == "1", r.text() == "1"
	if r.err != nil {
		return j, fmt.Errorf("job %d: %w", j.Number, r.err)
	}
	if j.Nodes, err = Hosts(nodes); err != nil {
		return j, fmt.Errorf("job %d: %w", j.Number, err)
	}
	j.ID = strconv.FormatInt(j.Number, 10)
	if task != "" && array > 0 {
		j.Array = array
		err = j.task(task)
	}
	if err != nil {
		return j, fmt.Errorf("job %d: %w", j.Number, err)
	}
	return j, nil
}

// task reads which task of its array a job is, or which ones wait together.
func (j *Job) task(spec string) error {
	j.ID = strconv.FormatInt(j.Array, 10)
	tasks, err := Tasks(spec)
	if err != nil {
		return err
	}
	if _, most, ok := strings.Cut(spec, "%"); ok {
		n, err := strconv.ParseInt(most, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("%q says nothing of how many tasks may run at once", spec)
		}
		j.Throttle = int32(n)
	}
	if len(tasks) == 1 && !strings.ContainsAny(spec, "-,%:") {
		j.ID += "_" + spec
	} else {
		j.Tasks = tasks
	}
	return nil
}

// reader takes the fields of a line one by one, and keeps the first error.
type reader struct {
	fields []string
	err    error
}

func (r *reader) text() string {
	s := r.fields[0]
	r.fields = r.fields[1:]
	return s
}

func (r *reader) fail(what string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", what, err)
	}
}

func (r *reader) number(what string) int64 {
	s := r.text()
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		r.fail(what, err)
	}
	return n
}

// count reads a number of things; of a range "2-4" the least.
func (r *reader) count() int {
	s, _, _ := strings.Cut(r.text(), "-")
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		if k := strings.TrimRight(s, "KM"); k != s { // squeue shortens large counts
			if f, err := strconv.ParseFloat(k, 64); err == nil && f >= 0 && f < 1e6 {
				return int(f * 1000)
			}
		}
		r.fail("a count", fmt.Errorf("%q is none", s))
		return 0
	}
	return n
}

// time reads seconds since 1970.
func (r *reader) time() time.Time {
	s := r.text()
	if s == "" {
		return time.Time{}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		r.fail("a time", err)
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// limit reads [days-]hours:minutes:seconds, or minutes:seconds.
func (r *reader) limit() time.Duration {
	s := r.text()
	switch s {
	case "", "UNLIMITED", "NOT_SET", "INVALID", "Partition_Limit":
		return 0
	}
	var days int
	if d, rest, ok := strings.Cut(s, "-"); ok {
		n, err := strconv.Atoi(d)
		if err != nil || n < 0 || n > 1e6 {
			r.fail("a time limit", fmt.Errorf("%q is none", s))
			return 0
		}
		days, s = n, rest
	}
	total := 0
	for part := range strings.SplitSeq(s, ":") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 1e6 || total > 1e6 {
			r.fail("a time limit", fmt.Errorf("%q is none", s))
			return 0
		}
		total = total*60 + n
	}
	return time.Duration(days)*24*time.Hour + time.Duration(total)*time.Second
}

func (r *reader) exclusive() bool {
	switch strings.ToUpper(r.text()) {
	case "NO", "EXCLUSIVE", "USER", "MCS":
		return true
	}
	return false
}
