package celexpr

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

func vars() *policy.Vars {
	return &policy.Vars{
		Job: &workload.Job{ID: "j1", User: "ana", Team: "vision", Partition: "p", Kind: workload.KindTraining,
			Submit: 5000 * workload.Second, Priority: 7, Limit: 2 * workload.Hour, Deadline: 9000 * workload.Second,
			Need: workload.Need{Tasks: 2, GPUs: 8}, Labels: map[string]string{"cost": "low"}},
		Now: 6000, Wait: 1000, Estimate: 3600, Remaining: 1800, Attained: 28_800, Preemptions: 1,
	}
}

func TestEval(t *testing.T) {
	for text, want := range map[string]float64{
		"job.gpus * job.estimate":               57_600,
		"2 * job.gpus + 1":                      33,
		"-1":                                    -1,
		"7 / 2":                                 3.5,
		"log2(job.gpus)":                        4,
		"log(exp(2))":                           2,
		"pow(wait / job.estimate, 3) * 46.656":  1,
		"min(3, max(1, 2)) + abs(-4)":           6,
		"sqrt(16) + floor(1.5) + ceil(1.5)":     7,
		"job.tasks + job.priority":              9,
		"job.limit + job.deadline + job.submit": 21_200,
		"now + wait + remaining + attained + preemptions":         37_601,
		`job.kind == "training" ? 0 : 1`:                          0,
		`job.user == "ana" && job.team == "vision" ? 5 : 6`:       5,
		`job.labels["cost"] == "low" ? 1 : 2`:                     1,
		`has(job.labels.cost) ? 1 : 2`:                            1,
		`"absent" in job.labels ? 1 : 2`:                          2,
		`size(job.id)`:                                            2,
		`size(job.id) > 1 ? 1 : 0`:                                1,
		`job.partition.startsWith("p") && job.id != "" ? 10 : 20`: 10,
	} {
		e, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.Eval(vars()); err != nil || math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s = %v, %v, want %v", text, got, err, want)
		}
	}
}

// F1 as its paper has it, in the language of policy files.
func TestF1IsWrittenInCEL(t *testing.T) {
	e, err := Compile("log10(job.estimate) * job.gpus + 870 * log10(job.submit)")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ estimate, submit, gpus float64 }{{1, 1, 1}, {3600, 5000, 16}, {86_400, 1e7, 512}, {12.5, 123.456, 3}} {
		v := &policy.Vars{Estimate: tc.estimate, Job: &workload.Job{
			Submit: workload.Time(math.Round(tc.submit * 1000)), Need: workload.Need{GPUs: int32(tc.gpus)}}}
		// The conversions keep the compiler from fusing the sum, which CEL cannot either.
		want := float64(math.Log10(tc.estimate)*tc.gpus) + float64(870*math.Log10(tc.submit))
		if got, err := e.Eval(v); err != nil || got != want {
			t.Errorf("F1(%+v) = %v, %v, want %v", tc, got, err, want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for text, want := range map[string]struct {
		line, col int
		msg       string
	}{
		"job.gpus *":                {1, 11, "Syntax error"},
		"job.gpus + wiat":           {1, 12, "undeclared reference to 'wiat'"},
		"job.gpu * 2":               {1, 4, "undeclared reference to 'job.gpu'"},
		"1 +\n  job.user":           {1, 3, "found no matching overload for '_+_'"},
		"job.kind":                  {1, 1, "the expression is of type string"},
		"job.gpus > 4":              {1, 1, "the expression is true or false"},
		"[1, 2]":                    {1, 1, "the expression is of type list(double)"},
		"job.labels.exists(k, k)":   {1, 18, "undeclared reference to 'exists'"},
		strings.Repeat("1+", 4000):  {1, 1, "the expression has 8000 characters"},
		"log10(1, 2)":               {1, 6, "found no matching overload for 'log10'"},
		`job.labels["x"].y ? 1 : 2`: {1, 16, "type 'string' does not support field selection"},
	} {
		_, err := Compile(text)
		var e *policy.ExprError
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want an *ExprError", text, err)
			continue
		}
		if e.Line != want.line || e.Col != want.col || !strings.HasPrefix(e.Msg, want.msg) {
			t.Errorf("%s: error at %d:%d %q, want %d:%d %q", text, e.Line, e.Col, e.Msg, want.line, want.col, want.msg)
		}
	}
}

func TestEvalErrors(t *testing.T) {
	for _, text := range []string{`job.labels["absent"] == "x" ? 1 : 2`, "sqrt(-1)", "0 / (wait - wait)"} {
		e, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.Eval(vars()); err == nil {
			t.Errorf("%s = %v, want an error", text, got)
		}
	}
	e, err := Compile("log10(wait)")
	if err != nil {
		t.Fatal(err)
	}
	v := vars()
	v.Wait = 0
	if got, err := e.Eval(v); err != nil || !math.IsInf(got, -1) {
		t.Errorf("log10(0) = %v, %v, want -Inf", got, err)
	}
}

func TestCostIsLimited(t *testing.T) {
	e, err := Compile(`job.user.matches("(a|aa)+b") ? 1 : 2`)
	if err != nil {
		t.Fatal(err)
	}
	v := vars()
	v.Job.User = strings.Repeat("a", 10_000_000)
	if _, err := e.Eval(v); err == nil {
		t.Error("a regular expression over ten million characters ran to its end, want the cost limit")
	}
}

func TestTimeDependent(t *testing.T) {
	for text, want := range map[string]bool{
		"job.gpus": false, "wait": true, "job.gpus / (now - job.submit)": true, "remaining + attained + preemptions": false,
		`job.labels["now"] == "wait" ? 1 : 2`: false, `job.user == "x" ? 1 : wait`: true,
	} {
		e, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := e.TimeDependent(); got != want {
			t.Errorf("%s: TimeDependent = %t, want %t", text, got, want)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	e, err := Compile("log10(job.estimate) * job.gpus + 870 * log10(job.submit)")
	if err != nil {
		b.Fatal(err)
	}
	v := vars()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Eval(v); err != nil {
			b.Fatal(err)
		}
	}
}
