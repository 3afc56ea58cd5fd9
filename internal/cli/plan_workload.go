package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// planWorkload are the options that make a horizon of a workload.
type planWorkload struct {
	read    readFlags
	cluster string
	at      string
	step    workload.Span
	steps   int
	// moment is the time that the plan begins at.
	moment *workload.Time
	// exempt are the running jobs of the problem that break its rules.
	exempt []string
}

func (f *planWorkload) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVarP(&f.cluster, "cluster", "c", "", "for a workload: cluster to plan for: 16x8, or a `file`")
	fs.StringVar(&f.at, "at", "", "for a workload: plan from this `time` on, written as in compare --until (default: the last submission)")
	fs.Var(span{&f.step}, "step", "for a workload: length of a step (default 1h)")
	fs.IntVar(&f.steps, "steps", 0, "for a workload: `number` of steps (default 24)")
	f.read.add(c)
	f.read.addServices(c)
}

// given returns the first option for workloads that was given, "" for none.
func (f *planWorkload) given(given func(string) bool) string {
	for _, name := range []string{"cluster", "at", "step", "steps", "services", "format", "timezone", "gpu-only", "keep-unscheduled"} {
		if given(name) {
			return name
		}
	}
	return ""
}

// policy is the shipped one with the options of the command, and plans that look at all that waits.
func (f *planWorkload) policy(powerOfTwo bool, given func(string) bool) (*policy.Policy, error) {
	shipped, _ := policy.Shipped("horizon")
	p, h := *shipped, *shipped.Horizon
	if given("step") {
		if h.Step = f.step; f.step < workload.Minute || f.step > workload.Day {
			return nil, badUsage("--step 1h", "--step %s: a step lasts 1m to 1d", spanText(f.step))
		}
	}
	if given("steps") {
		if h.Steps = int32(f.steps); f.steps < 1 || f.steps > 1000 {
			return nil, badUsage("--steps 24", "--steps %d: a horizon has 1 to 1000 steps", f.steps)
		}
	}
	h.PowerOfTwo = powerOfTwo
	p.Horizon = &h
	return &p, nil
}

// problem simulates the workload under the policy up to the time asked for, and looks ahead
// from there, before anything is decided at that time.
func (f *planWorkload) problem(ctx context.Context, s *State, path string, powerOfTwo bool, given func(string) bool) (*horizon.Problem, error) {
	f.exempt = nil
	w, err := s.readWorkloads([]string{path}, &f.read)
	if err != nil {
		return nil, err
	}
	c, _, err := s.clusterFor(f.cluster, w)
	if err != nil {
		return nil, err
	}
	pol, err := f.policy(powerOfTwo, given)
	if err != nil {
		return nil, err
	}
	_, at := w.Window()
	if f.at != "" {
		if at, err = parseMoment(f.at, w); err != nil {
			return nil, badUsage("--at 10d", "--at %s", err)
		}
		if t0, _ := w.Window(); at < t0 {
			return nil, badUsage("--at 10d", "--at %s is before the first submission, %s", f.at, momentText(t0, w))
		}
	}
	now, err := newFollower(c, pol, at)
	if err != nil {
		return nil, badInput(err, "a cluster with nodes, such as --cluster 16x8")
	}
	_, err = sim.Run(ctx, sim.Options{Workload: w, Cluster: c, Policy: pol, Until: max(at, 1), Observers: []sim.Observer{now}}) // 0 would be no end
	if err == nil {
		err = now.err
	}
	if err != nil {
		return nil, err
	}
	wide := *pol.Horizon
	wide.Queue = 1 << 30
	pol.Horizon = &wide
	o := now.engine.Outlook(at, true)
	q := o.Problem
	f.exempt = o.Exempt
	q.Name = w.Name
	f.moment = &at
	q.StartHour, q.StartMinute = f.timeOfDay(w, at)
	if len(q.Jobs) == 0 && len(q.Apps) == 0 {
		return nil, badUsage("--at, with a time at which something waits or runs", "%s: at %s nothing waits and nothing runs", path, momentText(at, w))
	}
	return q, nil
}

// timeOfDay is that of a moment of the workload: by its calendar, in the zone of the options,
// or since its zero where it has none.
func (f *planWorkload) timeOfDay(w *workload.Workload, at workload.Time) (hour, minute int) {
	if w.Epoch != workload.Unknown {
		zone := time.UTC
		if o, err := f.read.options(); err == nil && o.Location != nil {
			zone = o.Location
		}
		t := time.UnixMilli(w.Epoch + at).In(zone)
		return t.Hour(), t.Minute()
	}
	m := (at%workload.Day + workload.Day) % workload.Day / workload.Minute
	return int(m / 60), int(m % 60)
}

// follower keeps an engine in the state that a simulation has at a time, before anything
// was decided then.
type follower struct {
	engine *engine.Engine
	at     workload.Time
	// decided: what is told now follows from decisions of that time.
	decided bool
	err     error
}

func newFollower(c *cluster.Spec, p *policy.Policy, at workload.Time) (*follower, error) {
	e, err := engine.New(c, p, engine.Defaults{})
	return &follower{engine: e, at: at}, err
}

// Fact takes over what happened.
func (f *follower) Fact(x *fact.Fact) {
	if f.err != nil || f.decided || x.At > f.at {
		return
	}
	if err := f.engine.Apply(x); err != nil {
		f.err = fmt.Errorf("following the simulation to its last state: %w", err)
	}
}

// Action takes over what was decided before.
func (f *follower) Action(a *fact.Action) {
	if f.decided = f.decided || a.At >= f.at; f.err != nil || f.decided {
		return
	}
	if err := f.engine.Commit(a); err != nil {
		f.err = fmt.Errorf("following the simulation to its last state: %w", err)
	}
}

// Instant is what a simulation tells besides.
func (f *follower) Instant(*sim.Gauge) {}
