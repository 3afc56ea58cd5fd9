package cli

import (
	"fmt"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// loadBudgets reads a budgets file, and with a workload holds it to the workload's clock.
func (s *State) loadBudgets(path string, w *workload.Workload) (*budget.Tree, error) {
	data, err := s.ReadFile(path)
	if err != nil {
		return nil, badInput(fmt.Errorf("budgets %w", noFile(err)), "the path of a budgets file; docs/budgets.md shows one")
	}
	t, err := budget.Parse(path, data)
	if err != nil {
		return nil, badInput(err, "docs/budgets.md has every key, with examples")
	}
	if w == nil {
		return t, nil
	}
	// What the accounts refuse, such as dates without a calendar, is wrong from the start.
	start, _ := w.Window()
	if _, err := budget.NewAccounts(t, w.Epoch, start); err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", path, err), "docs/budgets.md, Credits")
	}
	return t, nil
}

// takeBudgets gives a study the budgets that it shares by and is judged by: those of
// the file, or, where a policy shares and none is named, equal shares of the teams.
func (s *State) takeBudgets(path string, t *study, c *report.Comparison) error {
	switch {
	case path != "":
		tree, err := s.loadBudgets(path, t.workload)
		if err != nil {
			return err
		}
		t.budgets = tree
		absent, err := poolsFit(path, tree, t.cluster)
		if err != nil {
			return err
		}
		if len(absent) > 0 {
			c.Assumptions = append(c.Assumptions, report.Assumption{Name: "Empty pools", Value: absentText(absent, t.cluster), Source: "--budgets"})
		}
	case shares(t.policies):
		t.budgets = sim.EqualBudgets(t.workload)
		c.Assumptions = append(c.Assumptions, report.Assumption{Name: "Shares",
			Value: fmt.Sprintf("equal among the %s of the workload", plural(len(t.budgets.Reported), "team")), Source: "no --budgets"})
	default:
		return nil
	}
	c.Budgets = t.budgets
	for _, u := range t.budgets.CheckWorkload(t.workload) {
		c.Unbudgeted = append(c.Unbudgeted, report.Unbudgeted{Jobs: u.Jobs, Team: u.Team, Why: u.Why, First: u.First})
	}
	return nil
}

// shares tells whether one of the policies shares by budgets.
func shares(policies []*policy.Policy) bool {
	for _, p := range policies {
		if p.Sharing != nil {
			return true
		}
	}
	return false
}

// shareWindow is how far back usage counts: that of the first policy that shares, 0 = none does.
func shareWindow(policies []*policy.Policy) workload.Span {
	for _, p := range policies {
		if p.Sharing != nil {
			return p.Sharing.Window
		}
	}
	return 0
}
