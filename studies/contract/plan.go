package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// lab is the cluster and the span of a study.
type lab struct {
	nodes, perNode int
	// days of submissions; figures are over [from, days).
	days, from int
}

var fullLab = lab{nodes: 128, perNode: 8, days: 35, from: 5}

// regimes are the loads of allocated work.
var regimes = []float64{0.75, 1.0, 1.7}

// knobSeeds is how many seeds the knobs are turned for, at knobRegimes.
const knobSeeds = 3

var knobRegimes = []float64{1.0, 1.7}

// Policies by the names they have in the figures.
const (
	legacy         = "legacy-priority"
	contract       = "contract"
	noReservations = "reservations none"
	moreDebug      = "debug nodes 6%"
)

// Files are kinds of workloads: what trainings and sweeps do when they are stopped,
// and whether there are squatters.
const (
	onSignal      = "on-signal"
	hourly        = "hourly"
	onSignalSquat = "on-signal+squat"
	hourlySquat   = "hourly+squat"
)

// edit changes the policy contract.
type edit func(*policy.Sharing)

// point is one position of a knob.
type point struct {
	label string
	// name in the figures; contract where it is the shipped one.
	name string
	edit edit
}

type knob struct {
	key, title, what string
	points           []point
	// panels are the figures of its picture.
	panels []string
}

// knobs are turned one at a time.
var knobs = makeKnobs()

func makeKnobs() []knob {
	k := []knob{
		{key: "window", title: "Share window", what: "`window`: how far back usage counts", panels: []string{"worst", "alloc_p90", "large_p90", "debug_p99"}},
		{key: "cap", title: "Longest protection", what: "`minRuntime: cap`: the longest minimum runtime", panels: []string{"goodput", "alloc_p90", "debug_p99", "large_p90"}},
		{key: "hysteresis", title: "Hysteresis", what: "`hysteresis`: by how much the winner must be served less", panels: []string{"goodput", "preempt", "worst", "large_p90"}},
		{key: "every", title: "Rate limit", what: "`evictions: every`: the least time between two stops of allocated work", panels: []string{"preempt", "worst", "alloc_p90", "large_p90"}},
		{key: "after", title: "Wait before evicting", what: "`evictions: after`: how long a job waits before allocated work is stopped for it", panels: []string{"preempt", "worst", "alloc_p90", "debug_p99"}},
		{key: "debug", title: "Debug nodes", what: "`debug: nodes`: part of the nodes kept for debug and unallocated work", panels: []string{"debug_p90", "debug_p99", "alloc_p90", "large_p90"}},
		{key: "any", title: "Reservations for any account", what: "`reservations: anyAccount`: also for accounts that have their share", panels: []string{"large_p90", "large_unstarted", "alloc_p90", "worst"}},
		{key: "credit", title: "Credit cap", what: "`creditCap`: part of a window that may be claimed back after idleness", panels: []string{"worst", "strict", "alloc_p90", "large_p90"}},
	}
	of := map[string]*knob{}
	for i := range k {
		of[k[i].key] = &k[i]
	}
	add := func(key, label string, shipped bool, e edit) {
		p := point{label: label, name: contract}
		if !shipped {
			p.name, p.edit = key+" "+label, e
		}
		of[key].points = append(of[key].points, p)
	}
	for _, d := range []int64{1, 3, 7, 14, 28} {
		add("window", fmt.Sprintf("%d d", d), d == 7, func(s *policy.Sharing) { s.Window = d * workload.Day })
	}
	for _, h := range []int64{1, 2, 4, 8, 16, 24} {
		add("cap", fmt.Sprintf("%d h", h), h == 8, func(s *policy.Sharing) {
			s.MinRuntimeCap = h * workload.Hour
			s.MinRuntimeDefault = min(s.MinRuntimeDefault, s.MinRuntimeCap)
		})
	}
	for _, m := range []int64{1000, 1020, 1100, 1250, 1500} {
		add("hysteresis", fmt.Sprintf("%g", float64(m)/1000), m == 1100, func(s *policy.Sharing) { s.Hysteresis = m })
	}
	for _, m := range []int64{0, 1, 5, 15} {
		add("every", fmt.Sprintf("%d min", m), m == 0, func(s *policy.Sharing) { s.EvictEvery = m * workload.Minute })
	}
	for _, m := range []int64{0, 5, 30, 120} {
		add("after", fmt.Sprintf("%d min", m), m == 0, func(s *policy.Sharing) { s.EvictAfter = m * workload.Minute })
	}
	for _, n := range []int64{0, 20, 40, 60, 80} {
		add("debug", fmt.Sprintf("%d %%", n/10), n == 40, func(s *policy.Sharing) { s.Debug.Nodes = n })
	}
	for _, yes := range []bool{true, false} {
		add("any", map[bool]string{true: "true", false: "false"}[yes], yes, func(s *policy.Sharing) { s.Reservations.AnyAccount = yes })
	}
	for _, c := range []int64{-1, 100, 250, 500} {
		label := fmt.Sprintf("%d %%", c/10)
		if c < 0 {
			label = "none"
		}
		add("credit", label, c == 250, func(s *policy.Sharing) { s.CreditCap = c })
	}
	// 6 % of debug nodes are a variant of the main study too, under one name.
	for i, p := range of["debug"].points {
		if p.label == "6 %" {
			of["debug"].points[i].name = moreDebug
		}
	}
	return k
}

// edits of the policy contract by name.
func edits() map[string]edit {
	out := map[string]edit{contract: nil, noReservations: func(s *policy.Sharing) { s.Reservations = policy.Reservations{} }}
	for _, k := range knobs {
		for _, p := range k.points {
			if p.edit != nil {
				out[p.name] = p.edit
			}
		}
	}
	return out
}

// policyOf returns a policy by its name in the figures.
func policyOf(name string) (*policy.Policy, error) {
	if name == legacy {
		return policy.Resolve(legacy)
	}
	e, ok := edits()[name]
	if !ok {
		return nil, fmt.Errorf("no policy %q is part of the study", name)
	}
	p, err := policy.Resolve(contract)
	if err != nil || e == nil {
		return p, err
	}
	q := *p
	sharing := *p.Sharing
	e(&sharing)
	q.Sharing = &sharing
	return policy.Parse(name+".yaml", q.YAML()) // what a file can say, with its hash
}

// unit is one workload and the policies that run on it.
type unit struct {
	regime   float64
	seed     int
	file     string
	policies []string
}

// plan lists all units, those with the most runs first.
func plan(seeds int) []unit {
	var out []unit
	for _, r := range regimes {
		for seed := 1; seed <= seeds; seed++ {
			u := unit{r, seed, onSignal, []string{contract, noReservations}}
			if r == 1.7 {
				u.policies = append(u.policies, moreDebug)
			}
			if seed <= knobSeeds && slices.Contains(knobRegimes, r) {
				for _, k := range knobs {
					for _, p := range k.points {
						if !slices.Contains(u.policies, p.name) {
							u.policies = append(u.policies, p.name)
						}
					}
				}
			}
			out = append(out, u, unit{r, seed, hourly, []string{contract}},
				unit{r, seed, onSignalSquat, []string{legacy}}, unit{r, seed, hourlySquat, []string{legacy}})
		}
	}
	slices.SortStableFunc(out, func(a, b unit) int { return cmp.Compare(len(b.policies), len(a.policies)) })
	return out
}
