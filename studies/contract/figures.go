package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// value is a figure of one run; ok is false where the run has none, bound is true
// where it is a lower bound.
type value struct {
	v         float64
	ok, bound bool
}

// rounded cuts a figure to seven digits, as the CSV has it.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 7, 64), 64)
	return v
}

func (v value) csv() string {
	switch {
	case !v.ok:
		return ""
	case v.bound:
		return ">" + strconv.FormatFloat(v.v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v.v, 'g', -1, 64)
}

func parseValue(s string) (v value, err error) {
	if s == "" {
		return v, nil
	}
	s, v.bound = strings.CutPrefix(s, ">")
	v.v, err = strconv.ParseFloat(s, 64)
	v.ok = true
	return v, err
}

// unitOf a figure says how it is printed.
type unitOf uint8

const (
	ratio unitOf = iota // 0..1, printed in per cent
	wait                // seconds
	count
)

// figure is a number that each run has.
type figure struct {
	key, name string
	unit      unitOf
	// better is 1 where more is better, -1 where less is, 0 where neither.
	better int
	get    func(*outcome) value
	// none: a run without the figure counts as 0 beside runs that have it.
	none bool
}

// outcome is what a finished run is read from.
type outcome struct {
	lab    lab
	window metrics.Window
	w      *workload.Workload
	tree   *budget.Tree
	res    *sim.Result
	m      *metrics.Metrics
	// groups are waits in ms of jobs of the window, in groups that metrics does not have.
	groups [groupCount][]sampled
	// asked is the GPU-time of allocated work submitted in the window / capacity.
	asked float64
}

type sampled struct {
	wait    workload.Span
	started bool
}

// Groups of jobs.
const (
	debug1 = iota
	debug2
	debug4
	debug8
	alloc7 // allocated, not debug, of at most 7 GPUs
	alloc8
	alloc64
	allocWithin // of teams that ask for at most their share
	allocOver
	groupCount
)

// look sorts jobs of the window into groups, as metrics does its classes.
func (x *outcome) look() {
	type team struct{ asked, share float64 }
	capacity := float64(x.window.To-x.window.From) * float64(x.lab.nodes*x.lab.perNode)
	teams := map[int32]*team{}
	leaves := make([]int32, len(x.w.Jobs))
	for i := range x.w.Jobs {
		j := &x.w.Jobs[i]
		leaves[i] = -1
		if !x.window.Contains(j.Submit) || j.Labels["squat"] == "yes" || j.Contract.MinRuntime == 0 {
			continue
		}
		leaf, ok := x.tree.Leaf(j.Team, j.User)
		if !ok {
			continue
		}
		leaves[i] = leaf
		if teams[leaf] == nil {
			num, den := x.tree.ProductShare(leaf)
			teams[leaf] = &team{share: float64(num) / float64(den)}
		}
		teams[leaf].asked += float64(j.Need.TotalGPUs()) * float64(x.w.Actual[i].Duration) / capacity
	}
	for i := range x.w.Jobs {
		if leaves[i] < 0 {
			continue
		}
		j, o, t := &x.w.Jobs[i], &x.res.Jobs[i], teams[leaves[i]]
		x.asked += float64(j.Need.TotalGPUs()) * float64(x.w.Actual[i].Duration) / capacity
		s := sampled{wait: max(0, x.window.To-j.Submit), started: o.FirstStart != workload.Unknown}
		switch {
		case s.started:
			s.wait = o.FirstStart - j.Submit
		case o.State == sim.Withdrawn:
			s.wait = o.Queued
		}
		gpus := j.Need.TotalGPUs()
		if gpus <= 8 && j.Contract.MinRuntime <= 15*workload.Minute {
			x.enter(map[int32]int{1: debug1, 2: debug2, 4: debug4}, gpus, debug8, s)
			continue
		}
		switch {
		case gpus < 8:
			x.groups[alloc7] = append(x.groups[alloc7], s)
		case gpus == 8:
			x.groups[alloc8] = append(x.groups[alloc8], s)
		case gpus <= 64:
			x.groups[alloc64] = append(x.groups[alloc64], s)
		}
		g := allocWithin
		if t.asked > t.share {
			g = allocOver
		}
		x.groups[g] = append(x.groups[g], s)
	}
}

func (x *outcome) enter(of map[int32]int, gpus int32, other int, s sampled) {
	g, ok := of[gpus]
	if !ok {
		g = other
	}
	x.groups[g] = append(x.groups[g], s)
}

// percentile of a group, by nearest rank.
func (x *outcome) percentile(group, percent int) value {
	g := x.groups[group]
	if len(g) == 0 {
		return value{}
	}
	slices.SortFunc(g, func(a, b sampled) int { return cmp.Compare(a.wait, b.wait) })
	at := g[max(1, (len(g)*percent+99)/100)-1].wait
	bound := slices.ContainsFunc(g, func(s sampled) bool { return !s.started && s.wait <= at })
	return value{v: float64(at) / 1000, ok: true, bound: bound}
}

func (x *outcome) unstarted(group int) value {
	g := x.groups[group]
	if len(g) == 0 {
		return value{}
	}
	n := 0
	for _, s := range g {
		if !s.started {
			n++
		}
	}
	return value{v: float64(n) / float64(len(g)), ok: true}
}

func (x *outcome) class(name string) *metrics.ClassWait {
	for i := range x.m.Classes {
		if x.m.Classes[i].Name == name {
			return &x.m.Classes[i]
		}
	}
	return nil
}

// figures of each run, in the order of the CSV.
var figures = makeFigures()

func makeFigures() []figure {
	var out []figure
	add := func(key, name string, unit unitOf, better int, get func(*outcome) value) {
		out = append(out, figure{key: key, name: name, unit: unit, better: better, get: get})
	}
	number := func(key, name string, unit unitOf, better int, get func(*metrics.Metrics) float64) {
		add(key, name, unit, better, func(x *outcome) value { return value{v: get(x.m), ok: true} })
	}
	maybe := func(key, name string, better int, get func(*metrics.BudgetUse) *float64) {
		add(key, name, ratio, better, func(x *outcome) value {
			if p := get(x.m.Budget); p != nil {
				return value{v: *p, ok: true}
			}
			return value{}
		})
	}
	maybe("delivered", "delivered / owed", 1, func(b *metrics.BudgetUse) *float64 { return b.DeliveredOfOwed })
	maybe("worst", "worst team", 1, func(b *metrics.BudgetUse) *float64 { return b.WorstOfOwed })
	number("got95", "teams >= 95 %", count, 1, func(m *metrics.Metrics) float64 { return float64(m.Budget.Got95) })
	number("teams", "teams that were owed anything", count, 0, func(m *metrics.Metrics) float64 { return float64(m.Budget.Accounts) })
	maybe("strict", "delivered / owed, strict form", 1, func(b *metrics.BudgetUse) *float64 { return b.StrictOfOwed })
	number("owed", "owed / capacity", ratio, 0, func(m *metrics.Metrics) float64 { return m.Budget.OwedOfCapacity })
	number("occupancy", "occupancy", ratio, 1, func(m *metrics.Metrics) float64 { return m.Occupancy })
	number("goodput", "goodput occupancy", ratio, 1, func(m *metrics.Metrics) float64 { return m.GoodputOccupancy })
	number("squat", "held by parked jobs / assigned", ratio, -1, func(m *metrics.Metrics) float64 {
		return m.SquatGPUHours / max(1, m.SquatGPUHours+m.AllocatedGPUHours+m.UnallocatedGPUHours)
	})
	number("unallocated", "unallocated share", ratio, 0, func(m *metrics.Metrics) float64 { return m.UnallocatedShare })
	for _, c := range []struct{ key, class, name string }{
		{"debug", "debug", "debug"}, {"alloc", "allocated", "allocated, not debug"}, {"unalloc", "unallocated", "unallocated"}, {"large", "large", "> 64 GPUs"},
	} {
		for _, p := range []struct {
			key, name string
			of        func(*metrics.ClassWait) float64
		}{
			{"p50", "p50", func(w *metrics.ClassWait) float64 { return w.P50 }},
			{"p90", "p90", func(w *metrics.ClassWait) float64 { return w.P90 }},
			{"p99", "p99", func(w *metrics.ClassWait) float64 { return w.P99 }},
		} {
			add(c.key+"_"+p.key, c.name+": "+p.name+" wait", wait, -1, func(x *outcome) value {
				w := x.class(c.class)
				if w == nil {
					return value{}
				}
				v := p.of(w)
				return value{v: v, ok: true, bound: w.Bound(v)}
			})
		}
		add(c.key+"_unstarted", c.name+": never started", ratio, -1, func(x *outcome) value {
			w := x.class(c.class)
			if w == nil {
				return value{}
			}
			return value{v: float64(w.Jobs-w.Started) / float64(w.Jobs), ok: true}
		})
		add(c.key+"_jobs", c.name+": jobs", count, 0, func(x *outcome) value {
			w := x.class(c.class)
			if w == nil {
				return value{}
			}
			return value{v: float64(w.Jobs), ok: true}
		})
	}
	number("preempt", "preemptions of allocated work per 1,000 GPU-h", count, -1, func(m *metrics.Metrics) float64 { return m.AllocatedPreemptionsPer1000GPUHours })
	number("thrash", "evicted twice within 3 h", count, -1, func(m *metrics.Metrics) float64 { return float64(m.Thrash) })
	for _, c := range []struct{ key, class, name string }{{"lost_alloc", "allocated", "lost by allocated work / assigned"}, {"lost_unalloc", "unallocated", "lost by unallocated work / assigned"}} {
		number(c.key, c.name, ratio, -1, func(m *metrics.Metrics) float64 {
			l := m.LostByClass[c.class]
			return (l.LostGPUHours + l.RestartGPUHours) / max(1, m.SquatGPUHours+m.AllocatedGPUHours+m.UnallocatedGPUHours)
		})
	}
	date := func(key, name string, better int, get func(*metrics.Dates) int64) {
		add(key, name, count, better, func(x *outcome) value {
			if x.m.Dates == nil {
				return value{}
			}
			return value{v: float64(get(x.m.Dates)), ok: true}
		})
		out[len(out)-1].none = true
	}
	date("dates_made", "dates made", 0, func(d *metrics.Dates) int64 { return d.Made })
	date("dates_kept", "dates kept", 0, func(d *metrics.Dates) int64 { return d.Kept })
	date("dates_broken", "dates broken", -1, func(d *metrics.Dates) int64 { return d.Broken })
	add("asked", "allocated work submitted / capacity", ratio, 0, func(x *outcome) value { return value{v: x.asked, ok: true} })
	for g, name := range groupNames {
		key := groupKeys[g]
		for _, p := range []int{50, 90, 99} {
			add(fmt.Sprintf("%s_p%d", key, p), fmt.Sprintf("%s: p%d wait", name, p), wait, -1, func(x *outcome) value { return x.percentile(g, p) })
		}
		add(key+"_unstarted", name+": never started", ratio, -1, func(x *outcome) value { return x.unstarted(g) })
		add(key+"_jobs", name+": jobs", count, 0, func(x *outcome) value { return value{v: float64(len(x.groups[g])), ok: true} })
	}
	return out
}

var groupKeys = [groupCount]string{"debug1", "debug2", "debug4", "debug8", "alloc7", "alloc8", "alloc64", "within", "over"}

var groupNames = [groupCount]string{"debug, 1 GPU", "debug, 2 GPUs", "debug, 4 GPUs", "debug, 8 GPUs",
	"allocated, 1-7 GPUs", "allocated, 8 GPUs", "allocated, 9-64 GPUs", "allocated, team asks for at most its share", "allocated, team asks for more"}

var figureIndex = func() map[string]int {
	out := map[string]int{}
	for i := range figures {
		out[figures[i].key] = i
	}
	return out
}()

func figureOf(key string) *figure {
	i, ok := figureIndex[key]
	if !ok {
		panic("no figure " + key)
	}
	return &figures[i]
}

func (r *run) value(key string) value {
	figureOf(key)
	return r.values[figureIndex[key]]
}

// text prints one number.
func (f *figure) text(v float64) string {
	switch f.unit {
	case ratio:
		return fixed(100*v, 2) + " %"
	case wait:
		u := timeUnit(v)
		return u.number(v) + " " + u.name
	}
	return amount(v)
}

// fixed prints so many decimals, and no minus before zero.
func fixed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// amount prints a count, or a mean of counts.
func amount(v float64) string {
	switch {
	case v == math.Trunc(v) || math.Abs(v) >= 100:
		return fixed(v, 0)
	case math.Abs(v) >= 10:
		return fixed(v, 1)
	}
	return fixed(v, 2)
}

// scaleOf is a unit of time.
type scaleOf struct {
	name    string
	seconds float64
}

func timeUnit(seconds float64) scaleOf {
	switch s := math.Abs(seconds); {
	case s < 120:
		return scaleOf{"s", 1}
	case s < 7200:
		return scaleOf{"min", 60}
	}
	return scaleOf{"h", 3600}
}

func (u scaleOf) number(seconds float64) string {
	v := seconds / u.seconds
	if u.seconds == 1 || math.Abs(v) >= 100 {
		return fixed(v, 0)
	}
	return fixed(v, 1)
}
