package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/exact"
	"github.com/escala-sched/escala/workload"
)

const tinyScenario = `{"gpus": 2, "steps": 3, "step_hours": 1, "jobs": [{"id": "a", "gpus": 1, "steps": 2, "priority": 1, "release": 0}]}`

func TestPlanColorOnTerminalsOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		tty  bool
		env  map[string]string
		args []string
		want bool
	}{
		"terminal":         {tty: true, want: true},
		"pipe":             {},
		"NO_COLOR":         {tty: true, env: map[string]string{"NO_COLOR": "1"}},
		"dumb":             {tty: true, env: map[string]string{"TERM": "dumb"}},
		"asked for":        {args: []string{"--color", "always"}, want: true},
		"asked to go away": {tty: true, args: []string{"--color", "never"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append([]string{"plan", "-", "--work", "5"}, tc.args...)...)
			w.Stdin = strings.NewReader(tinyScenario)
			w.Stdout.TTY = tc.tty
			w.Getenv = func(k string) string { return tc.env[k] }
			w.run(t, exitOK)
			if got := strings.Contains(w.out.String(), "\x1b["); got != tc.want {
				t.Errorf("colour %v, want %v\n%s", got, tc.want, w.out.String())
			}
			if w.err.Len() > 0 {
				t.Errorf("standard error has %q", w.err.String())
			}
		})
	}
}

func TestPlanProgressLine(t *testing.T) {
	for name, tc := range map[string]struct {
		flags planFlags
		told  *exact.Progress
		want  string
	}{
		"fast":          {planFlags{mode: modeFast}, nil, "searching  2s  (Ctrl-C takes the best)"},
		"fast, work":    {planFlags{mode: modeFast, work: 90000}, nil, "searching, 90,000 attempts  2s  (Ctrl-C takes the best)"},
		"fast, budget":  {planFlags{mode: modeFast, budget: 5 * workload.Second}, nil, "searching  2s of 5s  (Ctrl-C takes the best)"},
		"full":          {planFlags{mode: modeFull}, nil, "searching  2s of 30s  (Ctrl-C takes the best)"},
		"full, no plan": {planFlags{mode: modeFull}, &exact.Progress{Doing: "searching", Objective: math.Inf(-1), Bound: math.Inf(1)}, "searching  2s of 30s  (Ctrl-C takes the best)"},
		"full, plan": {planFlags{mode: modeFull}, &exact.Progress{Doing: "solving", Objective: 12.34, Bound: math.Inf(1)},
			"solving  2s of 30s  objective 12.3  (Ctrl-C takes the best)"},
		"full, bound": {planFlags{mode: modeFull}, &exact.Progress{Doing: "solving", Objective: 12.34, Bound: 13},
			"solving  2s of 30s  objective 12.3, at most 13.0  (Ctrl-C takes the best)"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newWorld(t).newPlanProgress(&tc.flags)
			if tc.told != nil {
				p.told(*tc.told)
			}
			if got := p.line(2100 * time.Millisecond); got != tc.want {
				t.Errorf("%q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestPlanScenarios plans the published horizons and holds the output to what scripts
// read of it.
func TestPlanScenarios(t *testing.T) {
	paths, _ := filepath.Glob("../../../shared/scenarios/*.json")
	if len(paths) == 0 {
		t.Skip("no ../shared/scenarios: published horizons are not planned")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, "plan", "-", "--mode", "fast", "--work", "100", "--output", "json")
			w.Stdin = strings.NewReader(string(data))
			w.run(t, exitOK)
			var in struct{ GPUs, Steps int }
			var out struct {
				SchemaVersion int
				Utilisation   float64
				Objective     float64
				Bound, Gap    *float64
				Legal         bool
				Grid          [][]*string
			}
			if err := json.Unmarshal(data, &in); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(w.out.Bytes(), &out); err != nil {
				t.Fatal(err)
			}
			if !out.Legal || out.SchemaVersion != 1 || out.Utilisation <= 0 || out.Utilisation > 1 {
				t.Errorf("%+v", out)
			}
			if out.Bound == nil || *out.Bound < out.Objective-1e-6 || out.Gap == nil || *out.Gap < 0 || *out.Gap > 1 {
				t.Errorf("bound %v and gap %v of objective %v", out.Bound, out.Gap, out.Objective)
			}
			if len(out.Grid) != in.GPUs || len(out.Grid[0]) != in.Steps {
				t.Errorf("a grid of %d x %d", len(out.Grid), len(out.Grid[0]))
			}
		})
	}
}
