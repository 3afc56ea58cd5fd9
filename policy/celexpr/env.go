package celexpr

import (
	"math"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// maxText is the length of the longest expression, in characters. With loops
// left out it bounds what an evaluation may do; costLimit, in CEL's cost units,
// bounds what strings and labels of unusual length may add to that.
const (
	maxText   = 4096
	costLimit = 100_000
)

// numbers and texts are the variables; docs/policies.md says what each holds.
var (
	numbers = []string{"job.gpus", "job.tasks", "job.priority", "job.submit", "job.estimate", "job.limit", "job.deadline",
		"now", "wait", "remaining", "attained", "preemptions"}
	texts = []string{"job.id", "job.user", "job.team", "job.partition", "job.kind"}
)

const labels = "job.labels"

// environment is made at the first expression and kept: making it takes milliseconds.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	opts := []cel.EnvOption{
		cel.ClearMacros(), cel.Macros(cel.HasMacro),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxText),
		cel.Variable(labels, cel.MapType(cel.StringType, cel.StringType)),
	}
	for _, name := range numbers {
		opts = append(opts, cel.Variable(name, cel.DoubleType))
	}
	for _, name := range texts {
		opts = append(opts, cel.Variable(name, cel.StringType))
	}
	for name, f := range map[string]func(float64) float64{
		"log": math.Log, "log2": math.Log2, "log10": math.Log10, "sqrt": math.Sqrt, "exp": math.Exp,
		"abs": math.Abs, "floor": math.Floor, "ceil": math.Ceil,
	} {
		opts = append(opts, cel.Function(name, cel.Overload(name+"_double", []*cel.Type{cel.DoubleType}, cel.DoubleType,
			cel.UnaryBinding(func(x ref.Val) ref.Val { return types.Double(f(float64(x.(types.Double)))) }))))
	}
	for name, f := range map[string]func(a, b float64) float64{
		"pow": math.Pow,
		"min": func(a, b float64) float64 { return min(a, b) },
		"max": func(a, b float64) float64 { return max(a, b) },
	} {
		opts = append(opts, cel.Function(name, cel.Overload(name+"_double_double", []*cel.Type{cel.DoubleType, cel.DoubleType}, cel.DoubleType,
			cel.BinaryBinding(func(a, b ref.Val) ref.Val {
				return types.Double(f(float64(a.(types.Double)), float64(b.(types.Double))))
			}))))
	}
	return cel.NewEnv(opts...)
})
