package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/horizon/view"
	"github.com/escala-sched/escala/workload"
)

// planSchema is the version of the JSON of a plan. Keys are added within a version,
// never renamed or removed.
const planSchema = 1

// WritePlanJSON writes a plan for scripts: one key a line, and of lists one element.
func WritePlanJSON(w io.Writer, r *PlanReport) error {
	b := bufio.NewWriter(w)
	j := &jsonLines{w: b}
	j.open("")
	j.value("schemaVersion", planSchema)
	j.plan(r, r.Plans[0])
	q := r.Problem
	j.value("gpus", q.GPUs)
	j.value("steps", q.Steps)
	j.value("stepSeconds", float64(q.StepLength)/float64(workload.Second))
	j.value("startHour", q.StartHour)
	j.value("decay", q.Decay)
	j.value("reading", readingJSON{Blocks: blocksWord(q.Reading), Ends: wordOf(q.Reading.Complete, "complete", "overrun"), Swaps: wordOf(q.Reading.CountSwaps, "count", "identities")})
	closed := []windowJSON{}
	for _, c := range q.Closed {
		closed = append(closed, windowJSON(c))
	}
	list(j, "closed", closed)
	if len(r.Plans) == 2 {
		j.open("against")
		j.plan(r, r.Plans[1])
		j.close()
	}
	j.value("escala", r.Version)
	j.value("command", r.Command)
	j.close()
	b.WriteString("\n")
	if j.err != nil {
		return j.err
	}
	return b.Flush()
}

// plan writes the keys of one plan; the first ten are fixed, in this order.
func (j *jsonLines) plan(r *PlanReport, p *Planned) {
	s := p.Score
	j.value("utilisation", s.Utilisation)
	j.value("value", s.Value)
	j.value("objective", s.Objective)
	var bound, gap *float64
	if p.Policy == "" && p.bounded() {
		g := p.Gap()
		bound, gap = &p.Bound, &g
	}
	j.value("bound", bound)
	j.value("gap", gap)
	j.value("shortfall", s.Shortfall)
	j.value("legal", len(p.Broken) == 0)
	j.value("solver", wordOf(p.Policy != "", p.Policy, p.Solver))
	list(j, "grid", gridJSON(p.Plan))
	j.value("name", r.Problem.Name)
	j.value("mode", orNull(p.Mode))
	j.value("policy", orNull(p.Policy))
	if p.Policy == "" {
		j.value("work", p.Work)
		j.value("seed", p.Seed)
	} else {
		j.value("work", nil)
		j.value("seed", nil)
	}
	j.value("interrupted", p.Interrupted)
	j.value("boundBy", orNull(p.BoundBy))
	j.value("penalty", s.Penalty)
	j.value("shortfallSteps", p.shortSteps())
	j.value("started", s.Started)
	j.value("done", s.Done)
	j.value("late", s.Late)
	j.value("swaps", s.Swaps)
	if p.Broken == nil {
		p.Broken = []legal.Violation{}
	}
	list(j, "violations", p.Broken)
	list(j, "jobs", jobsJSON(p))
	list(j, "rt", appsJSON(p))
	list(j, "coverage", coverageJSON(p))
	j.value("idle", idleJSON(p))
	windows := []idleWindowJSON{}
	for i := range p.Windows {
		w := &p.Windows[i]
		windows = append(windows, idleWindowJSON{w.From, w.To, w.First, w.Count, w.Block, gpuHoursOf(r.Problem, w.GPUSteps())})
	}
	list(j, "idleWindows", windows)
}

// gridJSON names what each GPU does in each step, nil where it does nothing.
func gridJSON(p *horizon.Plan) [][]*string {
	q := p.Problem
	grid := make([][]*string, q.GPUs)
	for g, row := range p.Grid() {
		grid[g] = make([]*string, q.Steps)
		for t, what := range row {
			switch {
			case what >= 0:
				grid[g][t] = &q.Jobs[what].ID
			case what != horizon.Idle && what != horizon.Shut:
				grid[g][t] = &q.Apps[-2-what].ID
			}
		}
	}
	return grid
}

type readingJSON struct {
	Blocks string `json:"blocks"`
	Ends   string `json:"ends"`
	Swaps  string `json:"swaps"`
}

func blocksWord(r horizon.Reading) string {
	switch {
	case r.AnySize && r.Unaligned:
		return "any-size-unaligned"
	case r.AnySize:
		return "any-size"
	case r.Unaligned:
		return "unaligned"
	}
	return "aligned"
}

type windowJSON struct {
	Name   string `json:"name"`
	First  int    `json:"first"`
	Count  int    `json:"count"`
	From   int    `json:"from"`
	To     int    `json:"to"`
	Absent bool   `json:"absent"`
}

// jobJSON is a job and its place; Start and the rest are null without one.
type jobJSON struct {
	ID       string `json:"id"`
	Kind     string `json:"kind,omitempty"`
	GPUs     int    `json:"gpus"`
	Steps    int    `json:"steps"`
	Priority int64  `json:"priority"`
	Placed   bool   `json:"placed"`
	Start    *int   `json:"start"`
	End      *int   `json:"end"`
	Offset   *int   `json:"offset"`
	Size     *int   `json:"size"`
	Running  bool   `json:"running"`
	Deadline int    `json:"deadline,omitempty"`
	// Stretches, where it is interrupted.
	Stretches []stretchJSON `json:"stretches,omitempty"`
	Why       *whyJSON      `json:"why,omitempty"`
}

