package trace

import (
	"math"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// escalaService is what a real-time application declares.
type escalaService struct {
	Demand    *escalaCurve `json:"demand"`
	Min       *escalaCurve `json:"min,omitempty"`
	Max       *escalaCurve `json:"max,omitempty"`
	SwapGPUs  int32        `json:"swap_gpus,omitempty"`
	SwapEvery int64        `json:"swap_every_ms,omitempty"`
	Penalty   int64        `json:"penalty,omitempty"`
}

// escalaCurve is a number of GPUs over time, the values side by side.
type escalaCurve struct {
	Start  int64   `json:"start_ms,omitempty"`
	Step   int64   `json:"step_ms"`
	GPUs   []int32 `json:"gpus"`
	Repeat bool    `json:"repeat,omitempty"`
}

func toEscalaService(s *workload.Service) *escalaService {
	return &escalaService{Demand: toEscalaCurve(&s.Demand), Min: toEscalaCurve(&s.Min), Max: toEscalaCurve(&s.Max),
		SwapGPUs: s.Swaps, SwapEvery: s.SwapEvery, Penalty: s.Penalty}
}

// toEscalaCurve is nil for a curve without values, which says nothing.
func toEscalaCurve(c *workload.Curve) *escalaCurve {
	if c == nil || len(c.Values) == 0 {
		return nil
	}
	return &escalaCurve{Start: c.Start, Step: c.Step, GPUs: c.Values, Repeat: c.Repeat}
}

// service reads what a real-time application declares.
func (r *escalaReader) service(id string, e *escalaService, need *workload.Need) (*workload.Service, error) {
	of := "service of " + quote(id)
	if e.Demand == nil {
		return nil, r.fail(of+" has no demand", `"demand":{"step_ms":3600000,"gpus":[4,8]}`)
	}
	if need.Tasks < 1 || need.GPUs != 1 || need.Fractional() || need.MaxTasks != 0 {
		return nil, r.fail(of+": its job asks for "+need.String(), `tasks (its highest demand) with "gpus":1, so that each GPU may come and go alone`)
	}
	s := &workload.Service{Swaps: e.SwapGPUs, SwapEvery: e.SwapEvery, Penalty: e.Penalty}
	for _, c := range []struct {
		name string
		from *escalaCurve
		to   *workload.Curve
	}{{"demand", e.Demand, &s.Demand}, {"min", e.Min, &s.Min}, {"max", e.Max, &s.Max}} {
		if c.from == nil {
			continue
		}
		var err error
		if *c.to, err = r.curve(c.name+" of "+quote(id), c.from); err != nil {
			return nil, err
		}
	}
	if err := s.Check(); err != nil {
		return nil, r.fail(of+": "+fault(err), "a demand above 0 at some time, swap_gpus and swap_every_ms both above 0 or both 0, and a penalty of 0 or more")
	}
	return s, r.span(id, s.SwapEvery)
}

// curve reads a curve whose end is a time that the format can say.
func (r *escalaReader) curve(of string, e *escalaCurve) (workload.Curve, error) {
	c := workload.Curve{Start: e.Start, Step: e.Step, Values: e.GPUs, Repeat: e.Repeat}
	if err := c.Check(); err != nil {
		return c, r.fail(of+": "+fault(err), "step_ms above 0 and gpus of 0 or more")
	}
	if c.Step > maxWhole*1000/int64(len(c.Values)) {
		return c, r.fail(of+" goes on for more than 9e15 ms", "shorter steps, or fewer")
	}
	if c.Peak() == math.MaxInt32 {
		return c, r.fail(of+" rises to 2147483647 GPUs", "fewer")
	}
	return c, r.points(of, c.Start)
}

// fault is what is wrong, without the clause that says what would be right.
func fault(err error) string {
	msg, _, _ := strings.Cut(err.Error(), "; ")
	return msg
}
