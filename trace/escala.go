package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/escala-sched/escala/workload"
)

// escalaFormat is the project's own: JSON lines, a header object and then one
// job per line. It loses nothing. docs/schema/workload.schema.json is its schema.
var escalaFormat = Format{
	Name:  "escala",
	Title: "escala's own: JSON lines, loses nothing",
	Detect: func(head []byte, name string) bool {
		line := bytes.TrimSpace(head)
		return len(line) > 0 && line[0] == '{' && strings.Contains(firstLine(line), `"escala"`)
	},
	Read:  readEscala,
	Write: writeEscala,
}

const escalaVersion = 1

// escalaHeader is the first line.
type escalaHeader struct {
	Escala  string          `json:"escala"`
	Version int             `json:"version"`
	Name    string          `json:"name,omitempty"`
	Epoch   *int64          `json:"epoch_ms,omitempty"`
	Source  string          `json:"source,omitempty"`
	Format  string          `json:"format,omitempty"`
	Licence string          `json:"licence,omitempty"`
	Hash    string          `json:"sha256,omitempty"`
	Rows    int             `json:"rows,omitempty"`
	Dropped []escalaDropped `json:"dropped,omitempty"`
	Notes   []string        `json:"notes,omitempty"`
}

type escalaDropped struct {
	Cause string `json:"cause"`
	Count int    `json:"count"`
	First string `json:"first,omitempty"`
}

