package slurm

import (
	"fmt"
	"strings"
	"time"

	"github.com/escala-sched/escala/workload"
)

// ContractPrefix begins what is for escala in a comment; other text may stand before it, after a blank, and behind it.
const ContractPrefix = "escala:"

// contractKeys are the keys that a comment may have.
const contractKeys = "min-runtime, checkpoint-interval, restart-cost, grace, checkpoint-on-stop, resumable, estimate, team"

// Declared is what the comment of a job says for escala: --comment "escala:min-runtime=2h,grace=90s".
type Declared struct {
	Contract workload.Contract
	Estimate workload.Span
	// Team is another account of the budgets than the job's own, "" = it names none.
	Team string
}

// ParseContract reads a comment. What it does not know is an error, and nothing of it is taken: half a
// contract would be another one.
func ParseContract(comment string) (d Declared, err error) {
	at := strings.Index(" "+comment, " "+ContractPrefix)
	if at < 0 {
		return d, nil
	}
	text := comment[at+len(ContractPrefix):]
	if end := strings.IndexAny(text, " \t\n"); end >= 0 {
		text = text[:end]
	}
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		key, value, _ := strings.Cut(item, "=")
		if err := d.set(key, value); err != nil {
			return Declared{}, err
		}
	}
	return d, nil
}

func (d *Declared) set(key, value string) (err error) {
	c := &d.Contract
	switch key {
	case "min-runtime":
		c.HasMinRuntime = true
		c.MinRuntime, err = length(key, value)
	case "checkpoint-interval":
		c.CheckpointInterval, err = length(key, value)
	case "restart-cost":
		c.RestartCost, err = length(key, value)
	case "grace":
		c.Grace, err = length(key, value)
	case "estimate":
		d.Estimate, err = length(key, value)
	case "checkpoint-on-stop":
		c.CheckpointOnStop, err = yes(key, value)
	case "resumable":
		var is bool
		is, err = yes(key, value)
		c.NotResumable = !is
	case "team":
		if d.Team = value; value == "" {
			err = fmt.Errorf("team= names nobody")
		}
	default:
		err = fmt.Errorf("there is no %q; there are %s", key, contractKeys)
	}
	return err
}

func length(key, value string) (workload.Span, error) {
	if value == "0" {
		return 0, nil
	}
	v, err := time.ParseDuration(value)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%s=%s is no length of time, such as 90m or 2h", key, value)
	}
	return v.Milliseconds(), nil
}

func yes(key, value string) (bool, error) {
	switch value {
	case "", "yes", "true":
		return true, nil
	case "no", "false":
		return false, nil
	}
	return false, fmt.Errorf("%s=%s is neither yes nor no", key, value)
}
