package services

import (
	"strconv"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

const wantCurve = "give step and gpus, weekly, or requests"

// curves makes the curves of one application, which runs in [from, to).
type curves struct {
	a        *adder
	app      string
	from, to workload.Time
}

// declared is the demand, which may stand under its own key or in short.
func (c *curves) declared(app *application, n *yamlx.Node) (workload.Curve, error) {
	var given []string
	for _, key := range []string{"demand", "weekly", "requests"} {
		if n.Get(key) != nil {
			given = append(given, key)
		}
	}
	switch {
	case len(given) == 0:
		return workload.Curve{}, n.Errorf("give demand, weekly or requests", "%s has no demand", c.app)
	case len(given) > 1:
		return workload.Curve{}, n.At(given[1]).Errorf("drop one of them", "%s has both %s and %s", c.app, given[0], given[1])
	case app.Demand != nil:
		return c.take("demand", app.Demand, n.At("demand"))
	}
	return c.take("demand", &curve{Weekly: app.Weekly, Requests: app.Requests}, n)
}

// take makes a curve of any of the three forms; n is where its keys stand, what says
// whose it is.
func (c *curves) take(what string, y *curve, n *yamlx.Node) (workload.Curve, error) {
	var forms []string
	for _, key := range []string{"gpus", "weekly", "requests"} {
		if n.Get(key) != nil {
			forms = append(forms, key)
		}
	}
	switch {
	case len(forms) == 0:
		return workload.Curve{}, n.Errorf(wantCurve, "the %s of %s says nothing", what, c.app)
	case len(forms) > 1:
		return workload.Curve{}, n.At(forms[1]).Errorf("drop one of them", "the %s of %s has both %s and %s", what, c.app, forms[0], forms[1])
	}
	if forms[0] != "gpus" {
		for _, key := range []string{"step", "repeat"} {
			if at := n.Get(key); at != nil {
				return workload.Curve{}, at.Errorf("drop it", "%s goes with gpus, and the %s of %s is given by %s", key, what, c.app, forms[0])
			}
		}
	}
	var out workload.Curve
	var err error
	switch forms[0] {
	case "gpus":
		out, err = c.steps(y, n)
	case "weekly":
		out, err = c.profile(y.Weekly, n.At("weekly"))
	case "requests":
		out, err = c.requests(what, y.Requests, n.At("requests"))
	}
	if err == nil {
		c.covers(what, &out)
	}
	return out, err
}

// steps is a curve that begins with its application.
func (c *curves) steps(y *curve, n *yamlx.Node) (workload.Curve, error) {
	at := n.At("gpus")
	switch {
	case len(y.GPUs) == 0:
		return workload.Curve{}, at.Errorf("want a number for each step", "gpus is an empty list")
	case y.Step == nil:
		return workload.Curve{}, n.Errorf("give step: how long each number holds, such as 1h", "gpus without a step")
	}
	if err := checkStep(int64(*y.Step), len(y.GPUs), n.At("step")); err != nil {
		return workload.Curve{}, err
	}
	return workload.Curve{Start: c.from, Step: int64(*y.Step), Values: y.GPUs, Repeat: y.Repeat}, checkGPUs(at, y.GPUs)
}

// profile is a curve of a day or a week, hour by hour.
func (c *curves) profile(hours []int32, at *yamlx.Node) (workload.Curve, error) {
	if n := len(hours); n != 24 && n != 7*24 {
		return workload.Curve{}, at.Errorf("want 168, one for each hour of a week from Monday 0:00 on, or 24 for each day", "%d numbers here", n)
	}
	return workload.Curve{Start: c.a.monday(), Step: workload.Hour, Values: hours, Repeat: true}, checkGPUs(at, hours)
}

// covers notes a curve that ends before its application does: nothing is made up silently.
func (c *curves) covers(what string, v *workload.Curve) {
	n := int64(len(v.Values))
	if v.Repeat || n == 1 || v.Start <= c.from && v.Start+v.Step*n >= c.to {
		return
	}
	c.a.note("The %s of %s is given for %s to %s, and it runs from %s to %s: outside, the first and the last value hold.", what, c.app,
		clockText(v.Start), clockText(v.Start+v.Step*n), clockText(c.from), clockText(c.to))
}

// clockText is a time of the workload's clock, as a note says it.
func clockText(t workload.Time) string {
	if t < 0 {
		return "-" + yamlx.Duration(-t).String()
	}
	return yamlx.Duration(t).String()
}

func checkStep(step workload.Span, n int, at *yamlx.Node) error {
	switch {
	case step <= 0:
		return at.Errorf("want a length of time above 0, such as 1h", "a step of no length")
	case step > maxTime/int64(max(n, 1)):
		return at.Errorf("want a shorter one", "%s of %s", steps(n), yamlx.Duration(step))
	}
	return nil
}

// checkGPUs points at the first number that is none of GPUs.
func checkGPUs(at *yamlx.Node, gpus []int32) error {
	for i, v := range gpus {
		if v < 0 || v > maxGPUs {
			return at.At(i).Errorf("want 0.."+strconv.Itoa(maxGPUs), "%d GPUs", v)
		}
	}
	return nil
}
