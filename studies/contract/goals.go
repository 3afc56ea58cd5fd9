package main

import (
	"fmt"
	"strings"
)

// goal is one that was set before the study, for one regime.
type goal struct {
	wanted string
	came   func(v view) string
	// met is nil where the goal is to report.
	met func(v view) bool
}

type goalRow struct {
	name  string
	goals [3]goal
}

// view is one variant of contract in one regime.
type view struct {
	s      *study
	regime float64
	policy string
}

func (v view) of(key string) sample {
	return v.s.sample(v.regime, onSignal, v.policy, key, v.s.seeds)
}
func (v view) mean(key string) float64 { return v.of(key).mean() }
func (v view) text(key string) string  { return v.of(key).plain(figureOf(key)) }

func (v view) legacy(key string) sample {
	return v.s.sample(v.regime, onSignalSquat, legacy, key, v.s.seeds)
}

func (v view) without(key string) sample {
	return v.s.sample(v.regime, onSignal, noReservations, key, v.s.seeds)
}

// plain is goodput with plain kill, which ran for the shipped policy only.
func (v view) plain() (sample, bool) {
	return v.s.sample(v.regime, hourly, contract, "goodput", v.s.seeds), v.policy == contract
}

const (
	minute = 60
	hour   = 3600
)

var goals = []goalRow{
	{"delivered / owed; worst team", [3]goal{
		delivered("≥ 99.5 %; ≥ 98 %", .995, .98, false), delivered("≥ 99.5 %; ≥ 93 % in each seed", .995, .93, true), delivered("≥ 99 %; ≥ 97 %", .99, .97, false)}},
	{"occupancy (with fill)", [3]goal{atLeast("≥ 99.5 %", "occupancy", .995), atLeast("≥ 99.5 %", "occupancy", .995), atLeast("≥ 99.5 %", "occupancy", .995)}},
	{"goodput occupancy, on signal / plain kill", [3]goal{goodput("≥ 98 / 95 %", .98, .95), goodput("≥ 97.5 / 93 %", .975, .93), goodput("≥ 97.5 / 92 %", .975, .92)}},
	{"debug p90 / p99 wait", [3]goal{debugWait("30 s / 3 min", 30, 3*minute), debugWait("30 s / 5 min", 30, 5*minute), debugWait("60 s / 15 min", 60, 15*minute)}},
	{"allocated, not debug: p90 wait", [3]goal{atMost("≤ 15 min", "alloc_p90", 15*minute), atMost("≤ 2 h", "alloc_p90", 2*hour), {"report", func(v view) string { return v.text("alloc_p90") }, nil}}},
	{"> 64 GPUs", [3]goal{
		atMost("p90 ≤ 12 h", "large_p90", 12*hour),
		{"p90 ≤ 0.6 x legacy and ≤ without reservations, paired",
			func(v view) string {
				d := v.of("large_p90").minus(v.without("large_p90"))
				return fmt.Sprintf("%s = %s x legacy; %s against without", v.text("large_p90"), times(v.of("large_p90"), v.legacy("large_p90")), d.text(wait))
			},
			func(v view) bool {
				return v.mean("large_p90") <= .6*v.legacy("large_p90").mean() && v.of("large_p90").minus(v.without("large_p90")).mean <= 0
			}},
		{"never started ≤ 0.7 x without reservations",
			func(v view) string {
				return fmt.Sprintf("%s = %s x without", v.text("large_unstarted"), times(v.of("large_unstarted"), v.without("large_unstarted")))
			},
			func(v view) bool { return v.mean("large_unstarted") <= .7*v.without("large_unstarted").mean() }},
	}},
	{"dates kept; occupancy they cost", [3]goal{dates(), dates(), dates()}},
	{"preemptions of allocated work per 1,000 GPU-h; evicted twice within 3 h", [3]goal{stops("≤ 1.5; ≤ 100", 1.5, 100), stops("≤ 3; ≤ 200", 3, 200), stops("≤ 5; ≤ 300", 5, 300)}},
}

// times is the ratio of two means.
func times(a, b sample) string {
	if b.mean() == 0 {
		return "-"
	}
	return fixed(a.mean()/b.mean(), 2)
}

