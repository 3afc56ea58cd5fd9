package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// Write writes a problem as a scenario: what [Read] makes of it differs in nothing but the
// reading of the rules, which a file does not hold. Each job, application, node and window has
// a line of its own.
func Write(w io.Writer, p *horizon.Problem) error {
	if p.StepLength < 1 {
		return fmt.Errorf("step length: %d ms; a scenario says how long a step is", p.StepLength)
	}
	hours := float64(p.StepLength) / float64(workload.Hour)
	head, err := json.Marshal(file{Name: p.Name, GPUs: p.GPUs, Steps: p.Steps, StepHours: &hours, StartHour: p.StartHour, StartMinute: p.StartMinute, Decay: &p.Decay, Types: p.Types})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.Write(head[:len(head)-1])
	err = list(&b, "nodes", p.Nodes, func(n *horizon.Node) any { return node(*n) })
	if err == nil {
		err = list(&b, "closed", p.Closed, func(w *horizon.Window) any { return window(*w) })
	}
	if err == nil {
		err = list(&b, "jobs", p.Jobs, func(j *horizon.Job) any { return jobOf(j) })
	}
	if err == nil {
		err = list(&b, "rt", p.Apps, func(a *horizon.App) any { return appOf(a) })
	}
	if err != nil {
		return err
	}
	b.WriteString("}\n")
	_, err = w.Write(b.Bytes())
	return err
}

// list writes one key whose value is a list, if that holds anything.
func list[T any](b *bytes.Buffer, key string, values []T, form func(*T) any) error {
	for i := range values {
		line, err := json.Marshal(form(&values[i]))
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintf(b, ",\n %q: [\n  ", key)
		} else {
			b.WriteString(",\n  ")
		}
		b.Write(line)
	}
	if len(values) > 0 {
		b.WriteString("]")
	}
	return nil
}

func jobOf(j *horizon.Job) job {
	f := job{ID: j.ID, Kind: kindName(j.Kind), GPUs: j.GPUs, Slots: j.Slots, Align: j.Align, Steps: j.Steps, Priority: j.Priority, Release: j.Release,
		Deadline: j.Deadline, Late: float64(j.Late) / 1000, MinSteps: j.MinSteps, Restart: j.Restart, Types: listOf(j.Types)}
	if j.Running != nil {
		r := running(*j.Running)
		f.Running = &r
	}
	return f
}

func appOf(a *horizon.App) app {
	return app{ID: a.ID, Min: a.Min, Demand: a.Demand, Max: a.Max, SwapCap: a.SwapCap, Used: a.Used, Penalty: a.Penalty, Current: a.Current, Types: listOf(a.Types)}
}
