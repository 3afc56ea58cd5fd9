package engine

import (
	"math"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// shares counts past usage by account for the fair-share factor of the
// multifactor order: usage decays by half each half-life, on the grid of the
// policy's interval, so that every world computes the same numbers.
type shares struct {
	m      *policy.Multifactor
	number map[string]int
	usage  []float64 // GPU-seconds, decayed
	total  float64
	// accounts is the number of accounts known at the last grid time, ended are the
	// runs that ended since.
	accounts int
	ended    []int32
	at       workload.Time
	// counted is the attained service of each job that usage already has.
	counted []int64
}

const unset workload.Time = -1 << 63

func newShares(m *policy.Multifactor) *shares {
	return &shares{m: m, number: map[string]int{}, at: unset}
}

func (s *shares) account(j *workload.Job) string {
	if s.m.ByUser {
		return j.User
	}
	return j.Team
}

// index numbers accounts in the order in which they first appear.
func (s *shares) index(j *workload.Job) int {
	a := s.account(j)
	i, ok := s.number[a]
	if !ok {
		i = len(s.usage)
		s.number[a] = i
		s.usage = append(s.usage, 0)
	}
	return i
}

// factor is 2^(-usage/share) with usage as a part of all usage and equal shares.
func (s *shares) factor(j *workload.Job) float64 {
	i := s.index(j)
	if s.total <= 0 {
		return 1
	}
	return math.Exp2(-float64(float64(s.usage[i]/s.total) * float64(s.accounts)))
}

// decayShares brings usage up to the last grid time.
func (e *Engine) decayShares(now workload.Time) {
	s := e.order.shares
	grid := e.order.interval
	if grid == 0 {
		grid = workload.Minute
	}
	last := now - now%grid
	if s.at == unset {
		s.at = last - grid
	}
	decay := 1.0
	if s.m.HalfLife > 0 {
		decay = math.Exp2(-float64(float64(grid) / float64(s.m.HalfLife)))
	}
	if s.at < last {
		s.accounts = len(s.usage)
	}
	// Step by step, so that it does not matter at which of them it is asked.
	for s.at < last {
		if s.idle() && e.gauge.runningJobs == 0 && len(s.ended) == 0 {
			s.at = last
			break
		}
		s.at += grid
		for i := range s.usage {
			if s.usage[i] = float64(s.usage[i] * decay); s.usage[i] < forgotten {
				s.usage[i] = 0
			}
		}
		for _, n := range s.ended {
			e.charge(n, s.at)
		}
		s.ended = s.ended[:0]
		for p := range e.pools {
			for _, n := range e.pools[p].running {
				e.charge(n, s.at)
			}
		}
	}
	s.total = 0
	for _, u := range s.usage {
		s.total += u
	}
}

// forgotten is a usage that counts as none, in GPU-seconds.
const forgotten = 1e-6

func (s *shares) idle() bool {
	for _, u := range s.usage {
		if u > 0 {
			return false
		}
	}
	return true
}

// charge adds to the account of a job what it has had since it was last charged.
func (e *Engine) charge(n int32, at workload.Time) {
	s := e.order.shares
	j := &e.jobs[n]
	for len(s.counted) < len(e.jobs) {
		s.counted = append(s.counted, 0)
	}
	had := j.attained
	if (j.state == running || j.state == starting || j.state == stopping) && at > j.since {
		had += j.milli * (at - j.since)
	}
	if had > s.counted[n] {
		s.usage[s.index(j.spec)] += float64(had-s.counted[n]) / 1e6
		s.counted[n] = had
	}
}

// multifactor is the weighted sum of Slurm's factors, each in 0..1.
func (e *Engine) multifactor(t *policy.Term, n int32, now workload.Time) float64 {
	m := &t.Multifactor
	s := e.jobs[n].spec
	var sum float64
	if m.Age > 0 && m.MaxAge > 0 {
		sum += float64(m.Age * math.Min(float64(max(now-s.Submit, 0))/float64(m.MaxAge), 1))
	}
	if m.JobSize > 0 {
		size := gpus(e.classes[e.jobs[n].class].shape.Milli) / math.Max(gpus(e.gauge.installed), 1)
		if m.FavorSmall {
			size = 1 - size
		}
		sum += float64(m.JobSize * size)
	}
	if m.Priority > 0 && m.MaxPriority > 0 {
		sum += float64(m.Priority * math.Min(math.Max(float64(s.Priority)/float64(m.MaxPriority), 0), 1))
	}
	if m.FairShare > 0 {
		sum += float64(m.FairShare * e.order.shares.factor(s))
	}
	return sum
}
