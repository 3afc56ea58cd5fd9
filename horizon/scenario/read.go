package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// Read reads one scenario. Its errors say where in the file, and what would be right. A problem
// that was read but that [horizon.Problem.Check] refuses comes with that error: under another
// reading of the rules it may be none.
func Read(r io.Reader) (*horizon.Problem, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f file
	if err := dec.Decode(&f); err != nil {
		return nil, explain(data, err)
	}
	if rest := bytes.TrimLeft(data[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("line %d: something follows the scenario; a file holds one object", lineAt(data, len(data)-len(rest)))
	}
	p, err := f.problem()
	if err != nil {
		return nil, err
	}
	return p, p.Check()
}

func (f *file) problem() (*horizon.Problem, error) {
	p := &horizon.Problem{Name: f.Name, GPUs: f.GPUs, Steps: f.Steps, StepLength: workload.Hour, StartHour: f.StartHour, StartMinute: f.StartMinute, Decay: 1, Types: f.Types}
	if f.StepHours != nil {
		ms := math.Round(*f.StepHours * float64(workload.Hour))
		if !(ms >= 1 && ms <= float64(7*workload.Day)) {
			return nil, fmt.Errorf("step_hours: %v; a step lasts longer than nothing and up to a week, 168", *f.StepHours)
		}
		p.StepLength = workload.Span(ms)
	}
	if f.Decay != nil {
		p.Decay = *f.Decay
	}
	for _, n := range f.Nodes {
		p.Nodes = append(p.Nodes, horizon.Node(n))
	}
	for _, w := range f.Closed {
		p.Closed = append(p.Closed, horizon.Window(w))
	}
	for i := range f.Jobs {
		j, err := f.Jobs[i].job()
		if err != nil {
			return nil, fmt.Errorf("jobs[%d] %q: %w", i, f.Jobs[i].ID, err)
		}
		p.Jobs = append(p.Jobs, j)
	}
	for i := range f.RT {
		a, err := f.RT[i].app()
		if err != nil {
			return nil, fmt.Errorf("rt[%d] %q: %w", i, f.RT[i].ID, err)
		}
		p.Apps = append(p.Apps, a)
	}
	return p, nil
}

func (j *job) job() (horizon.Job, error) {
	h := horizon.Job{ID: j.ID, GPUs: j.GPUs, Slots: j.Slots, Align: j.Align, Steps: j.Steps, Priority: j.Priority, Release: j.Release,
		Deadline: j.Deadline, MinSteps: j.MinSteps, Restart: j.Restart}
	var ok bool
	if h.Kind, ok = parseKind(j.Kind); !ok {
		return h, fmt.Errorf("kind: %q; it is training, batch or quantization", j.Kind)
	}
	if !(j.Late >= 0 && j.Late <= 1) {
		return h, fmt.Errorf("late: %v; what a late job is worth lies between 0 and 1", j.Late)
	}
	h.Late = int(math.Round(j.Late * 1000))
	if j.Running != nil {
		r := horizon.Running(*j.Running)
		h.Running = &r
	}
	var err error
	h.Types, err = j.Types.mask()
	return h, err
}

func (a *app) app() (horizon.App, error) {
	h := horizon.App{ID: a.ID, Min: a.Min, Demand: a.Demand, Max: a.Max, SwapCap: a.SwapCap, Used: a.Used, Penalty: a.Penalty, Current: a.Current}
	var err error
	h.Types, err = a.Types.mask()
	return h, err
}
