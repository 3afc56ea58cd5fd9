package celexpr

import (
	"errors"
	"math"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

type expression struct {
	program cel.Program
	timed   bool
}

var _ policy.Expr = (*expression)(nil)

// TimeDependent tells whether the expression reads now or wait.
func (e *expression) TimeDependent() bool { return e.timed }

var errNotANumber = errors.New("the expression has no value here (0/0, or the logarithm or root of a negative number)")

// Eval returns the value; it may be infinite (log10 of 0), but is never NaN.
func (e *expression) Eval(v *policy.Vars) (float64, error) {
	out, _, err := e.program.Eval((*activation)(v))
	if err != nil {
		return 0, err
	}
	f := number(out)
	if math.IsNaN(f) {
		return 0, errNotANumber
	}
	return f, nil
}

func number(v ref.Val) float64 {
	switch x := v.(type) {
	case types.Double:
		return float64(x)
	case types.Int:
		return float64(x)
	case types.Uint:
		return float64(x)
	}
	return math.NaN()
}

// activation answers CEL's questions for variables straight from the engine's
// record, so that only what an expression reads is converted.
type activation policy.Vars

var _ cel.Activation = (*activation)(nil)

// Parent is nil: there is no outer scope.
func (a *activation) Parent() cel.Activation { return nil }

// ResolveName returns a variable by its full name.
func (a *activation) ResolveName(name string) (any, bool) {
	j := a.Job
	switch name {
	case "job.id":
		return types.String(j.ID), true
	case "job.user":
		return types.String(j.User), true
	case "job.team":
		return types.String(j.Team), true
	case "job.partition":
		return types.String(j.Partition), true
	case "job.kind":
		return types.String(j.Kind.String()), true
	case labels:
		if j.Labels == nil {
			return map[string]string{}, true
		}
		return j.Labels, true
	case "job.gpus":
		return types.Double(float64(j.Need.TotalMilli()) / 1000), true
	case "job.tasks":
		return types.Double(j.Need.Tasks), true
	case "job.priority":
		return types.Double(j.Priority), true
	case "job.submit":
		return seconds(j.Submit), true
	case "job.estimate":
		return types.Double(a.Estimate), true
	case "job.limit":
		return seconds(j.Limit), true
	case "job.deadline":
		return seconds(j.Deadline), true
	case "now":
		return types.Double(a.Now), true
	case "wait":
		return types.Double(a.Wait), true
	case "remaining":
		return types.Double(a.Remaining), true
	case "attained":
		return types.Double(a.Attained), true
	case "preemptions":
		return types.Double(a.Preemptions), true
	}
	return nil, false
}

func seconds(ms workload.Span) types.Double { return types.Double(float64(ms) / 1000) }
