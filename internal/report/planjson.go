package report

import (
	"bufio"
	"io"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
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
	j.value("startMinute", q.StartMinute)
	if r.At != nil {
		j.value("at", float64(*r.At)/float64(workload.Second))
	}
	nodes := []nodeJSON{}
	for _, n := range q.Nodes {
		nodes = append(nodes, nodeJSON(n))
	}
	list(j, "nodes", nodes)
	j.value("decay", q.Decay)
	j.value("reading", readingJSON{Blocks: blocksWord(q.Reading), Ends: wordOf(q.Reading.Complete, "complete", "overrun"), Swaps: wordOf(q.Reading.CountSwaps, "count", "identities")})
	closed := []windowJSON{}
	for _, c := range q.Closed {
		closed = append(closed, windowJSON(c))
	}
	list(j, "closed", closed)
	if len(r.Exempt) > 0 {
		j.value("exempt", r.Exempt)
	}
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

// nodeJSON is a machine: GPUs First to First + Count - 1 of the row.
type nodeJSON struct {
	Name  string `json:"name"`
	First int    `json:"first"`
	Count int    `json:"count"`
}

type windowJSON struct {
	Name   string `json:"name"`
	First  int    `json:"first"`
	Count  int    `json:"count"`
	From   int    `json:"from"`
	To     int    `json:"to"`
	Absent bool   `json:"absent"`
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
