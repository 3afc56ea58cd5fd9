package observe

import (
	"context"
	"log/slog"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/sim"
)

// Log writes a line for each change that an operator has to know of, and at level debug for what
// jobs do otherwise. Messages and keys stay: docs/observability.md lists them.
type Log struct {
	log *slog.Logger
	d   *live.Daemon
}

var _ live.Observer = (*Log)(nil)

// NewLog returns one that is silent until [Log.Begin].
func NewLog(log *slog.Logger) *Log { return &Log{log: log} }

// Begin logs from now on.
func (l *Log) Begin(d *live.Daemon) { l.d = d }

// line is what a fact is logged as.
type line struct {
	level slog.Level
	text  string
}

var lines = map[fact.Kind]line{
	fact.NodeDown:       {slog.LevelError, "a node is down"},
	fact.NodeUp:         {slog.LevelInfo, "a node is up"},
	fact.NodeDrained:    {slog.LevelWarn, "a node was drained"},
	fact.NodeResumed:    {slog.LevelInfo, "a node was resumed"},
	fact.WindowSet:      {slog.LevelInfo, "nodes are kept for a time"},
	fact.WindowLifted:   {slog.LevelInfo, "nodes are not kept any more"},
	fact.BudgetsChanged: {slog.LevelInfo, "other budgets hold"},
	fact.StartFailed:    {slog.LevelWarn, "a start failed"},
	fact.LostSight:      {slog.LevelWarn, "a run is out of sight"},
	fact.Found:          {slog.LevelInfo, "a run was found again"},
	fact.JobSubmitted:   {slog.LevelDebug, "a job was submitted"},
	fact.JobStarted:     {slog.LevelDebug, "a job runs"},
	fact.JobStopped:     {slog.LevelDebug, "a run was stopped"},
	fact.JobFinished:    {slog.LevelDebug, "a job ended"},
	fact.JobCancelled:   {slog.LevelDebug, "a job was withdrawn"},
	fact.JobHeld:        {slog.LevelDebug, "a job is held"},
	fact.JobEdited:      {slog.LevelDebug, "a job has another priority"},
	fact.JobReleased:    {slog.LevelDebug, "a job was released"},
}

// Fact logs what happened.
func (l *Log) Fact(f *fact.Fact) {
	x, ok := lines[f.Kind]
	if !ok || l.d == nil {
		return
	}
	if f.Kind == fact.JobHeld && f.Hold == fact.HoldOperator {
		x.level = slog.LevelInfo
	}
	ctx := context.Background()
	if !l.log.Enabled(ctx, x.level) {
		return
	}
	var a []slog.Attr
	switch {
	case f.Kind == fact.BudgetsChanged:
		a = append(a, slog.String("budgets", f.Budgets.Name))
	case f.Window != nil:
		a = append(a, slog.String("window", f.Window.ID))
	case f.Kind >= fact.NodeDown && f.Kind <= fact.NodeResumed:
		a = append(a, slog.String("node", l.node(f.Node)))
	default:
		a = append(a, slog.String("job", l.job(f.Job)))
		if f.Attempt > 0 {
			a = append(a, slog.Int("attempt", int(f.Attempt)))
		}
	}
	switch f.Kind {
	case fact.StartFailed:
		if f.Node >= 0 {
			a = append(a, slog.String("node", l.node(f.Node)))
		}
	case fact.JobStopped:
		a = append(a, slog.String("cause", f.Cause.String()), slog.Int64("lost_ms", f.Lost))
	case fact.JobFinished:
		a = append(a, slog.String("outcome", f.Outcome.String()), slog.Int("exit", int(f.Exit)))
	case fact.JobHeld, fact.JobReleased:
		a = append(a, slog.String("hold", f.Hold.String()))
	}
	if f.By != "" {
		a = append(a, slog.String("by", f.By))
	}
	if f.Text != "" {
		a = append(a, slog.String("why", f.Text))
	}
	l.log.LogAttrs(ctx, x.level, x.text, a...)
}

// Action logs what was decided.
func (l *Log) Action(a *fact.Action) {
	level := slog.LevelDebug
	if a.Do == fact.Refuse {
		level = slog.LevelWarn
	}
	if ctx := context.Background(); l.d != nil && l.log.Enabled(ctx, level) {
		l.log.LogAttrs(ctx, level, "decided", slog.String("do", a.Do.String()), slog.String("job", l.job(a.Job)), slog.Int("attempt", int(a.Attempt)), slog.String("reason", a.Reason.Code.String()))
	}
}

// Instant implements [live.Observer].
func (l *Log) Instant(*sim.Gauge) {}

func (l *Log) job(n int32) string {
	if list := l.d.Some([]int32{n}); len(list) == 1 {
		return list[0].Spec.ID
	}
	return ""
}

func (l *Log) node(n int32) string {
	if list := l.d.Header().Cluster.Nodes; n >= 0 && int(n) < len(list) {
		return list[n].Name
	}
	return ""
}
