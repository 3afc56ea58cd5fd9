package sim

import (
	"math"
	"math/rand/v2"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// bands is the published error profile of Helios's predictor (Hu et al., SC'21,
// as settled in the docs): share of jobs whose error lies up to a bound.
// error = max(f, 1/f) - 1 with f = estimate / true duration.
var bands = []struct{ share, from, to float64 }{
	{0.10, 0.01, 0.10},
	{0.40, 0.10, 0.50},
	{0.20, 0.50, 1.00},
	{0.20, 1.00, 10.0},
	{0.10, 10.0, 100.0},
}

// Estimate returns the estimate that an error model gives a job; 0 = as the job
// declares. The draw of job number n depends on the seed and n alone, so the same
// job has the same estimate under every policy.
func Estimate(m policy.Estimates, n int32, j *workload.Job, a *workload.Actual) workload.Span {
	switch m.Model {
	case policy.EstimatePerfect:
		return max(a.Duration, 1)
	case policy.EstimateLimit:
		if j.Limit > 0 {
			return j.Limit
		}
	case policy.EstimateHelios:
		return heliosError(m.Seed, n, a.Duration)
	}
	if j.Estimate == 0 && j.Limit == 0 {
		return max(a.Duration, 1)
	}
	return 0
}

func heliosError(seed uint64, n int32, d workload.Span) workload.Span {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	u := r.Float64()
	var e float64
	for i, b := range bands {
		if u < b.share || i == len(bands)-1 {
			e = math.Exp(math.Log(b.from) + r.Float64()*(math.Log(b.to)-math.Log(b.from)))
			break
		}
		u -= b.share
	}
	f := 1 + e
	if r.IntN(2) == 0 {
		f = 1 / f
	}
	return max(workload.Span(math.Round(float64(d)*f)), 1)
}
