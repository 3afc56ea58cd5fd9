package services

import (
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// Bounds that no real file meets, and that keep every sum within its type.
const (
	maxGPUs  = 1_000_000
	maxSteps = 1_000_000
	// maxTime is that of the formats that workloads are written in.
	maxTime = 9_000_000_000_000_000
)

// name takes the ID of an application.
func (a *adder) name(name string, n *yamlx.Node) error {
	switch at := n.At("name"); {
	case n.Get("name") == nil:
		return n.Errorf("give name: it is the ID of its job", "a service without a name")
	case strings.TrimSpace(name) != name || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return at.Errorf("want a word without control characters and outer blanks", "%q is no name", name)
	case a.taken[name]:
		return at.Errorf("give it another name", "a job or service before it is called %q", name)
	}
	a.taken[name] = true
	return nil
}

// life is when an application runs. Without an end that is until the last job was
// submitted, rounded up to the hour.
func (a *adder) life(app *application, n *yamlx.Node) (from, to workload.Time, err error) {
	if app.Start != nil {
		if from, err = a.clock(app.Start, n.At("start")); err != nil {
			return 0, 0, err
		}
		if from < 0 {
			return 0, 0, n.At("start").Errorf("want its zero or later", "%s begins before the workload's clock", app.Name)
		}
	}
	at := n
	switch {
	case app.For != nil && app.Until != nil:
		return 0, 0, n.At("until").Errorf("drop one of them", "%s has both for and until", app.Name)
	case app.For != nil:
		at, to = n.At("for"), from+int64(*app.For)
	case app.Until != nil:
		at = n.At("until")
		if to, err = a.clock(app.Until, at); err != nil {
			return 0, 0, err
		}
	default:
		_, to = a.w.Window()
		to = (to + workload.Hour - 1) / workload.Hour * workload.Hour
	}
	switch {
	case to > maxTime:
		return 0, 0, at.Errorf("want an end within 285,000 years", "%s runs for too long", app.Name)
	case to <= from && app.For == nil && app.Until == nil:
		return 0, 0, n.At("start").Errorf("give for (how long it runs) or until (when it ends)",
			"%s begins when the workload's last job has been submitted, and no end is given", app.Name)
	case to <= from:
		return 0, 0, at.Errorf("want an end after its start", "%s ends when it begins, or before", app.Name)
	}
	return from, to, nil
}

// clock is a point in time on the workload's clock.
func (a *adder) clock(m *yamlx.Moment, at *yamlx.Node) (workload.Time, error) {
	if !m.Dated {
		return m.At, nil
	}
	if a.w.Epoch == workload.Unknown {
		return 0, at.Errorf("want a time since the workload's zero, such as 36h", "%s is a date, but the workload has no calendar", at.Text)
	}
	return m.At - a.w.Epoch, nil
}

// monday is the last midnight before the workload's zero that begins a week; that zero
// itself where the workload has no calendar.
func (a *adder) monday() workload.Time {
	if a.w.Epoch == workload.Unknown {
		return 0
	}
	zone := a.in.Zone
	if zone == nil {
		zone = time.UTC
	}
	t := time.UnixMilli(a.w.Epoch).In(zone)
	back := (int(t.Weekday()) + 6) % 7 // days since Monday
	return time.Date(t.Year(), t.Month(), t.Day()-back, 0, 0, 0, 0, zone).UnixMilli() - a.w.Epoch
}

// gpuTypes joins the types as a need has them.
func gpuTypes(types []string, n *yamlx.Node) (string, error) {
	for i, t := range types {
		if at := n.At("gpu", i); t == "" || strings.Contains(t, "|") {
			return "", at.Errorf("want the name of a GPU type, or a list of them", "%q is no GPU type", t)
		}
	}
	return strings.Join(types, "|"), nil
}

// service reads demand and bounds; actual is nil where the demand is what it declares.
func (a *adder) service(app *application, n *yamlx.Node, from, to workload.Time) (s *workload.Service, actual *workload.Curve, err error) {
	s = &workload.Service{Penalty: app.Penalty}
	if app.Penalty < 0 || app.Penalty > maxTime {
		return nil, nil, n.At("penalty").Errorf("want 0.."+strconv.Itoa(maxTime), "penalty is %d", app.Penalty)
	}
	c := &curves{a: a, app: app.Name, from: from, to: to}
	if s.Demand, err = c.declared(app, n); err != nil {
		return nil, nil, err
	}
	if app.Actual != nil {
		really, err := c.take("actual demand", app.Actual, n.At("actual"))
		if err != nil {
			return nil, nil, err
		}
		actual = &really
	}
	if s.Demand.Peak() == 0 {
		return nil, nil, n.Errorf("want a demand above 0 at some time", "the demand of %s is 0 all the time", app.Name)
	}
	if app.Min != nil {
		if s.Min, err = app.Min.least(n.At("min"), &s.Demand); err != nil {
			return nil, nil, err
		}
	}
	if app.Max != nil {
		if s.Max, err = app.Max.most(n.At("max"), &s.Demand); err != nil {
			return nil, nil, err
		}
	}
	if app.Swaps != nil {
		s.Swaps, s.SwapEvery = app.Swaps.GPUs, int64(*app.Swaps.Every)
	}
	return s, actual, nil
}