type stretchJSON struct {
	Start   int `json:"start"`
	End     int `json:"end"`
	Offset  int `json:"offset"`
	Size    int `json:"size"`
	Restart int `json:"restart"`
}

type whyJSON struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func jobsJSON(p *Planned) []jobJSON {
	q := p.Plan.Problem
	out := make([]jobJSON, len(q.Jobs))
	for i := range q.Jobs {
		j := &q.Jobs[i]
		out[i] = jobJSON{ID: j.ID, Kind: j.Kind.String(), GPUs: j.GPUs, Steps: j.Steps, Priority: j.Priority, Running: j.Running != nil, Deadline: j.Deadline}
	}
	for _, s := range byStart(p.Plan) {
		x := &out[s.Job]
		end := s.End()
		if !x.Placed {
			x.Placed, x.Start, x.Offset, x.Size = true, &s.Start, &s.Offset, &s.Size
		}
		x.End = &end
		x.Stretches = append(x.Stretches, stretchJSON{s.Start, end, s.Offset, s.Size, s.Restart})
	}
	for i := range out {
		if len(out[i].Stretches) == 1 {
			out[i].Stretches = nil
		}
	}
	for i := range p.LeftOut {
		u := &p.LeftOut[i]
		out[u.Job].Why = &whyJSON{u.Why.String(), whyLeftOut(q, u)}
	}
	return out
}

type appJSON struct {
	ID      string `json:"id"`
	Min     []int  `json:"min"`
	Demand  []int  `json:"demand"`
	Max     []int  `json:"max"`
	Held    []int  `json:"held"`
	Spare   []int  `json:"spare"`
	SwapCap int    `json:"swapCap"`
	Penalty int64  `json:"penalty"`
}

func appsJSON(p *Planned) []appJSON {
	out := []appJSON{}
	for i := range p.Coverage {
		a, c := &p.Plan.Problem.Apps[i], &p.Coverage[i]
		out = append(out, appJSON{a.ID, a.Min, a.Demand, a.Max, c.Held, c.Spare, a.SwapCap, a.Penalty})
	}
	return out
}

type coverageAppJSON struct {
	ID            string     `json:"id"`
	ShortSteps    int        `json:"shortSteps"`
	NoMarginSteps int        `json:"noMarginSteps"`
	Risks         []riskJSON `json:"risks"`
}

type riskJSON struct {
	Kind  string `json:"kind"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	Short int    `json:"short"`
}

func coverageJSON(p *Planned) []coverageAppJSON {
	out := []coverageAppJSON{}
	for i := range p.Coverage {
		a := &p.Coverage[i]
		x := coverageAppJSON{ID: p.Plan.Problem.Apps[i].ID, ShortSteps: a.Steps(view.Short), NoMarginSteps: a.Steps(view.NoMargin), Risks: []riskJSON{}}
		for _, r := range a.Risks {
			x.Risks = append(x.Risks, riskJSON{r.Kind.String(), r.From, r.To, r.Short})
		}
		out = append(out, x)
	}
	return out
}

type idleStepsJSON struct {
	GPUHours float64 `json:"gpuHours"`
	GPUs     []int   `json:"gpus"`
	Block    []int   `json:"largestBlock"`
}

func idleJSON(p *Planned) idleStepsJSON {
	out := idleStepsJSON{GPUHours: p.idleGPUHours()}
	for _, s := range p.Idle {
		out.GPUs, out.Block = append(out.GPUs, s.GPUs), append(out.Block, s.Block)
	}
	return out
}

type idleWindowJSON struct {
	From     int     `json:"from"`
	To       int     `json:"to"`
	First    int     `json:"first"`
	Count    int     `json:"count"`
	Block    int     `json:"largestBlock"`
	GPUHours float64 `json:"gpuHours"`
}

// jsonLines writes objects with a line for each key. The encoder's own layout would
// put each cell of a grid on a line.
type jsonLines struct {
	w     *bufio.Writer
	depth int
	more  bool
	err   error
}

func (j *jsonLines) key(name string) {
	if j.more {
		j.w.WriteString(",")
	}
	if j.depth > 0 {
		j.w.WriteString("\n")
		j.indent()
	}
	if name != "" {
		j.encode(name)
		j.w.WriteString(": ")
	}
	j.more = true
}

func (j *jsonLines) indent() {
	for range j.depth {
		j.w.WriteString("  ")
	}
}

func (j *jsonLines) open(name string) {
	j.key(name)
	j.w.WriteString("{")
	j.depth, j.more = j.depth+1, false
}

func (j *jsonLines) close() {
	j.depth, j.more = j.depth-1, true
	j.w.WriteString("\n")
	j.indent()
	j.w.WriteString("}")
}

func (j *jsonLines) value(name string, v any) {
	j.key(name)
	j.encode(v)
}

// list writes a list with a line for each element.
func list[T any](j *jsonLines, name string, elements []T) {
	j.key(name)
	if len(elements) == 0 {
		j.w.WriteString("[]")
		return
	}
	j.w.WriteString("[")
	for i := range elements {
		if i > 0 {
			j.w.WriteString(",")
		}
		j.w.WriteString("\n  ")
		j.indent()
		j.encode(&elements[i])
	}
	j.w.WriteString("\n")
	j.indent()
	j.w.WriteString("]")
}

func (j *jsonLines) encode(v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil && j.err == nil {
		j.err = err
	}
	j.w.Write(bytes.TrimRight(b.Bytes(), "\n"))
}

func wordOf(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// orNull is null for "".
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
