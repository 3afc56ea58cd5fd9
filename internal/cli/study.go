package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Sizes of what pictures and time series keep.
const (
	seriesBins = 1024
	runParts   = 20_000
)

// sequentialFrom is the number of jobs from which policies run one after the
// other: each holds its own state of every job.
const sequentialFrom = 200_000

// study is a workload on a cluster under some policies.
type study struct {
	workload *workload.Workload
	cluster  *cluster.Spec
	policies []*policy.Policy
	// refs are the policies as the command line names them.
	refs     []string
	assume   sim.Assumptions
	faults   sim.Faults
	forecast sim.Forecast
	window   metrics.Window
	until    workload.Time
	// budgets that policies share by and all are judged by, nil = none.
	budgets *budget.Tree
	// series and pictures: keep the run over time, and who ran where.
	series, pictures bool
	// observer, if set, watches as well; for studies of one policy.
	observer sim.Observer
	// planner plans outside of the decisions, nil = nobody does; for studies of one policy.
	planner *planner
	// finished takes what a run came to, while its result is at hand. Runs that
	// go on at the same time call it at the same time.
	finished func(i int, r *sim.Result, c *metrics.Collector) error
	// refusals of the first policy: placement rules differ, the cluster does not.
	refusals []sim.Refusal
}

func (t *study) options(i int) sim.Options {
	return sim.Options{Workload: t.workload, Cluster: t.cluster, Policy: t.policies[i], Budgets: t.budgets,
		Assume: t.assume, Faults: t.faults, Forecast: t.forecast, Until: t.until}
}

// check refuses what cannot run before anything does.
func (t *study) check() error {
	if t.faults.MTBF > 0 && len(t.cluster.Nodes) == 0 {
		return badUsage("--cluster 16x8", "--mtbf needs a cluster with nodes, and %s is a mere count of GPUs", t.cluster.Name)
	}
	fill := engine.Defaults{Checkpoint: t.assume.Checkpoint, RestartCost: t.assume.RestartCost, Grace: t.assume.Grace}
	for i, p := range t.policies {
		_, err := engine.New(t.cluster, p, fill)
		if err == nil {
			continue
		}
		hint := "escala policy list"
		switch {
		case len(t.cluster.Nodes) == 0:
			hint = "a cluster with nodes, such as --cluster 16x8"
		case p.Placement.By == policy.Topology:
			level := p.Placement.Level
			if level == "" {
				level = "rack"
			}
			hint = "a cluster file with levels: [" + level + "], see docs/clusters.md"
		}
		if inner := errors.Unwrap(err); inner != nil { // the engine names the policy in its own way
			err = inner
		}
		return badInput(fmt.Errorf("%s: %w", t.refs[i], err), hint)
	}
	return nil
}