func delivered(wanted string, all, worst float64, eachSeed bool) goal {
	return goal{wanted, func(v view) string {
		return fmt.Sprintf("%s; %s (lowest seed %s)", v.text("delivered"), v.text("worst"), figureOf("worst").text(v.of("worst").least()))
	}, func(v view) bool {
		w := v.mean("worst")
		if eachSeed {
			w = v.of("worst").least()
		}
		return v.mean("delivered") >= all && w >= worst
	}}
}

func atLeast(wanted, key string, least float64) goal {
	return goal{wanted, func(v view) string { return v.text(key) }, func(v view) bool { return v.mean(key) >= least }}
}

func atMost(wanted, key string, most float64) goal {
	return goal{wanted, func(v view) string { return v.text(key) }, func(v view) bool { return v.mean(key) <= most }}
}

func goodput(wanted string, signal, kill float64) goal {
	return goal{wanted, func(v view) string {
		plain, ran := v.plain()
		if !ran {
			return v.text("goodput") + " / not run"
		}
		return v.text("goodput") + " / " + plain.plain(figureOf("goodput"))
	}, func(v view) bool {
		plain, ran := v.plain()
		return v.mean("goodput") >= signal && (!ran || plain.mean() >= kill)
	}}
}

func debugWait(wanted string, p90, p99 float64) goal {
	return goal{wanted, func(v view) string { return v.text("debug_p90") + " / " + v.text("debug_p99") },
		func(v view) bool { return v.mean("debug_p90") <= p90 && v.mean("debug_p99") <= p99 }}
}

func dates() goal {
	return goal{"100 %; ≤ 0.2 points", func(v view) string {
		made, kept, broken := v.of("dates_made"), v.of("dates_kept"), v.of("dates_broken")
		if made.missing {
			return "none made; " + v.of("occupancy").minus(v.without("occupancy")).text(ratio)
		}
		return fmt.Sprintf("%s made, %s kept, %s broken; %s", fixed(made.sum(), 0), fixed(kept.sum(), 0), fixed(broken.sum(), 0),
			v.of("occupancy").minus(v.without("occupancy")).text(ratio))
	}, func(v view) bool {
		return v.of("dates_broken").most() == 0 && v.of("occupancy").minus(v.without("occupancy")).mean >= -.002
	}}
}

func stops(wanted string, per, twice float64) goal {
	return goal{wanted, func(v view) string { return v.text("preempt") + "; " + v.text("thrash") },
		func(v view) bool { return v.mean("preempt") <= per && v.mean("thrash") <= twice }}
}

func verdict(g *goal, v view) string {
	switch {
	case g.met == nil:
		return "-"
	case g.met(v):
		return "met"
	}
	return "**not met**"
}

// tally counts the goals that something is wanted of, and those that the shipped policy meets.
func (s *study) tally() (wanted, met int) {
	for i := range goals {
		for j, r := range regimes {
			if g := &goals[i].goals[j]; g.met != nil {
				wanted++
				if g.met(view{s, r, contract}) {
					met++
				}
			}
		}
	}
	return wanted, met
}

func (d *document) goals() {
	d.say("## Goals\n\n%s\n\n", wrap(goalsText))
	rows := [][]string{{"", "regime", "wanted", "came out", ""}}
	var missed []string
	for i := range goals {
		for j, r := range regimes {
			g, v := &goals[i].goals[j], view{d.s, r, contract}
			name := ""
			if j == 0 {
				name = goals[i].name
			}
			rows = append(rows, []string{name, regimeName(r), g.wanted, g.came(v), verdict(g, v)})
			if g.met != nil && !g.met(v) {
				missed = append(missed, fmt.Sprintf("%s at %s", goals[i].name, regimeName(r)))
			}
		}
		v := view{d.s, regimes[2], moreDebug}
		g := &goals[i].goals[2]
		rows = append(rows, []string{"", "1.7, 6 %", g.wanted, g.came(v), verdict(g, v)})
	}
	d.table(5, rows)
	if len(missed) > 0 {
		d.say("%s\n\n", wrap("Not met as shipped: "+strings.Join(missed, "; ")+"."))
	} else {
		d.say("All are met as shipped.\n\n")
	}
	d.claims("goals")
}
