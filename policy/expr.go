package policy

import "fmt"

// CompileExpr compiles the expression of a "cel" order term. It is nil unless
// the program sets it, once, before it parses a policy: the only
// implementation is celexpr.Compile, and programs that sort by no expression
// need not link CEL. Its errors are of type [ExprError].
var CompileExpr func(text string) (Expr, error)

// ExprError is what is wrong in an expression, and where.
type ExprError struct {
	// Line and Col count from 1 in the expression.
	Line, Col int
	// Msg says what is wrong, Want what would be right.
	Msg, Want string
}

// Error renders the error for readers without the file.
func (e *ExprError) Error() string {
	s := fmt.Sprintf("expression %d:%d: %s", e.Line, e.Col, e.Msg)
	if e.Want != "" {
		s += "; " + e.Want
	}
	return s
}
