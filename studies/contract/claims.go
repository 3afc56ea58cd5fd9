package main

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// claim is a sentence about the figures. {1.7|contract|worst} in it stands for the mean
// of a figure over all seeds, {k1.7|window 1 d|worst} over those of the knobs. holds
// tells whether the figures bear the sentence out; nil where that is no matter of figures.
type claim struct {
	part, text string
	holds      func(*study) bool
}

var placeholder = regexp.MustCompile(`\{(k?)([0-9.]+)\|([^{}|]+)\|([a-z0-9_]+)\}`)

// fill puts figures into a sentence.
func (s *study) fill(text string) string {
	wanted, met := s.tally()
	text = strings.NewReplacer("{plain}", fixed(100*s.plainLoss(), 2)+" points", "{wanted}", strconv.Itoa(wanted), "{met}", strconv.Itoa(met)).Replace(text)
	return placeholder.ReplaceAllStringFunc(text, func(m string) string {
		p := placeholder.FindStringSubmatch(m)
		regime, _ := strconv.ParseFloat(p[2], 64)
		seeds := s.seeds
		if p[1] == "k" {
			seeds = knobSeeds
		}
		// Lower bounds are said to be such in the tables.
		file, policy := source(p[3])
		return strings.TrimPrefix(s.sample(regime, file, policy, p[4], seeds).plain(figureOf(p[4])), "≥ ")
	})
}

// source of a policy's figures: its runs on signal, or those of "plain contract".
func source(name string) (file, policy string) {
	policy, kill := strings.CutPrefix(name, "plain ")
	file = onSignal
	if kill {
		file = hourly
	}
	if policy == legacy {
		file += "+squat"
	}
	return file, policy
}

// at is the mean of a figure over the seeds of the knobs.
func (s *study) at(regime float64, policy, key string) float64 {
	return s.sample(regime, onSignal, policy, key, knobSeeds).mean()
}

// all is the mean over all seeds.
func (s *study) all(regime float64, policy, key string) float64 {
	file, policy := source(policy)
	return s.sample(regime, file, policy, key, s.seeds).mean()
}

// worseIn counts the seeds in which a figure of contract is at least that of another.
func (s *study) worseIn(regime float64, other, key string) (n int) {
	file, other := source(other)
	a, b := s.sample(regime, onSignal, contract, key, s.seeds), s.sample(regime, file, other, key, s.seeds)
	for i := range a.values {
		if a.values[i] >= b.values[i] {
			n++
		}
	}
	return n
}

// both tells whether something holds in both regimes of the knobs, every in all three.
func both(f func(s *study, r float64) bool) func(*study) bool {
	return func(s *study) bool { return f(s, 1.0) && f(s, 1.7) }
}

func every(f func(s *study, r float64) bool) func(*study) bool {
	return func(s *study) bool { return f(s, .75) && f(s, 1.0) && f(s, 1.7) }
}

