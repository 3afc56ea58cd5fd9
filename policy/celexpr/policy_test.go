package celexpr

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/policy"
)

func TestMain(m *testing.M) {
	policy.CompileExpr = Compile
	m.Run()
}

func TestPolicyWithExpression(t *testing.T) {
	p, err := policy.Parse("p.yaml", []byte(`
order:
  - {by: cel, expr: "job.kind == 'interactive' ? 0 : 1"}
  - by: cel
    descending: true
    expr: |
      pow(wait / job.estimate, 3)
        * job.gpus
blocking: easy
interval: 1m
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Order) != 2 || p.Order[0].Expr.TimeDependent() || !p.Order[1].Expr.TimeDependent() || !p.Order[1].Descending {
		t.Errorf("order %+v, want a constant term, then a descending one that depends on time", p.Order)
	}
	again, err := policy.Parse("again.yaml", p.YAML())
	if err != nil {
		t.Fatalf("written form is not read back: %v\n%s", err, p.YAML())
	}
	if string(again.YAML()) != string(p.YAML()) || again.Order[1].Text != p.Order[1].Text {
		t.Errorf("written form changes when read back:\n%s\nthen\n%s", p.YAML(), again.YAML())
	}
}

// A mistake in an expression is shown where it stands in the policy's file.
func TestExpressionErrorsPointIntoTheFile(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"quoted":   {"order:\n  - {by: cel, expr: \"job.gpus + wiat\"}", "p.yaml:2:33: undeclared reference to 'wiat'"},
		"plain":    {"order:\n  - by: cel\n    expr: job.gpus *", "p.yaml:3:21: Syntax error"},
		"literal":  {"order:\n  - by: cel\n    expr: |\n      job.gpus +\n      job.user\n", "p.yaml:4:16: found no matching overload for '_+_'"},
		"type":     {"order: [{by: cel, expr: job.user}]", "p.yaml:1:25: the expression is of type string; want a number: smaller goes first"},
		"none":     {"order:\n  - cel", `p.yaml:2:5: cel has no expr; give one, such as expr: "job.gpus * job.estimate"`},
		"interval": {"order: [{by: cel, expr: job.gpus}]\ninterval: 1m", "p.yaml:2:11: no order term of this policy changes with time"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse("p.yaml", []byte(tc.file))
			var e *yamlx.Error
			if !errors.As(err, &e) || !strings.HasPrefix(e.Head(), tc.want) || e.Excerpt == "" {
				t.Errorf("error\n got %v\nwant %s and an excerpt", err, tc.want)
			}
		})
	}
}

func TestExamplesOfTheReference(t *testing.T) {
	data, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, block := range strings.Split(string(data), "```yaml\n")[1:] {
		if text, _, _ := strings.Cut(block, "```"); strings.Contains(text, "by: cel") {
			read++
			if _, err := policy.Parse("policies.yaml", []byte(text)); err != nil {
				t.Error(err)
			}
		}
	}
	if read == 0 {
		t.Error("docs/policies.md has no example of an expression")
	}
	for _, name := range slices.Concat(numbers, texts, []string{labels}) {
		if !strings.Contains(string(data), "`"+name+"`") {
			t.Errorf("docs/policies.md does not explain `%s`", name)
		}
	}
}
