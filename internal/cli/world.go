package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/demo"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// worldFlags are the options that say what the simulated world is like.
type worldFlags struct {
	assume        sim.Assumptions
	faults        sim.Faults
	forecast      sim.Forecast
	seed          uint64
	estimates     string
	window, until string
	budgets       string
	given         func(name string) bool
	demo          bool
}

func (f *worldFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.window, "window", "", "figures over this window only, `FROM..TO`: seconds, durations since the workload's zero, or dates; either end may be left out")
	fs.StringVar(&f.budgets, "budgets", "", "tree of shares and budgets, a `file`: policies that share go by it, all are judged by it")
	fs.StringVar(&f.until, "until", "", "cut the runs at this `time`, written as in --window")
	fs.Var(newChoice(&f.estimates, "", "given", "perfect", "limit", "helios"), "estimates", "what is known of run times under policies named without @: given, perfect, limit, helios (default: as the policy says)")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of all that is drawn: wrong estimates, random placement, node failures")
	fs.Var(checkpoint{&f.assume.Checkpoint}, "checkpoint", "what stopped jobs keep that do not say so themselves: on-stop (all), never (nothing), or a duration such as 30m (up to the last checkpoint)")
	fs.Var(span{&f.assume.RestartCost}, "restart-cost", "time a job loses each time it starts again, unless it says so itself")
	fs.Var(span{&f.assume.Grace}, "grace", "time between the request to stop and the release of the GPUs, unless a job says so itself")
	fs.Var(span{&f.assume.StartLatency}, "start-latency", "time between the decision to start a job and its start")
	fs.Var(span{&f.faults.MTBF}, "mtbf", "mean time between failures of a node (default: nodes do not fail)")
	fs.Var(span{&f.faults.MTTR}, "mttr", "mean time to repair a failed node")
	fs.Var(percentage{&f.forecast.Error}, "forecast-error", "how wrong the demand of real-time applications is foreseen: standard deviation, such as 10%")
	fs.Uint64Var(&f.forecast.Seed, "forecast-seed", 0, "seed of these errors (default: that of --seed)")
	f.given = fs.Changed
	_ = cmd.RegisterFlagCompletionFunc("estimates", words("given", "perfect", "limit", "helios"))
	_ = cmd.RegisterFlagCompletionFunc("checkpoint", words("on-stop", "never", "30m"))
}

// settle fills in what the demo assumes and checks what belongs together.
func (f *worldFlags) settle(isDemo bool) error {
	f.demo = isDemo
	if isDemo && !f.given("checkpoint") {
		f.assume.Checkpoint = demo.Checkpoint
	}
	if isDemo && !f.given("restart-cost") {
		f.assume.RestartCost = demo.RestartCost
	}
	if f.faults.MTBF > 0 && !f.given("mttr") {
		return badUsage("--mttr 4h", "--mtbf is given and --mttr, the time to repair, is not")
	}
	if f.faults.MTBF == 0 && f.given("mttr") {
		return badUsage("--mtbf 30d", "--mttr is given and --mtbf, the time between failures, is not")
	}
	f.faults.Seed = f.seed
	return f.settleForecast()
}

// apply gives a policy the estimates and the seed asked for. own: its name
// carries an estimates model of its own, which wins.
func (f *worldFlags) apply(p *policy.Policy, own bool) {
	models := map[string]policy.EstimateModel{"given": policy.EstimateGiven, "perfect": policy.EstimatePerfect,
		"limit": policy.EstimateLimit, "helios": policy.EstimateHelios}
	if m, ok := models[f.estimates]; ok && !own && p.Estimates.Model != m {
		p.Estimates = policy.Estimates{Model: m}
		if m == policy.EstimateHelios {
			p.Estimates.Seed = f.seed
		}
	}
	if !f.given("seed") {
		return
	}
	if p.Estimates.Model == policy.EstimateHelios {
		p.Estimates.Seed = f.seed
	}
	if p.Placement.By == policy.Random {
		p.Placement.Seed = f.seed
	}
}

// times reads the window and the cut on the workload's clock.
func (f *worldFlags) times(w *workload.Workload) (win metrics.Window, until workload.Time, err error) {
	if f.window != "" {
		if win, err = parseWindow(f.window, w); err != nil {
			return win, 0, err
		}
	}
	if f.until != "" {
		if until, err = parseMoment(f.until, w); err != nil {
			return win, 0, badUsage("--until 10d", "--until %s", err)
		}
		if t0, _ := w.Window(); until <= t0 || until <= 0 {
			return win, 0, badUsage("--until 10d", "--until %s is not after the first submission, %s", f.until, momentText(t0, w))
		}
	}
	return win, until, nil
}

