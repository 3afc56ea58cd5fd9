package celexpr

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/escala-sched/escala/policy"
)

// Compile checks an expression and makes it ready to run. Errors are of type
// *policy.ExprError, with the place in the text.
func Compile(text string) (policy.Expr, error) {
	if len(text) > maxText {
		return nil, &policy.ExprError{Line: 1, Col: 1, Msg: fmt.Sprintf("the expression has %d characters", len(text)), Want: fmt.Sprintf("want at most %d", maxText)}
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("expressions: %w", err)
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, firstIssue(issues)
	}
	numbersToDoubles(parsed.NativeRep())
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, firstIssue(issues)
	}
	switch t := checked.OutputType(); t.String() {
	case "double", "int", "uint":
	case "bool":
		return nil, &policy.ExprError{Line: 1, Col: 1, Msg: "the expression is true or false, not a number", Want: "want a number, for example: (...) ? 0 : 1"}
	default:
		return nil, &policy.ExprError{Line: 1, Col: 1, Msg: fmt.Sprintf("the expression is of type %s", t), Want: "want a number: smaller goes first"}
	}
	var opts []cel.ProgramOption
	if readsText(checked.NativeRep()) {
		opts = append(opts, cel.CostLimit(costLimit))
	}
	program, err := env.Program(checked, opts...)
	if err != nil {
		return nil, &policy.ExprError{Line: 1, Col: 1, Msg: err.Error()}
	}
	return &expression{program: program, timed: readsTime(checked.NativeRep())}, nil
}

// numbersToDoubles makes whole numbers doubles before types are checked, since
// CEL has no arithmetic between the two.
func numbersToDoubles(a *ast.AST) {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.LiteralKind {
			return
		}
		switch v := e.AsLiteral().(type) {
		case types.Int:
			e.SetKindCase(factory.NewLiteral(e.ID(), types.Double(v)))
		case types.Uint:
			e.SetKindCase(factory.NewLiteral(e.ID(), types.Double(v)))
		}
	}))
}

// readsTime tells whether the expression reads a variable that grows while a
// job waits.
func readsTime(a *ast.AST) bool {
	for _, r := range a.ReferenceMap() {
		if r.Name == "now" || r.Name == "wait" {
			return true
		}
	}
	return false
}

// readsText tells whether the expression reads something of unbounded length.
// Arithmetic on numbers is bounded by the length of the text, and goes more
// than twice as fast without an account of its cost.
func readsText(a *ast.AST) bool {
	for _, r := range a.ReferenceMap() {
		if r.Name == labels || slices.Contains(texts, r.Name) {
			return true
		}
	}
	return false
}

func firstIssue(issues *cel.Issues) *policy.ExprError {
	e := issues.Errors()[0]
	out := &policy.ExprError{Line: e.Location.Line(), Col: e.Location.Column() + 1, Msg: e.Message}
	out.Msg = strings.TrimSuffix(out.Msg, " (in container '')")
	switch {
	case strings.HasPrefix(e.Message, "undeclared reference"):
		out.Want = "known: " + strings.Join(slices.Concat(texts, []string{labels}, numbers), ", ") +
			", and the functions log, log2, log10, sqrt, exp, pow, min, max, abs, floor, ceil"
	case strings.HasPrefix(e.Message, "found no matching overload"):
		out.Want = "numbers go with numbers (all are doubles), text with text"
	}
	return out
}
