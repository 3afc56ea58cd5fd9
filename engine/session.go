package engine

import (
	"github.com/escala-sched/escala/fact"
)

// budgetsChanged takes in a new tree. Policies that know no budgets do not mind.
func (e *Engine) budgetsChanged(f *fact.Fact) error {
	if f.Budgets == nil {
		return ErrUnknown
	}
	if e.sharing != nil {
		return e.rebudget(f)
	}
	return nil
}

func (e *Engine) sessionChanged(f *fact.Fact) error { return nil }
