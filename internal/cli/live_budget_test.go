package cli

import (
	"strings"
	"testing"

	"github.com/escala-sched/escala/budget"
)

const labBudgets = `name: lab
children:
  - {name: a, share: 60, budget: {gpuHours: 100, per: month}}
  - {name: b, share: 40, users: [ben]}
`

// TestWithCredit: an entry is added in whatever style the text has, and nothing else changes.
func TestWithCredit(t *testing.T) {
	const entry = "{at: 2026-12-01T11:00:00Z, account: a, gpuHours: 5, by: dora, reason: a deadline}"
	const old = "{at: 2026-01-01, account: a, gpuHours: 1, by: ana}"
	for name, tc := range map[string]struct{ text, want string }{
		"none":      {labBudgets, labBudgets + "credits:\n  - " + entry + "\n"},
		"no end":    {strings.TrimSuffix(labBudgets, "\n"), labBudgets + "credits:\n  - " + entry + "\n"},
		"block":     {"credits:\n- " + old + "\n\n# who\n" + labBudgets, "credits:\n- " + old + "\n- " + entry + "\n\n# who\n" + labBudgets},
		"last":      {labBudgets + "credits:\n    - " + old + "\n", labBudgets + "credits:\n    - " + old + "\n    - " + entry + "\n"},
		"many":      {labBudgets + "credits:\n  - at: 2026-01-01\n    account: a\n    gpuHours: 1\n    by: ana\n", labBudgets + "credits:\n  - at: 2026-01-01\n    account: a\n    gpuHours: 1\n    by: ana\n  - " + entry + "\n"},
		"flow":      {labBudgets + "credits: [" + old + "]\n", labBudgets + "credits: [" + old + ", " + entry + "]\n"},
		"flow none": {labBudgets + "credits: []\n", labBudgets + "credits: [" + entry + "]\n"},
	} {
		got, err := withCredit(tc.text, "lab", noon, "a", "5", "dora", "a deadline")
		if err != nil || got != tc.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	for name, tc := range map[string]struct{ account, amount, want string }{
		"no budget":  {"b", "5", `ACCOUNT "b": it has no budget`},
		"no account": {"c9", "5", `ACCOUNT "c9": no account of the budgets is called that`},
		"too fine":   {"a", "0.0001", "GPU-HOURS 0.0001: "},
		"nothing":    {"a", "0", "no number of GPU-hours"},
		"no number":  {"a", "many", "no number of GPU-hours"},
	} {
		if _, err := withCredit(labBudgets, "lab", noon, tc.account, tc.amount, "dora", ""); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), ".yaml") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := withCredit(labBudgets+"credits: [\n"+old+"]\n", "lab", noon, "a", "5", "dora", ""); err == nil {
		t.Error("a text that cannot be added to was taken")
	}
}

func TestBudgetChanges(t *testing.T) {
	parse := func(text string) *budget.Tree {
		tree, err := budget.Parse("lab.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	old := parse(labBudgets)
	if l := budgetChanges(old, old); len(l.rows) > 0 {
		t.Errorf("nothing changed, and got\n%s", l.text(0, false))
	}
	now := parse(`name: lab
children:
  - {name: a, share: 30, budget: {gpuHours: 200, per: month}}
  - {name: c, share: 70, users: [ben], managers: [ana]}
credits: [{at: 2026-01-01, account: a, gpuHours: -5, by: ana, reason: a slip}]
`)
	want := `ACCOUNT  WHAT                 BEFORE                          AFTER
a        share of everything  60 %                            30 %
a        budget               100 GPU-h a month, unallocated  200 GPU-h a month, unallocated
c        new account                                          70 %
c        users                                                ben
c        managers                                             ana
b        no account any more  40 %
a        credit                                               -5 GPU-h by ana a slip
`
	if got := budgetChanges(old, now).text(0, false); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestUntagged(t *testing.T) {
	r := &rules{}
	r.text.YAML, r.text.Tag = labBudgets, "12ab"
	if tag, text := untagged(r.tagged()); tag != "12ab" || text != labBudgets {
		t.Errorf("%q %q", tag, text)
	}
	if tag, text := untagged(labBudgets); tag != "" || text != labBudgets {
		t.Errorf("%q %q", tag, text)
	}
}
