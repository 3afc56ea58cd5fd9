package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/escala-sched/escala/workload"
)

// GenOptions describe a synthetic workload.
type GenOptions struct {
	// Jobs is the number of jobs.
	Jobs int
	// Nodes and GPUsPerNode are the cluster that the load is meant for.
	Nodes, GPUsPerNode int
	// Load is the offered load: GPU-time asked for over GPU-time there, 1 = all of it.
	Load float64
	// Seed: the same options and seed give the same workload.
	Seed uint64
	// MaxGPUs bounds a job's GPUs; 0 = the cluster's size.
	MaxGPUs int
}

// Shape of the synthetic workload: typical of the published GPU cluster logs
// (Philly, Helios): most jobs take one GPU and minutes, most GPU-time goes to few.
const (
	genMedian  = 420.0  // seconds, of a job on one GPU
	genGrowth  = 0.55   // more of it for each doubling of the GPUs
	genSigma   = 1.9    // of the logarithm
	genMin     = 10.0   // seconds
	genMax     = 604800 // a week
	genUsers   = 200
	genTail    = 0.9 // Pareto exponent of users
	genTeams   = 12
	genSwing   = 0.6        // of the arrival rate over a day
	genWeekend = 0.65       // of a weekday's rate
	genBegin   = 8 * 3600.0 // time 0 is Monday, eight in the morning
	genWeek    = 7 * 86400.0
)

var (
	genSizes   = [...]int32{1, 2, 4, 8, 16, 32, 64, 128}
	genWeights = [...]float64{.52, .14, .11, .145, .05, .022, .010, .003}
	// Users ask for the run time times one of these, rounded up to a limit people choose.
	genFactors       = [...]float64{1, 1.3, 2, 4, 10}
	genFactorWeights = [...]float64{.15, .25, .3, .2, .1}
	genRound         = [...]float64{300, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 345600, 604800, 1209600}
)

// Generate makes a synthetic workload: arrivals are a Poisson process with a
// daily and weekly rhythm (by thinning), durations log-normal and longer for
// larger jobs, GPUs powers of two, users heavy-tailed, estimates at least the
// duration. Submissions are whole seconds, all distinct.
func Generate(o GenOptions) (*workload.Workload, error) {
	capacity := int64(o.Nodes) * int64(o.GPUsPerNode)
	maxGPUs := int64(o.MaxGPUs)
	if maxGPUs == 0 || maxGPUs > capacity {
		maxGPUs = capacity
	}
	switch {
	case o.Jobs < 1 || o.Jobs > 100_000_000:
		return nil, fmt.Errorf("generate: %d jobs; want 1 to 100000000", o.Jobs)
	case o.Nodes < 1 || o.GPUsPerNode < 1:
		return nil, fmt.Errorf("generate: a cluster of %d nodes with %d GPUs; want at least 1 of each", o.Nodes, o.GPUsPerNode)
	case !(o.Load > 0) || o.Load > 1000:
		return nil, fmt.Errorf("generate: load %g; want above 0, for example 0.95", o.Load)
	case o.MaxGPUs < 0:
		return nil, fmt.Errorf("generate: at most %d GPUs a job; want 0 (no bound) or more", o.MaxGPUs)
	}
	sizes := 0
	for sizes < len(genSizes) && int64(genSizes[sizes]) <= maxGPUs {
		sizes++
	}
	weights := genWeights[:sizes]
	// The span follows from the load; the rate is what fills it, whatever part of
	// the week it covers.
	span := float64(o.Jobs) * meanArea(weights) / (o.Load * float64(capacity))
	peak := float64(o.Jobs) / rhythmSum(genBegin, genBegin+span) * (1 + genSwing)

	rng := rand.New(rand.NewPCG(o.Seed, 0x5ca1ab1e))
	w := &workload.Workload{
		Name: fmt.Sprintf("synthetic-%d", o.Jobs), Epoch: workload.Unknown, Format: "generated", Rows: o.Jobs,
		Source: fmt.Sprintf("generate jobs=%d nodes=%d gpus_per_node=%d load=%g seed=%d max_gpus=%d",
			o.Jobs, o.Nodes, o.GPUsPerNode, o.Load, o.Seed, maxGPUs),
		Licence: "CC0-1.0",
		Jobs:    make([]workload.Job, o.Jobs), Actual: make([]workload.Actual, o.Jobs),
	}
	now, last := genBegin, int64(-1)
	var names intern
	for i := range w.Jobs {
		for {
			now += rng.ExpFloat64() / peak
			if rng.Float64()*(1+genSwing) <= rhythm(now) {
				break
			}
		}
		last = max(int64(now-genBegin), last+1)
		gpus := genSizes[pick(rng, weights)]
		duration := math.Round(min(max(math.Exp(genMu(gpus)+genSigma*rng.NormFloat64()), genMin), genMax))
		estimate := roundUp(duration * genFactors[pick(rng, genFactorWeights[:])])
		user := min(int(math.Pow(1-rng.Float64(), -1/genTail)), genUsers)
		w.Jobs[i] = workload.Job{
			ID: strconv.Itoa(i + 1), User: names.get("u" + itoa(user)), Team: names.get("team" + itoa(user%genTeams)),
			Submit: last * workload.Second, Need: workload.Need{GPUs: gpus}, Estimate: int64(estimate) * workload.Second,
		}
		w.Actual[i] = actual(int64(duration)*workload.Second, workload.OutcomeCompleted)
	}
	return w, nil
}

