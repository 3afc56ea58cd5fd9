package main

// at is the mean of a figure over the seeds of the knobs.
func (s *study) at(regime float64, policy, key string) float64 {
	return s.sample(regime, onSignal, policy, key, knobSeeds).mean()
}

// all is the mean over all seeds.
func (s *study) all(regime float64, policy, key string) float64 {
	file := onSignal
	if policy == legacy {
		file = onSignalSquat
	}
	return s.sample(regime, file, policy, key, s.seeds).mean()
}

// both tells whether something holds in both regimes of the knobs.
func both(f func(s *study, r float64) bool) func(*study) bool {
	return func(s *study) bool { return f(s, 1.0) && f(s, 1.7) }
}

// every tells whether something holds in all regimes.
func every(f func(s *study, r float64) bool) func(*study) bool {
	return func(s *study) bool { return f(s, .75) && f(s, 1.0) && f(s, 1.7) }
}

var texts = []claim{
	{"window", "The shorter the window, the sooner large jobs start: whoever has waited a day stands in line before others again.",
		both(func(s *study, r float64) bool {
			return s.at(r, "window 1 d", "large_p90") < .6*s.at(r, "window 14 d", "large_p90") && s.at(r, "window 1 d", "large_p90") < s.at(r, contract, "large_p90")
		})},
	{"window", "The price is fairness where work does not fit: at 1.7 the worst team loses more with 1 and 3 d than with 7, and more work is stopped.",
		func(s *study) bool {
			return s.at(1.7, "window 1 d", "worst") < s.at(1.7, "window 3 d", "worst") && s.at(1.7, "window 3 d", "worst") < s.at(1.7, contract, "worst") &&
				s.at(1.7, "window 1 d", "preempt") > s.at(1.7, contract, "preempt")
		}},
	{"cap", "Longer protection saves a little lost work, up to 8 h and hardly beyond, and makes large jobs wait longer.",
		both(func(s *study, r float64) bool {
			return s.at(r, "cap 1 h", "goodput") < s.at(r, "cap 4 h", "goodput") && s.at(r, "cap 24 h", "goodput")-s.at(r, contract, "goodput") < .001 &&
				s.at(r, "cap 1 h", "large_p90") < s.at(r, "cap 24 h", "large_p90")
		})},
	{"hysteresis", "More hysteresis means fewer stops and less loss; large jobs wait longer, since it takes longer until the served and the unserved differ enough.",
		both(func(s *study, r float64) bool {
			return s.at(r, "hysteresis 1.5", "preempt") < s.at(r, contract, "preempt") && s.at(r, contract, "preempt") < s.at(r, "hysteresis 1", "preempt") &&
				s.at(r, "hysteresis 1", "goodput") < s.at(r, "hysteresis 1.5", "goodput") && s.at(r, "hysteresis 1", "large_p90") < s.at(r, "hysteresis 1.5", "large_p90")
		})},
	{"every", "Any limit takes the force out of the dates: a date does not count on stopping allocated work then, so that the jobs of more than 64 GPUs wait as long as without reservations.",
		both(func(s *study, r float64) bool {
			return s.at(r, "every 1 min", "large_p90") > .85*s.at(r, noReservations, "large_p90") && s.at(r, "every 1 min", "large_p90") > 1.2*s.at(r, contract, "large_p90")
		})},
	{"after", "Work is stopped less often; debug jobs wait longer at 1.0, where they need victims.",
		func(s *study) bool {
			return s.at(1, "after 30 min", "preempt") < s.at(1, contract, "preempt") && s.at(1.7, "after 30 min", "preempt") < s.at(1.7, contract, "preempt") &&
				s.at(1, "after 30 min", "debug_p99") > s.at(1, contract, "debug_p99")
		}},
	{"debug", "The knob that decides how long debug jobs wait: p99 at 1.7 falls from hours to minutes with 6 %. The price is the waits of other allocated work.",
		func(s *study) bool {
			return s.at(1.7, "debug 2 %", "debug_p99") > hour && s.at(1.7, moreDebug, "debug_p99") < 15*minute && s.at(1.7, "debug 8 %", "debug_p99") < s.at(1.7, moreDebug, "debug_p99") &&
				s.at(1, "debug 8 %", "alloc_p90") > s.at(1, "debug 0 %", "alloc_p90") && s.at(1.7, "debug 8 %", "alloc_p90") > s.at(1.7, "debug 0 %", "alloc_p90")
		}},
	{"any", "With dates for any account large jobs wait less.",
		both(func(s *study, r float64) bool { return s.at(r, contract, "large_p90") < s.at(r, "any false", "large_p90") })},
}
