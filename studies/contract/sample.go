package main

import (
	"math"
	"slices"
	"strings"

	"github.com/escala-sched/escala/metrics"
)

// bootSeed of the resampling, so that it is repeatable.
const bootSeed = 1

// sample is one figure of one policy, by seed.
type sample struct {
	values []float64
	// bound: at least one of them is a lower bound. missing: some run has no such figure.
	bound, missing bool
}

// sample collects a figure of the first seeds.
func (s *study) sample(regime float64, file, policy, key string, seeds int) sample {
	var out sample
	absent := 0
	for seed := 1; seed <= min(seeds, s.seeds); seed++ {
		r := s.run(regime, seed, file, policy)
		v := r.value(key)
		out.values = append(out.values, v.v)
		out.bound = out.bound || v.bound && r.counts(key)
		if !v.ok {
			absent++
		}
	}
	out.missing = absent == len(out.values) || absent > 0 && !figureOf(key).none
	return out
}

func (s *study) run(regime float64, seed int, file, policy string) *run {
	return &s.runs[s.index[runKey{regime, seed, file, policy}]]
}

// few is the part of jobs that never started up to which a percentile is printed as exact.
const few = 1. / 200

// counts tells whether so many jobs of a percentile's class never started that it is
// to be marked as a lower bound.
func (r *run) counts(key string) bool {
	class, _, _ := strings.Cut(key, "_")
	return r.value(class+"_unstarted").v >= few
}

func (x sample) mean() float64 {
	var sum float64
	for _, v := range x.values {
		sum += v
	}
	return sum / float64(len(x.values))
}

func (x sample) least() float64 { return slices.Min(x.values) }
func (x sample) most() float64  { return slices.Max(x.values) }

func (x sample) sum() float64 { return x.mean() * float64(len(x.values)) }

// interval is the 95 % bootstrap interval of the mean.
func (x sample) interval() (lo, hi float64) {
	lo, _, hi = metrics.DiffCI(make([]float64, len(x.values)), x.values, bootSeed)
	return lo, hi
}

// text prints mean and interval.
func (x sample) text(u unitOf) string {
	if x.missing {
		return "-"
	}
	lo, hi := x.interval()
	return bounded(x.bound) + spread(u, lo, x.mean(), hi, false)
}

// plain prints the mean alone.
func (x sample) plain(f *figure) string {
	if x.missing {
		return "-"
	}
	return bounded(x.bound) + f.text(x.mean())
}

func bounded(is bool) string {
	if is {
		return "≥ "
	}
	return ""
}

// difference is that of two policies on the same seeds.
type difference struct {
	lo, mean, hi float64
	missing      bool
}

func (x sample) minus(y sample) difference {
	d := difference{missing: x.missing || y.missing}
	d.lo, d.mean, d.hi = metrics.DiffCI(y.values, x.values, bootSeed)
	return d
}

func (d difference) text(u unitOf) string {
	if d.missing {
		return "-"
	}
	return spread(u, d.lo, d.mean, d.hi, true)
}

// sign tells which way a difference goes, 0 where its interval holds zero.
func (d difference) sign() int {
	switch {
	case d.missing:
		return 0
	case d.lo > 0:
		return 1
	case d.hi < 0:
		return -1
	}
	return 0
}

// spread prints "mean unit [lo, hi]".
func spread(u unitOf, lo, mean, hi float64, signed bool) string {
	number, name := amount, ""
	switch u {
	case ratio:
		number, name = func(v float64) string { return fixed(100*v, 2) }, " %"
		if signed {
			name = " points"
		}
	case wait:
		t := timeUnit(max(math.Abs(lo), math.Abs(mean), math.Abs(hi)))
		number, name = t.number, " "+t.name
	}
	return signOf(signed, number(mean)) + name + " [" + signOf(signed, number(lo)) + ", " + signOf(signed, number(hi)) + "]"
}

func signOf(signed bool, s string) string {
	if signed && s[0] != '-' && s != number0(s) {
		return "+" + s
	}
	return s
}

// number0 is s where it is zero in print, else "".
func number0(s string) string {
	for _, c := range s {
		if c >= '1' && c <= '9' {
			return ""
		}
	}
	return s
}

// common is what two policies delivered over the larger owed of the two, account by
// account: one denominator for both.
func (s *study) common(regime float64, fileA, policyA, fileB, policyB string) (a, b sample) {
	for seed := 1; seed <= s.seeds; seed++ {
		x, y := s.run(regime, seed, fileA, policyA), s.run(regime, seed, fileB, policyB)
		var owed, gotX, gotY float64
		for i := range x.owed {
			due := max(x.owed[i], y.owed[i])
			owed += due
			gotX += min(x.charged[i], due)
			gotY += min(y.charged[i], due)
		}
		a.values, b.values = append(a.values, gotX/owed), append(b.values, gotY/owed)
	}
	return a, b
}

// correlation is Pearson's.
func correlation(x, y []float64) float64 {
	mx, my := sample{values: x}.mean(), sample{values: y}.mean()
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}