const windowHint = "--window 10d..20d, --window 2020-09-07..2020-09-14, or --window 86400.. (seconds)"

// parseWindow reads a window in which jobs of the workload were submitted.
func parseWindow(text string, w *workload.Workload) (metrics.Window, error) {
	win, err := parseBounds(text, w)
	if err == nil {
		err = holdsJobs(win, text, w)
	}
	return win, err
}

// parseBounds reads a window of the workload's clock. An end that is left out is that
// of the submissions.
func parseBounds(text string, w *workload.Workload) (metrics.Window, error) {
	const hint = windowHint
	from, to, ok := strings.Cut(text, "..")
	if !ok || from == "" && to == "" {
		return metrics.Window{}, badUsage(hint, "--window %q: want FROM..TO", text)
	}
	t0, t1 := w.Window()
	win := metrics.Window{From: t0, To: t1 + 1} // half-open: the last submission is in it
	for _, end := range []struct {
		text string
		at   *workload.Time
	}{{from, &win.From}, {to, &win.To}} {
		if end.text == "" {
			continue
		}
		t, err := parseMoment(end.text, w)
		if err != nil {
			return win, badUsage(hint, "--window %s", err)
		}
		*end.at = t
	}
	if to == "" {
		win.To = max(win.To, win.From+1)
	}
	if from == "" {
		win.From = min(win.From, win.To-1)
	}
	if win.From >= win.To {
		return win, badUsage(hint, "--window %q ends before it begins", text)
	}
	return win, nil
}

// holdsJobs refuses a window in which nothing was submitted.
func holdsJobs(win metrics.Window, text string, w *workload.Workload) error {
	for i := range w.Jobs {
		if win.Contains(w.Jobs[i].Submit) {
			return nil
		}
	}
	t0, t1 := w.Window()
	return badUsage(windowHint, "--window %q holds no submission; the first is %s, the last %s", text, momentText(t0, w), momentText(t1, w))
}

func seconds(t workload.Time) string {
	return strconv.FormatFloat(float64(t)/1000, 'f', -1, 64)
}

// assumptions are the lines of the report's head.
func (f *worldFlags) assumptions(w *workload.Workload) []report.Assumption {
	source := func(name string) string {
		switch {
		case f.given(name):
			return "--" + name
		case f.demo && (name == "checkpoint" || name == "restart-cost"):
			return "default of the demo"
		}
		return "default"
	}
	keeps := map[bool]string{true: "saved when stopped: nothing is lost", false: "none: all work is lost"}[f.assume.Checkpoint == 0]
	if f.assume.Checkpoint > 0 {
		keeps = "one after each " + spanText(f.assume.Checkpoint) + " of work; what was done since is lost"
	}
	out := []report.Assumption{
		{Name: "Checkpoints", Value: keeps, Source: source("checkpoint")},
		{Name: "Restart cost", Value: spanText(f.assume.RestartCost), Source: source("restart-cost")},
		{Name: "Grace", Value: spanText(f.assume.Grace), Source: source("grace")},
		{Name: "Start latency", Value: spanText(f.assume.StartLatency), Source: source("start-latency")},
	}
	failures := report.Assumption{Name: "Node failures", Value: "none drawn", Source: source("mtbf")}
	if f.faults.MTBF > 0 {
		failures.Value = fmt.Sprintf("of each node every %s on average, repaired in %s, seed %d", spanText(f.faults.MTBF), spanText(f.faults.MTTR), f.faults.Seed)
		failures.Source = "--mtbf, --mttr"
	}
	out = append(append(out, failures), f.forecastAssumption(w)...)
	if f.until != "" {
		out = append(out, report.Assumption{Name: "Runs cut at", Value: f.until, Source: "--until"})
	}
	return out
}

// demoAssumptions names the sources of what the demo's cluster file assumes.
func demoAssumptions() []report.Assumption {
	return []report.Assumption{
		{Name: "Assumed price", Value: "3.06 USD per GPU-hour", Source: demo.PriceSource},
		{Name: "Assumed watts", Value: "45 idle, 300 active", Source: demo.WattsSource},
		{Name: "Assumed PUE", Value: "1.59", Source: demo.PUESource},
	}
}