// escalaJob is every other line. Field names carry their unit.
type escalaJob struct {
	ID        string            `json:"id"`
	User      string            `json:"user,omitempty"`
	Team      string            `json:"team,omitempty"`
	Partition string            `json:"partition,omitempty"`
	Kind      string            `json:"kind,omitempty"`
	Submit    *int64            `json:"submit_ms"`
	Tasks     int32             `json:"tasks,omitempty"`
	GPUs      int32             `json:"gpus,omitempty"`
	Milli     int32             `json:"gpu_milli,omitempty"`
	MinTasks  int32             `json:"min_tasks,omitempty"`
	MaxTasks  int32             `json:"max_tasks,omitempty"`
	PerNode   int32             `json:"tasks_per_node,omitempty"`
	CPU       int64             `json:"cpu_milli,omitempty"`
	Memory    int64             `json:"memory_mib,omitempty"`
	GPUTypes  string            `json:"gpu_types,omitempty"`
	Within    string            `json:"within,omitempty"`
	Nodes     string            `json:"nodes,omitempty"`
	Span      bool              `json:"span,omitempty"`
	Priority  int64             `json:"priority,omitempty"`
	Estimate  int64             `json:"estimate_ms,omitempty"`
	Limit     int64             `json:"limit_ms,omitempty"`
	Deadline  int64             `json:"deadline_ms,omitempty"`
	Contract  *escalaContract   `json:"contract,omitempty"`
	Service   *escalaService    `json:"service,omitempty"`
	After     []escalaAfter     `json:"after,omitempty"`
	Speed     []escalaSpeed     `json:"speed,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Actual    *escalaActual     `json:"actual"`
}

type escalaContract struct {
	MinRuntime         *int64 `json:"min_runtime_ms,omitempty"`
	CheckpointInterval int64  `json:"checkpoint_interval_ms,omitempty"`
	CheckpointOnStop   bool   `json:"checkpoint_on_stop,omitempty"`
	Resumable          *bool  `json:"resumable,omitempty"`
	RestartCost        int64  `json:"restart_cost_ms,omitempty"`
	Grace              int64  `json:"grace_ms,omitempty"`
}

type escalaAfter struct {
	Job  string `json:"job"`
	When string `json:"when,omitempty"`
}

type escalaSpeed struct {
	GPUType string `json:"gpu_type"`
	Milli   int32  `json:"milli"`
}

type escalaActual struct {
	Duration    *int64       `json:"duration_ms"`
	Outcome     string       `json:"outcome,omitempty"`
	CancelAfter int64        `json:"cancel_after_ms,omitempty"`
	Demand      *escalaCurve `json:"demand,omitempty"`
	Start       *int64       `json:"start_ms,omitempty"`
	End         *int64       `json:"end_ms,omitempty"`
}

func readEscala(in *Input) (*workload.Workload, error) {
	if !utf8.Valid(in.Data) {
		return nil, in.fail(invalidLine(in.Data), "bytes that are no UTF-8", "UTF-8 text")
	}
	r := &escalaReader{in: in}
	for data := in.Data; len(data) > 0; {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		r.line++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var err error
		if r.w == nil {
			err = r.header(line)
		} else {
			err = r.job(line)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.w == nil || len(r.w.Jobs) == 0 {
		return nil, in.fail(r.line, "no jobs in the file", "at least one line below the header")
	}
	if r.w.Rows == 0 {
		r.w.Rows = len(r.w.Jobs)
	}
	r.w.Sort()
	if r.after {
		if err := r.w.Check(); err != nil {
			return nil, in.fail(0, err.Error(), "")
		}
	}
	return r.w, nil
}

type escalaReader struct {
	in    *Input
	w     *workload.Workload
	line  int
	ids   idSet
	names intern
	after bool
}

// decode reads one object strictly: an unknown field is a mistyped one.
func (r *escalaReader) decode(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil && d.InputOffset() != int64(len(line)) {
		err = errors.New("more text behind the object")
	}
	if err != nil {
		return r.fail(strings.TrimPrefix(err.Error(), "json: "), "one JSON object a line, as in docs/schema/workload.schema.json")
	}
	return nil
}

func (r *escalaReader) fail(msg, want string) error { return r.in.fail(r.line, msg, want) }

func (r *escalaReader) header(line []byte) error {
	var h escalaHeader
	if err := r.decode(line, &h); err != nil {
		return err
	}
	switch {
	case h.Escala != "workload":
		return r.fail("a file of escala that holds "+quote(h.Escala), `"escala":"workload"`)
	case h.Version != escalaVersion:
		return r.fail("version "+itoa(h.Version)+" of the format", "version 1 (a newer escala reads newer ones)")
	case h.Rows < 0:
		return r.fail("rows is negative", "0 or more")
	}
	r.w = &workload.Workload{Name: h.Name, Epoch: workload.Unknown, Source: h.Source, Licence: h.Licence, Rows: h.Rows, Notes: h.Notes}
	if h.Epoch != nil {
		if err := r.points("epoch_ms", *h.Epoch); err != nil {
			return err
		}
		r.w.Epoch = *h.Epoch
	}
	for _, d := range h.Dropped {
		if d.Count < 0 {
			return r.fail("count of dropped rows is negative", "0 or more")
		}
		r.w.Dropped = append(r.w.Dropped, workload.Dropped(d))
	}
	return nil
}

func (r *escalaReader) job(line []byte) error {
	var e escalaJob
	if err := r.decode(line, &e); err != nil {
		return err
	}
	switch {
	case e.ID == "":
		return r.fail("job without an id", `"id":"..."`)
	case e.Submit == nil:
		return r.fail("job "+quote(e.ID)+" has no submit_ms", `"submit_ms":0`)
	case e.Actual == nil || e.Actual.Duration == nil:
		return r.fail("job "+quote(e.ID)+" has no actual duration", `"actual":{"duration_ms":60000}`)
	}
	j, err := r.declared(&e)
	if err != nil {
		return err
	}
	a, err := r.happened(e.Actual)
	if err != nil {
		return err
	}
	if a.Demand != nil && j.Service == nil {
		return r.fail("job "+quote(j.ID)+" has an actual demand and declares none", `"service":{...}, or no demand`)
	}
	if !r.ids.add(r.w.Jobs, j.ID) {
		return r.fail("id "+quote(j.ID)+" appears twice", "an id of its own for each job")
	}
	r.after = r.after || len(j.After) > 0
	r.w.Jobs = append(r.w.Jobs, j)
	r.w.Actual = append(r.w.Actual, a)
	return nil
}

func (r *escalaReader) declared(e *escalaJob) (workload.Job, error) {
	kind, ok := workload.ParseKind(e.Kind)
	if !ok {
		return workload.Job{}, r.fail("unknown kind "+quote(e.Kind), "training, batch-inference, quantization, realtime or interactive")
	}
	j := workload.Job{
		ID: e.ID, User: r.names.get(e.User), Team: r.names.get(e.Team), Partition: r.names.get(e.Partition), Kind: kind,
		Submit: *e.Submit, Priority: e.Priority, Estimate: e.Estimate, Limit: e.Limit, Deadline: e.Deadline,
		Need: workload.Need{Tasks: e.Tasks, GPUs: e.GPUs, Milli: e.Milli, MinTasks: e.MinTasks, MaxTasks: e.MaxTasks, PerNode: e.PerNode,
			CPU: e.CPU, Memory: e.Memory, GPUTypes: r.names.get(e.GPUTypes), Within: r.names.get(e.Within),
			Nodes: r.names.get(e.Nodes), Span: e.Span},
	}
	if c := e.Contract; c != nil {
		j.Contract = workload.Contract{CheckpointInterval: c.CheckpointInterval, CheckpointOnStop: c.CheckpointOnStop,
			RestartCost: c.RestartCost, Grace: c.Grace, NotResumable: c.Resumable != nil && !*c.Resumable}
		if c.MinRuntime != nil {
			j.Contract.MinRuntime, j.Contract.HasMinRuntime = *c.MinRuntime, true
		}
	}
	if len(e.Labels) > 0 {
		j.Labels = e.Labels
	}
	for _, d := range e.After {
		when, ok := workload.ParseCondition(d.When)
		if !ok || d.Job == "" {
			return j, r.fail("after: cannot wait for "+quote(d.Job)+" with condition "+quote(d.When), "a job and any, ok or notok")
		}
		j.After = append(j.After, workload.Dependency{Job: d.Job, When: when})
	}
	for _, s := range e.Speed {
		if s.Milli <= 0 {
			return j, r.fail("speed on "+quote(s.GPUType)+" is not above 0", "thousandths, for example 1500")
		}
		j.Speed = append(j.Speed, workload.Speed(s))
	}
	if int64(j.Need.GPUs)*int64(max(j.Need.Tasks, j.Need.MaxTasks, 1)) > math.MaxInt32 {
		return j, r.fail("tasks x gpus is too large", "at most 2147483647 GPUs")
	}
	if err := j.Need.Check(); err != nil {
		msg, want, _ := strings.Cut(err.Error(), "; want ")
		return j, r.fail("job "+quote(j.ID)+": "+msg, want)
	}
	if e.Service != nil {
		var err error
		if j.Service, err = r.service(j.ID, e.Service, &j.Need); err != nil {
			return j, err
		}
	}
	for _, v := range []int64{j.Estimate, j.Limit, j.Contract.MinRuntime, j.Contract.CheckpointInterval, j.Contract.RestartCost, j.Contract.Grace} {
		if err := r.span(j.ID, v); err != nil {
			return j, err
		}
	}
	return j, r.points(j.ID, j.Submit, j.Deadline)
}

func (r *escalaReader) happened(e *escalaActual) (workload.Actual, error) {
	outcome := workload.OutcomeCompleted
	if e.Outcome != "" {
		var ok bool
		if outcome, ok = workload.ParseOutcome(e.Outcome); !ok {
			return workload.Actual{}, r.fail("unknown outcome "+quote(e.Outcome), "completed, failed, cancelled, timeout, node-fail, preempted or unknown")
		}
	}
	a := actual(*e.Duration, outcome)
	a.CancelAfter = e.CancelAfter
	for _, at := range []struct{ from, to *int64 }{{e.Start, &a.Start}, {e.End, &a.End}} {
		if at.from == nil {
			continue
		}
		if err := r.points("actual", *at.from); err != nil {
			return a, err
		}
		*at.to = *at.from
	}
	if err := r.span("actual", a.Duration); err != nil {
		return a, err
	}
	if e.Demand != nil {
		c, err := r.curve("actual demand", e.Demand)
		if err != nil {
			return a, err
		}
		a.Demand = &c
	}
	return a, r.span("actual", a.CancelAfter)
}

func (r *escalaReader) span(of string, v int64) error {
	if v < 0 || v > maxWhole*1000 {
		return r.fail(quote(of)+" has a length of time of "+nonZero(v)+" ms", "0 to 9e15 ms")
	}
	return nil
}

func (r *escalaReader) points(of string, at ...int64) error {
	for _, v := range at {
		if v < -maxWhole*1000 || v > maxWhole*1000 {
			return r.fail(quote(of)+" has a point in time of "+nonZero(v)+" ms", "-9e15 to 9e15 ms")
		}
	}
	return nil
}

func writeEscala(out io.Writer, w *workload.Workload) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	h := escalaHeader{Escala: "workload", Version: escalaVersion, Name: w.Name, Source: w.Source, Format: w.Format,
		Licence: w.Licence, Hash: w.Hash, Rows: w.Rows, Notes: w.Notes}
	if w.Epoch != workload.Unknown {
		h.Epoch = &w.Epoch
	}
	for _, d := range w.Dropped {
		h.Dropped = append(h.Dropped, escalaDropped(d))
	}
	if err := enc.Encode(h); err != nil {
		return err
	}
	for i := range w.Jobs {
		if err := enc.Encode(toEscala(&w.Jobs[i], &w.Actual[i])); err != nil {
			return err
		}
		if buf.Len() > 1<<16 {
			if _, err := buf.WriteTo(out); err != nil {
				return err
			}
		}
	}
	_, err := buf.WriteTo(out)
	return err
}

func toEscala(j *workload.Job, a *workload.Actual) *escalaJob {
	n := &j.Need
	e := &escalaJob{
		ID: j.ID, User: j.User, Team: j.Team, Partition: j.Partition, Kind: j.Kind.String(), Submit: &j.Submit,
		Tasks: n.Tasks, GPUs: n.GPUs, Milli: n.Milli, MinTasks: n.MinTasks, MaxTasks: n.MaxTasks, PerNode: n.PerNode, CPU: n.CPU, Memory: n.Memory,
		GPUTypes: n.GPUTypes, Within: n.Within, Nodes: n.Nodes, Span: n.Span,
		Priority: j.Priority, Estimate: j.Estimate, Limit: j.Limit, Deadline: j.Deadline, Labels: j.Labels,
		Actual: &escalaActual{Duration: &a.Duration, CancelAfter: a.CancelAfter, Demand: toEscalaCurve(a.Demand)},
	}
	if j.Service != nil {
		e.Service = toEscalaService(j.Service)
	}
	if a.Outcome != workload.OutcomeCompleted {
		e.Actual.Outcome = a.Outcome.String()
	}
	if a.Start != workload.Unknown {
		e.Actual.Start = &a.Start
	}
	if a.End != workload.Unknown {
		e.Actual.End = &a.End
	}
	if c := &j.Contract; *c != (workload.Contract{}) {
		e.Contract = &escalaContract{CheckpointInterval: c.CheckpointInterval, CheckpointOnStop: c.CheckpointOnStop,
			RestartCost: c.RestartCost, Grace: c.Grace}
		if c.HasMinRuntime {
			e.Contract.MinRuntime = &c.MinRuntime
		}
		if c.NotResumable {
			e.Contract.Resumable = new(bool) // false: that it is goes without saying
		}
	}
	for _, d := range j.After {
		after := escalaAfter{Job: d.Job}
		if d.When != workload.AfterAny {
			after.When = d.When.String()
		}
		e.After = append(e.After, after)
	}
	for _, s := range j.Speed {
		e.Speed = append(e.Speed, escalaSpeed(s))
	}
	return e
}