var texts = []claim{
	{"summary", "Teams get what they are owed: {0.75|contract|delivered}, {1|contract|delivered} and {1.7|contract|delivered} of it in the three regimes, " +
		"under `legacy-priority` {0.75|legacy-priority|delivered}, {1|legacy-priority|delivered} and {1.7|legacy-priority|delivered}. At 1.7 the worst team gets {1.7|contract|worst}, there {1.7|legacy-priority|worst}.",
		every(func(s *study, r float64) bool {
			return s.all(r, contract, "delivered") > .99 && s.all(r, contract, "delivered") > s.all(r, legacy, "delivered")+.05 && s.all(r, contract, "worst") > s.all(r, legacy, "worst")+.2
		})},
	{"summary", "More of the GPU-time comes to something: goodput occupancy at 1.0 is {1|contract|goodput}, not {1|legacy-priority|goodput}. All of the difference is GPUs held by parked jobs, and how many there are is an assumption.",
		every(func(s *study, r float64) bool {
			d := s.all(r, contract, "goodput") - s.all(r, legacy, "goodput")
			return d > 0 && s.all(r, legacy, "squat") > .95*d
		})},
	{"summary", "Debug jobs start: at the 90th percentile within {1|contract|debug_p90} at 1.0 and {1.7|contract|debug_p90} at 1.7. Under `legacy-priority` {1|legacy-priority|debug_unstarted} and {1.7|legacy-priority|debug_unstarted} of them are withdrawn before they start. " +
		"The last hundredth still waits {1.7|contract|debug_p99} at 1.7.",
		func(s *study) bool {
			return s.all(1, contract, "debug_p90") <= minute && s.all(1.7, contract, "debug_p90") < 5*minute && s.all(1.7, contract, "debug_p99") > 15*minute && s.all(1, legacy, "debug_unstarted") > .1
		}},
	{"summary", "Less is stopped: allocated work {1|contract|preempt} times per 1,000 GPU-hours at 1.0, not {1|legacy-priority|preempt}; within 3 h of the same job's last stop {1|contract|thrash} times a seed, not {1|legacy-priority|thrash}.",
		every(func(s *study, r float64) bool {
			return s.all(r, contract, "preempt") < .5*s.all(r, legacy, "preempt") && s.all(r, contract, "thrash") < .1*s.all(r, legacy, "thrash")
		})},
	{"summary", "Who pays: at 1.0 and 1.7 unallocated work, for which less room is left; and for the dates of jobs of more than 64 GPUs those of 8 to 64, and at 1.7 debug jobs of a whole node. " +
		"Without reservations the p90 wait of allocated work at 1.0 would be {1|reservations none|alloc_p90} instead of {1|contract|alloc_p90}.",
		both(func(s *study, r float64) bool {
			return s.all(r, contract, "unalloc_unstarted") > s.all(r, legacy, "unalloc_unstarted") && s.all(r, contract, "alloc64_p90") > s.all(r, noReservations, "alloc64_p90") &&
				s.all(r, contract, "alloc_p90") > 1.2*s.all(r, noReservations, "alloc_p90")
		})},
	{"summary", "Of {wanted} goals that were set before, {met} are met as shipped; the [list](#goals) says which are not.", nil},

	{"results", "Occupancy says nothing here: there is always a sweep to fill with, under either policy, and parked jobs count as occupants.",
		every(func(s *study, r float64) bool {
			return s.all(r, contract, "occupancy") > .995 && s.all(r, legacy, "occupancy") > .995
		})},
	{"results", "Unallocated work gets less at 1.0 and 1.7: its share falls from {1|legacy-priority|unallocated} to {1|contract|unallocated} and from {1.7|legacy-priority|unallocated} to {1.7|contract|unallocated}. Under `legacy-priority` sweeps claimed NORMAL or HIGH run before the debug jobs and trainings of others; under `contract` they never do.",
		both(func(s *study, r float64) bool {
			return s.all(r, contract, "unallocated") < s.all(r, legacy, "unallocated") && s.worseIn(r, legacy, "unalloc_p50") > s.seeds/2
		})},
	{"results", "`contract` stops allocated work less often, but at 1.0 and 1.7 loses more of it: {1.7|contract|lost_alloc} of the GPU-time at 1.7 on signal and {1.7|plain contract|lost_alloc} with plain kill, " +
		"where `legacy-priority` loses {1.7|legacy-priority|lost_alloc} and {1.7|plain legacy-priority|lost_alloc}. Without reservations it would be {1.7|reservations none|lost_alloc} on signal. Parked jobs left out, `legacy-priority` would have the higher goodput.",
		every(func(s *study, r float64) bool {
			for _, kind := range []string{"", "plain "} {
				lost := func(policy string) float64 {
					return s.all(r, kind+policy, "lost_alloc") + s.all(r, kind+policy, "lost_unalloc")
				}
				if lost(contract) < lost(legacy) {
					return false
				}
			}
			return s.all(1, contract, "lost_alloc") > s.all(1, legacy, "lost_alloc") && s.all(1.7, contract, "lost_alloc") > s.all(1.7, legacy, "lost_alloc") &&
				s.all(1.7, contract, "lost_alloc") > s.all(1.7, noReservations, "lost_alloc") && s.all(r, contract, "preempt") < s.all(r, legacy, "preempt")
		})},
	{"results", "How work is stopped matters more than any knob: plain kill costs `contract` {plain} of goodput at 1.0.",
		both(func(s *study, r float64) bool {
			for _, k := range knobs {
				for _, p := range k.points {
					if math.Abs(s.at(r, p.name, "goodput")-s.at(r, contract, "goodput")) > .5*s.plainLoss() {
						return false
					}
				}
			}
			return true
		})},
	{"results", "In the strict form, in which what is missed is made good only by a later surplus, {1|contract|strict} and {1.7|contract|strict} are delivered at 1.0 and 1.7. A surplus that came first does not count in it, so it is below 100 % by its nature.", nil},

	{"goals", "With debug nodes of 6 % debug jobs at 1.7 wait {1.7|debug nodes 6%|debug_p99} at p99 instead of {1.7|contract|debug_p99}; the worst team gets {1.7|debug nodes 6%|worst} instead of {1.7|contract|worst}, since those nodes are closed to trainings.",
		func(s *study) bool {
			return s.all(1.7, moreDebug, "debug_p99") < .5*s.all(1.7, contract, "debug_p99") && s.all(1.7, moreDebug, "worst") < s.all(1.7, contract, "worst")
		}},
	{"goals", "Two goals pull against each other. The p90 of allocated work at 1.0 is {1|reservations none|alloc_p90} without reservations, which would do, and {1|contract|alloc_p90} with them, which does not; without them jobs of more than 64 GPUs wait {1|reservations none|large_p90} instead of {1|contract|large_p90}.",
		func(s *study) bool {
			return s.all(1, noReservations, "alloc_p90") <= 2*hour && s.all(1, contract, "alloc_p90") > 2*hour && s.all(1, noReservations, "large_p90") > s.all(1, contract, "large_p90")
		}},

	{"published", "The shares come out better than the published ones. That is no surprise: nothing fails here, nobody errs, and all declare what they want.",
		every(func(s *study, r float64) bool {
			return s.all(r, contract, "delivered") > .98 && s.all(r, contract, "worst") > .9
		})},
	{"published", "The unallocated share is a matter of demand: {0.75|contract|unallocated} at 0.75, {1|contract|unallocated} at 1.0. The published 18 % lies between.",
		func(s *study) bool {
			return s.all(.75, contract, "unallocated") > .18 && s.all(1, contract, "unallocated") < .18
		}},
	{"published", "A debug p90 of {1|contract|debug_p90} is the grace that unallocated work has to leave, there as here.",
		func(s *study) bool {
			return s.all(.75, contract, "debug_p90") == 30 && s.all(1, contract, "debug_p90") < 31
		}},
	{"published", "The *before* does not agree. `legacy-priority` in this lab is far worse than what was left behind there ({1|legacy-priority|debug_p90} and {1|legacy-priority|alloc_p90} at 1.0 against 2 h and 2.8 h), so the gains must not be compared.",
		func(s *study) bool {
			return s.all(1, legacy, "debug_p90") > 2*hour && s.all(1, legacy, "alloc_p90") > 2.8*hour
		}},

	{"reservations", "Dates are what starts the largest jobs: at 1.7 {1.7|contract|large_unstarted} of those of more than 64 GPUs never start, without dates {1.7|reservations none|large_unstarted}; at 1.0 their p90 falls from {1|reservations none|large_p90} to {1|contract|large_p90}. They cost no occupancy, since short and unallocated work fills the nodes until then.",
		both(func(s *study, r float64) bool {
			return s.all(r, contract, "large_unstarted") < .7*s.all(r, noReservations, "large_unstarted") && s.all(r, contract, "large_p90") < s.all(r, noReservations, "large_p90") &&
				s.all(r, noReservations, "occupancy")-s.all(r, contract, "occupancy") < .002
		})},
	{"reservations", "They are not free. Jobs of 9 to 64 GPUs have no dates and find less room: their p90 at 1.0 goes from {1|reservations none|alloc64_p90} to {1|contract|alloc64_p90}. At 1.7 debug jobs of 8 GPUs feel it too, with a p90 of {1.7|contract|debug8_p90} instead of {1.7|reservations none|debug8_p90}.",
		func(s *study) bool {
			return s.all(1, contract, "alloc64_p90") > 1.2*s.all(1, noReservations, "alloc64_p90") && s.all(1.7, contract, "debug8_p90") > 1.2*s.all(1.7, noReservations, "debug8_p90")
		}},

	{"who", "The debug jobs that wait are those that need a whole node. At 1.7 the p99 of 1 GPU is {1.7|contract|debug1_p99}, of 4 GPUs {1.7|contract|debug4_p99}; of 8 GPUs already the p90 is {1.7|contract|debug8_p90}. All who are on a node have to be unallocated, or beyond their protection and better served, at once.",
		func(s *study) bool {
			return s.all(1.7, contract, "debug1_p99") < 5*minute && s.all(1.7, contract, "debug8_p90") > s.all(1.7, contract, "debug4_p90") && s.all(1.7, contract, "debug8_p99") > 10*s.all(1.7, contract, "debug1_p99")
		}},
	{"who", "Of allocated work at 1.0 small jobs start nearly at once (up to 7 GPUs: p90 {1|contract|alloc7_p90}); those of 9 to 64 GPUs make the p90, with {1|contract|alloc64_p90}.",
		func(s *study) bool {
			return s.all(1, contract, "alloc7_p90") < 5*minute && s.all(1, contract, "alloc64_p90") > s.all(1, contract, "alloc8_p90")
		}},
	{"who", "Teams that ask for more than their share wait longer than those that do not: {1|contract|over_p90} against {1|contract|within_p90} at p90. That is meant.",
		func(s *study) bool { return s.all(1, contract, "over_p90") > 1.5*s.all(1, contract, "within_p90") }},
	{"who", "Where allocated work waits longest at 1.0 not more was asked for in all: over the seeds the two hardly go together.",
		func(s *study) bool {
			return correlation(s.sample(1, onSignal, contract, "asked", s.seeds).values, s.sample(1, onSignal, contract, "alloc_p90", s.seeds).values) < .4
		}},

	{"window", "The shorter the window, the sooner large jobs start ({k1|window 1 d|large_p90} with 1 d, {k1|window 28 d|large_p90} with 28 d at 1.0): who has waited a day stands before others again.",
		both(func(s *study, r float64) bool {
			return s.at(r, "window 1 d", "large_p90") < s.at(r, contract, "large_p90") && s.at(r, contract, "large_p90") < s.at(r, "window 28 d", "large_p90")
		})},
	{"window", "The price is fairness where work does not fit: at 1.7 the worst team gets {k1.7|window 1 d|worst} with 1 d, {k1.7|contract|worst} with 7 d, and with 1 d more than twice as much is stopped. Longer windows spare debug jobs at 1.7.",
		func(s *study) bool {
			return s.at(1.7, "window 1 d", "worst") < s.at(1.7, contract, "worst")-.02 && s.at(1.7, "window 1 d", "preempt") > 2*s.at(1.7, contract, "preempt") &&
				s.at(1.7, "window 28 d", "debug_p99") < s.at(1.7, contract, "debug_p99")
		}},
	{"cap", "Longer protection loses a little less work up to 8 h and hardly beyond; with 1 and 2 h the same jobs are stopped again and again. It makes large jobs wait longer: {k1|cap 1 h|large_p90} with 1 h, {k1|cap 24 h|large_p90} with 24 h at 1.0. 4 h would do about as well as 8.",
		both(func(s *study, r float64) bool {
			return s.at(r, "cap 1 h", "goodput") < s.at(r, "cap 4 h", "goodput") && s.at(r, "cap 24 h", "goodput")-s.at(r, contract, "goodput") < .002 &&
				s.at(r, "cap 1 h", "large_p90") < s.at(r, "cap 24 h", "large_p90") && s.at(r, "cap 1 h", "thrash") > 3*s.at(r, contract, "thrash") &&
				s.at(r, contract, "goodput")-s.at(r, "cap 4 h", "goodput") < .003
		})},
	{"hysteresis", "More hysteresis means fewer stops and less loss, and longer waits of large jobs: {k1|hysteresis 1|large_p90} with 1, {k1|hysteresis 1.5|large_p90} with 1.5 at 1.0. Without any, teams that are level stop each other {k1.7|hysteresis 1|preempt} times per 1,000 GPU-hours at 1.7. Shares suffer little from either.",
		both(func(s *study, r float64) bool {
			return s.at(r, "hysteresis 1.5", "preempt") < s.at(r, contract, "preempt") && s.at(r, contract, "preempt") < s.at(r, "hysteresis 1", "preempt") &&
				s.at(r, "hysteresis 1", "goodput") < s.at(r, "hysteresis 1.5", "goodput") && s.at(r, "hysteresis 1", "large_p90") < s.at(r, "hysteresis 1.5", "large_p90") &&
				s.at(r, "hysteresis 1.5", "worst") > .95
		})},
	{"every", "Any limit takes the force out of dates: a date does not count on stopping allocated work then, so that jobs of more than 64 GPUs wait as long as without reservations ({k1|every 1 min|large_p90} at 1.0), and others as short. How strict the limit is hardly matters beside that.",
		both(func(s *study, r float64) bool {
			return s.at(r, "every 1 min", "large_p90") > .85*s.at(r, noReservations, "large_p90") && s.at(r, "every 1 min", "large_p90") > 1.2*s.at(r, contract, "large_p90") &&
				s.at(r, "every 1 min", "alloc_p90") < s.at(r, contract, "alloc_p90")
		})},
	{"after", "A gentler way to stop less: already 5 min spare a fifth of the stops. Debug jobs of a whole node pay at 1.0, with a p99 of {k1|after 30 min|debug_p99} at 30 min instead of {k1|contract|debug_p99}; shares and large jobs do not suffer.",
		func(s *study) bool {
			ok := s.at(1, "after 30 min", "debug_p99") > 1.5*s.at(1, contract, "debug_p99")
			for _, r := range knobRegimes {
				ok = ok && s.at(r, "after 5 min", "preempt") < .85*s.at(r, contract, "preempt") && s.at(r, "after 120 min", "worst") > s.at(r, contract, "worst")-.02 &&
					s.at(r, "after 120 min", "large_p90") < 1.1*s.at(r, contract, "large_p90")
			}
			return ok
		}},
	{"debug", "This decides how long debug jobs wait: at 1.7 their p99 is {k1.7|contract|debug_p99} with 4 %, {k1.7|debug nodes 6%|debug_p99} with 6 and {k1.7|debug 8 %|debug_p99} with 8. The price is less for others: at 1.7 the worst team gets {k1.7|debug 0 %|worst} with none and {k1.7|debug 8 %|worst} with 8 %, and at 1.0 the p90 of allocated work rises from {k1|debug 0 %|alloc_p90} to {k1|debug 8 %|alloc_p90}.",
		func(s *study) bool {
			return s.at(1.7, contract, "debug_p99") > 2*s.at(1.7, moreDebug, "debug_p99") && s.at(1.7, "debug 8 %", "debug_p99") < s.at(1.7, moreDebug, "debug_p99") &&
				s.at(1, "debug 8 %", "alloc_p90") > 1.5*s.at(1, "debug 0 %", "alloc_p90") && s.at(1.7, "debug 8 %", "worst") < s.at(1.7, "debug 0 %", "worst")
		}},
	{"any", "With dates for any account the p90 of large jobs is {k1|contract|large_p90} instead of {k1|any false|large_p90} at 1.0, and {k1.7|contract|large_p90} instead of {k1.7|any false|large_p90} at 1.7. Others wait longer for it: allocated work at 1.0 {k1|contract|alloc_p90} instead of {k1|any false|alloc_p90}.",
		func(s *study) bool {
			return s.at(1, contract, "large_p90") < .9*s.at(1, "any false", "large_p90") && s.at(1.7, contract, "large_p90") < s.at(1.7, "any false", "large_p90") &&
				s.at(1, contract, "alloc_p90") > s.at(1, "any false", "alloc_p90")
		}},
	{"credit", "No clear effect: no team of this lab is idle long enough to bring back much, and the differences are within the spread of three seeds.",
		both(func(s *study, r float64) bool {
			for _, p := range []string{"credit none", "credit 10 %", "credit 50 %"} {
				if x := s.at(r, p, "alloc_p90") / s.at(r, contract, "alloc_p90"); x < .75 || x > 1.25 {
					return false
				}
				if d := s.at(r, p, "worst") - s.at(r, contract, "worst"); d < -.02 || d > .02 {
					return false
				}
			}
			return true
		})},
}

// plainLoss is what contract loses with plain kill more than on signal, at 1.0.
func (s *study) plainLoss() float64 {
	return s.all(1, contract, "goodput") - s.sample(1, hourly, contract, "goodput", s.seeds).mean()
}
