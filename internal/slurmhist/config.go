package slurmhist

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

func stamp(ms workload.Time) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// PolicyName is what the policy that Slurm ran is called, as far as it can be modelled.
const PolicyName = "slurm"

// Modelled says what of Slurm's configuration went into the policy of the replay.
type Modelled struct {
	// Of is "scontrol show config", or "the shipped policy" where nothing was told.
	Of string `json:"of"`
	// Yes are settings that are modelled, No those that are not.
	Yes []string `json:"modelled"`
	No  []string `json:"not_modelled"`
}

// Policy is the policy that Slurm ran, as far as it can be modelled.
func (s *Site) Policy() (*policy.Policy, Modelled, error) {
	m := Modelled{Of: "the shipped policy multifactor: nothing tells how Slurm was configured", Yes: []string{}, No: []string{}}
	name := "multifactor"
	if s.Config == nil {
		p, _ := policy.Shipped(name)
		p.Name = PolicyName
		m.Yes = append(m.Yes, "order by age, size and fair share with guessed weights", "backfill")
		p.Order[0].Multifactor.Priority = 0 // what Slurm computed is no QOS
		return finish(p, m)
	}
	m.Of = "scontrol show config"
	c := s.Config
	basic := strings.HasSuffix(c["PriorityType"], "basic")
	if basic {
		name = "easy"
		m.Yes = append(m.Yes, "PriorityType=priority/basic: by submission")
	}
	p, _ := policy.Shipped(name)
	p.Name = PolicyName
	if !basic {
		s.weights(p, &m)
	}
	switch c["SchedulerType"] {
	case "sched/builtin":
		p.Blocking, p.Depth = policy.Strict, 0
		m.Yes = append(m.Yes, "SchedulerType=sched/builtin: nothing passes a job that does not fit")
	default:
		m.Yes = append(m.Yes, "SchedulerType=sched/backfill: what does not delay the first job may pass it")
	}
	if v := c["SchedulerParameters"]; v != "" && v != "(null)" {
		m.No = append(m.No, "SchedulerParameters="+v)
	}
	if v := c["PreemptType"]; v != "" && v != "preempt/none" && v != "(null)" {
		m.No = append(m.No, "PreemptType="+v+", PreemptMode="+c["PreemptMode"])
	}
	return finish(p, m)
}

// finish makes a policy of its own text, so that it has the hash that the file has.
func finish(p *policy.Policy, m Modelled) (*policy.Policy, Modelled, error) {
	p.Description = "The policy that Slurm ran, as far as it can be modelled."
	p.Source = "import of Slurm's history"
	p.Estimates.Model = policy.EstimateLimit // Slurm knows nothing else
	out, err := policy.Parse(PolicyName+".yaml", p.YAML())
	return out, m, err
}

// weights takes those that have a counterpart.
func (s *Site) weights(p *policy.Policy, m *Modelled) {
	c := s.Config
	f := &p.Order[0].Multifactor
	*f = policy.Multifactor{MaxAge: f.MaxAge, HalfLife: f.HalfLife}
	weight := func(key string, to *float64) {
		if v, err := strconv.ParseFloat(c[key], 64); err == nil && v > 0 && !math.IsInf(v, 0) {
			*to = v
			m.Yes = append(m.Yes, key+"="+c[key])
		}
	}
	weight("PriorityWeightAge", &f.Age)
	weight("PriorityWeightJobSize", &f.JobSize)
	weight("PriorityWeightFairShare", &f.FairShare)
	if f.FairShare > 0 {
		m.No = append(m.No, "shares of accounts and the tree of them in fair share: accounts have equal shares")
	}
	var most int64
	for _, v := range s.QOS {
		most = max(most, v)
	}
	if most > 0 {
		weight("PriorityWeightQOS", &f.Priority)
		f.MaxPriority = most
	}
	for _, key := range []string{"PriorityWeightQOS", "PriorityWeightPartition", "PriorityWeightAssoc", "PriorityWeightTRES"} {
		if v := c[key]; v != "" && v != "0" && v != "(null)" && (key != "PriorityWeightQOS" || f.Priority == 0) {
			m.No = append(m.No, key+"="+v)
		}
	}
	for _, x := range []struct {
		key string
		to  *workload.Span
	}{{"PriorityMaxAge", &f.MaxAge}, {"PriorityDecayHalfLife", &f.HalfLife}, {"PriorityCalcPeriod", &p.Interval}} {
		if d, ok := slurmSpan(c[x.key]); ok && d > 0 {
			*x.to = d
			m.Yes = append(m.Yes, x.key+"="+c[x.key])
		}
	}
	if f.FavorSmall = strings.EqualFold(c["PriorityFavorSmall"], "yes"); f.FavorSmall {
		m.Yes = append(m.Yes, "PriorityFavorSmall=yes")
	}
	if v := c["PriorityFlags"]; v != "" && v != "(null)" {
		m.No = append(m.No, "PriorityFlags="+v)
	}
	if f.Age+f.JobSize+f.Priority+f.FairShare == 0 {
		f.Age = 1 // no weight at all is by submission, as age is
		m.Yes = append(m.Yes, "no weight that is modelled: by age")
	}
}

// slurmSpan reads D-HH:MM:SS and HH:MM:SS.
func slurmSpan(s string) (workload.Span, bool) {
	var days, h, m, sec int64
	rest := s
	if d, after, ok := strings.Cut(s, "-"); ok {
		if _, err := fmt.Sscanf(d, "%d", &days); err != nil {
			return 0, false
		}
		rest = after
	}
	if n, err := fmt.Sscanf(rest, "%d:%d:%d", &h, &m, &sec); err != nil || n != 3 || days < 0 || days > 1e6 || h < 0 || m < 0 || sec < 0 || h > 1e6 {
		return 0, false
	}
	return days*workload.Day + h*workload.Hour + m*workload.Minute + sec*workload.Second, true
}