// rhythm is the arrival rate at a second of the week relative to its weekday
// mean: a peak at 15:00, a trough at 3:00, less at the weekend.
func rhythm(t float64) float64 {
	hour := math.Mod(t, 86400) / 3600
	s := 1 + genSwing*math.Sin((hour-9)/24*2*math.Pi)
	if int64(t/86400)%7 >= 5 {
		s *= genWeekend
	}
	return s
}

// rhythmSum is the integral of rhythm: whole weeks in closed form (the daily
// swing cancels out), the rest by the midpoint rule.
func rhythmSum(from, to float64) float64 {
	weeks := math.Floor((to - from) / genWeek)
	sum := weeks * 86400 * (5 + 2*genWeekend)
	from += weeks * genWeek
	n := math.Ceil((to-from)/60) + 1
	step := (to - from) / n
	for i := range int(n) {
		sum += step * rhythm(from+(float64(i)+0.5)*step)
	}
	return sum
}

// genMu is the mean of the logarithm of the duration of a job of that size.
func genMu(gpus int32) float64 {
	return math.Log(genMedian * (1 + genGrowth*math.Log2(float64(gpus))))
}

// meanArea is the expected GPU-seconds of a job, in closed form: the arrival
// rate then depends on the options alone, not on the jobs that were drawn.
// Durations are so skewed that one draw of 10,000 jobs may be 10 % off it.
func meanArea(weights []float64) float64 {
	var area, total float64
	for i, p := range weights {
		area += p * float64(genSizes[i]) * clippedMean(genMu(genSizes[i]), genSigma, genMin, genMax)
		total += p
	}
	return area / total
}

// clippedMean is the mean of a log-normal variable clipped to [lo, hi].
func clippedMean(mu, sigma, lo, hi float64) float64 {
	phi := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
	a, b := (math.Log(lo)-mu)/sigma, (math.Log(hi)-mu)/sigma
	return lo*phi(a) + math.Exp(mu+sigma*sigma/2)*(phi(b-sigma)-phi(a-sigma)) + hi*(1-phi(b))
}

// pick draws an index by weight.
func pick(rng *rand.Rand, weights []float64) int {
	var total float64
	for _, p := range weights {
		total += p
	}
	x := rng.Float64() * total
	for i, p := range weights {
		if x -= p; x < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// roundUp is the next limit that people choose; whole hours beyond the last.
func roundUp(s float64) float64 {
	for _, r := range genRound {
		if r >= s {
			return r
		}
	}
	return math.Ceil(s/3600) * 3600
}
