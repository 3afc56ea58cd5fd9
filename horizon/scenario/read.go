// Package scenario reads and writes horizons as JSON files (docs/horizon.md).
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

// file is the JSON form of a problem: one object, lists in arrival order.
type file struct {
	Name      string   `json:"name"`
	Family    string   `json:"family,omitempty"`
	Notes     string   `json:"notes,omitempty"`
	Seed      int64    `json:"seed,omitempty"`
	GPUs      int      `json:"gpus"`
	Steps     int      `json:"steps"`
	StepHours float64  `json:"step_hours"`
	StartHour int      `json:"start_hour"`
	Decay     float64  `json:"decay"`
	Types     []int    `json:"types,omitempty"`
	Closed    []window `json:"closed,omitempty"`
	Jobs      []job    `json:"jobs"`
	RT        []app    `json:"rt"`
}

type window struct {
	Name   string `json:"name,omitempty"`
	First  int    `json:"first"`
	Count  int    `json:"count"`
	From   int    `json:"from"`
	To     int    `json:"to"`
	Absent bool   `json:"absent,omitempty"`
}

type job struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind,omitempty"`
	GPUs     int      `json:"gpus"`
	Steps    int      `json:"steps"`
	Priority int64    `json:"priority"`
	Release  int      `json:"release"`
	Running  *running `json:"running,omitempty"`
	Deadline int      `json:"deadline,omitempty"`
	Late     *float64 `json:"late,omitempty"`
	MinSteps int      `json:"min_steps,omitempty"`
	Restart  int      `json:"restart,omitempty"`
	Types    []int    `json:"types,omitempty"`
}

type running struct {
	Offset  int `json:"offset"`
	Elapsed int `json:"elapsed"`
}

type app struct {
	ID      string `json:"id"`
	Min     []int  `json:"min"`
	Demand  []int  `json:"demand"`
	Max     []int  `json:"max"`
	SwapCap int    `json:"swap_cap"`
	Penalty int64  `json:"penalty"`
	Current []int  `json:"current"`
	Types   []int  `json:"types,omitempty"`
}

var kinds = map[string]workload.Kind{"": workload.KindUnspecified, "training": workload.KindTraining, "batch": workload.KindBatchInference,
	"batch-inference": workload.KindBatchInference, "quantization": workload.KindQuantization}

// Read reads one scenario. Its errors say where in the file, and what would be right.
func Read(r io.Reader) (*horizon.Problem, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f file
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("line %d: %w", lineAt(data, dec.InputOffset(), err), err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("line %d: something follows the scenario; a file holds one object", lineAt(data, dec.InputOffset(), nil))
	}
	p, err := f.problem()
	if err != nil {
		return nil, err
	}
	return p, p.Check()
}

// lineAt is the line of an offset, or of the place that a JSON error names.
func lineAt(data []byte, offset int64, err error) int {
	switch e := err.(type) {
	case *json.SyntaxError:
		offset = e.Offset
	case *json.UnmarshalTypeError:
		offset = e.Offset
	}
	return 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
}

func (f *file) problem() (*horizon.Problem, error) {
	hours := f.StepHours
	if hours == 0 {
		hours = 1
	}
	if !(hours > 0 && hours <= 24*7) {
		return nil, fmt.Errorf("step_hours: %v; a step lasts up to a week", f.StepHours)
	}
	p := &horizon.Problem{Name: f.Name, GPUs: f.GPUs, Steps: f.Steps, StepLength: workload.Span(math.Round(hours * float64(workload.Hour))),
		StartHour: f.StartHour, Decay: f.Decay, Types: f.Types}
	if p.Decay == 0 {
		p.Decay = 1
	}
	for _, w := range f.Closed {
		p.Closed = append(p.Closed, horizon.Window(w))
	}
	for i, j := range f.Jobs {
		kind, ok := kinds[j.Kind]
		if !ok {
			return nil, fmt.Errorf("jobs[%d] %q: kind %q; it is training, batch or quantization", i, j.ID, j.Kind)
		}
		h := horizon.Job{ID: j.ID, Kind: kind, GPUs: j.GPUs, Steps: j.Steps, Priority: j.Priority, Release: j.Release,
			Deadline: j.Deadline, MinSteps: j.MinSteps, Restart: j.Restart}
		if j.Late != nil {
			if !(*j.Late >= 0 && *j.Late <= 1) {
				return nil, fmt.Errorf("jobs[%d] %q: late: %v; what a late job is worth lies between 0 and 1", i, j.ID, *j.Late)
			}
			h.Late = int(math.Round(*j.Late * 1000))
		}
		if j.Running != nil {
			h.Running = &horizon.Running{Offset: j.Running.Offset, Elapsed: j.Running.Elapsed}
		}
		var err error
		if h.Types, err = mask(j.Types); err != nil {
			return nil, fmt.Errorf("jobs[%d] %q: %w", i, j.ID, err)
		}
		p.Jobs = append(p.Jobs, h)
	}
	for i, a := range f.RT {
		h := horizon.App{ID: a.ID, Min: a.Min, Demand: a.Demand, Max: a.Max, SwapCap: a.SwapCap, Penalty: a.Penalty, Current: a.Current}
		var err error
		if h.Types, err = mask(a.Types); err != nil {
			return nil, fmt.Errorf("rt[%d] %q: %w", i, a.ID, err)
		}
		p.Apps = append(p.Apps, h)
	}
	return p, nil
}

func mask(types []int) (uint64, error) {
	m := uint64(0)
	for _, t := range types {
		if t < 0 || t > 63 {
			return 0, fmt.Errorf("types: %d; types are numbered 0 to 63", t)
		}
		m |= 1 << t
	}
	return m, nil
}