// run simulates all policies and returns what came of each, in their order.
func (t *study) run(ctx context.Context, bar *progress) ([]report.Policy, error) {
	out := make([]report.Policy, len(t.policies))
	at := min(runtime.GOMAXPROCS(0), len(t.policies))
	if len(t.workload.Jobs) > sequentialFrom {
		at = 1
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bar.begin(len(t.workload.Jobs), t.policies)
	defer bar.end()
	next := make(chan int, len(t.policies))
	for i := range t.policies {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range at {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				if err := t.one(ctx, i, bar, &out[i]); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

func (t *study) one(ctx context.Context, i int, bar *progress, out *report.Policy) error {
	p := t.policies[i]
	cfg := metrics.Config{Cluster: t.cluster, Workload: t.workload, Window: t.window, By: metrics.GroupingOf(t.workload),
		Budgets: t.budgets, ShareWindow: shareWindow(t.policies)}
	if t.series || t.pictures {
		cfg.Bins = seriesBins
	}
	if t.pictures {
		cfg.Runs = runParts
	}
	col := metrics.NewCollector(cfg)
	o := t.options(i)
	o.Observers = []sim.Observer{col}
	if t.observer != nil {
		o.Observers = append(o.Observers, t.observer)
	}
	if t.planner != nil {
		t.planner.watched(ctx, t, &o, func(done int) { bar.set(i, done) })
	}
	o.Progress = func(done, _ int) { bar.set(i, done) }
	res, err := sim.Run(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("policy %s: %w", p.Name, err)
	}
	bar.set(i, len(t.workload.Jobs))
	if i == 0 {
		t.refusals = res.Refusals
	}
	*out = report.Policy{
		Name: p.Name, Description: p.Description, Source: p.Source, Text: policyText(*p), Hash: p.Hash, Estimates: estimatesText(p.Estimates),
		Notes: res.Notes, Metrics: metrics.Compute(col, t.workload, res),
	}
	if t.planner != nil {
		out.Notes = append(out.Notes, t.planner.summary()+".")
	}
	if t.pictures {
		out.Series, out.Runs, out.Accounts = col.Series(res.End), col.Runs(res.End), col.Accounts(res.End)
		out.Services = col.Services(res.End)
	}
	if t.finished == nil {
		return nil
	}
	return t.finished(i, res, col)
}

// policyText is the policy as a file with every default and override spelled
// out. Names in files take no '@'.
func policyText(p policy.Policy) string {
	p.Name, _, _ = strings.Cut(p.Name, "@")
	return string(p.YAML())
}

func estimatesText(e policy.Estimates) string {
	if e.Model == policy.EstimateHelios {
		return fmt.Sprintf("%s, seed %d", e.Model, e.Seed)
	}
	return e.Model.String()
}

// resolve reads the policies that a command line names.
func resolve(refs []string, f *worldFlags) ([]*policy.Policy, error) {
	var out []*policy.Policy
	seen := map[string]string{}
	for _, ref := range refs {
		if ref = strings.TrimSpace(ref); ref == "" {
			return nil, badUsage("--policy fifo,easy", "--policy names a policy without a name")
		}
		p, err := resolveOne(ref)
		if err != nil {
			return nil, err
		}
		if other, ok := seen[p.Name]; ok {
			return nil, badUsage("each policy once, or another name: in one of the files", "two policies are called %s: %s and %s", p.Name, other, ref)
		}
		seen[p.Name] = ref
		i := strings.LastIndexByte(p.Name, '@')
		f.apply(p, i > 0)
		out = append(out, p)
	}
	return out, nil
}

func resolveOne(ref string) (*policy.Policy, error) {
	p, err := policy.Resolve(ref)
	if err != nil {
		hint := "escala policy list"
		if isFile(ref) {
			hint = "escala policy show " + like(ref) + ", for a file that is right; docs/policies.md has every key"
		}
		return nil, badInput(noFile(err), hint)
	}
	return p, nil
}

// like is a shipped policy of the kind that a broken file was to be.
func like(path string) string {
	if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "sharing:") {
		return "contract"
	}
	return "fifo"
}

func isFile(ref string) bool {
	return strings.HasSuffix(ref, ".yaml") || strings.HasSuffix(ref, ".yml") || strings.ContainsAny(ref, `/\`)
}

func completePolicies(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	last := typed[len(before):]
	var out []string
	for _, name := range policy.Names() {
		if p, ok := policy.Shipped(name); ok && strings.HasPrefix(name, last) && !strings.Contains(","+before, ","+name+",") {
			out = append(out, before+name+"\t"+p.Description)
		}
	}
	if len(out) == 0 || strings.ContainsAny(last, `./\`) {
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// carryOut runs a study, writes the files that need all of it, lets every file
// appear at once, and shows the figures. Nothing appears if it is interrupted.
func (s *State) carryOut(ctx context.Context, t *study, c *report.Comparison, out *outputs, files func() error, output string) error {
	var err error
	if c.Policies, err = t.run(ctx, s.newProgress()); err != nil {
		return out.cut(err)
	}
	if err := s.checkRefused(t); err != nil {
		return err
	}
	if err := files(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return out.cut(err)
	}
	if err := out.commit(); err != nil {
		return err
	}
	return s.show(output, c)
}
