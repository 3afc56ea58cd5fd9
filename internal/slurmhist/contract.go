package slurmhist

import (
	"fmt"
	"strings"
	"time"

	"github.com/escala-sched/escala/workload"
)

// declared is what the comment of a job says for escala: "escala:min-runtime=2h,grace=90s". The
// words are those of docs/slurm.md.
type declared struct {
	contract workload.Contract
	estimate workload.Span
	team     string
}

const commentPrefix = "escala:"

// parseComment reads a comment. What it does not know is an error, and nothing of it is taken: half
// a contract would be another one.
func parseComment(comment string) (d declared, err error) {
	at := strings.Index(" "+comment, " "+commentPrefix)
	if at < 0 {
		return d, nil
	}
	text := comment[at+len(commentPrefix):]
	if end := strings.IndexAny(text, " \t\n"); end >= 0 {
		text = text[:end]
	}
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		key, value, _ := strings.Cut(item, "=")
		if err := d.set(key, value); err != nil {
			return declared{}, err
		}
	}
	return d, nil
}

func (d *declared) set(key, value string) (err error) {
	c := &d.contract
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
		d.estimate, err = length(key, value)
	case "checkpoint-on-stop":
		c.CheckpointOnStop, err = yes(key, value)
	case "resumable":
		var is bool
		is, err = yes(key, value)
		c.NotResumable = !is
	case "team":
		if d.team = value; value == "" {
			err = fmt.Errorf("team= names nobody")
		}
	default:
		err = fmt.Errorf("there is no %q", key)
	}
	return err
}

func length(key, value string) (workload.Span, error) {
	if value == "0" {
		return 0, nil
	}
	v, err := time.ParseDuration(value)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%s=%s is no length of time", key, value)
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

// fill gives a contract what a site takes for those that do not say.
func fill(c, site workload.Contract) workload.Contract {
	if !c.HasMinRuntime && site.HasMinRuntime {
		c.HasMinRuntime, c.MinRuntime = true, site.MinRuntime
	}
	if c.CheckpointInterval == 0 && !c.CheckpointOnStop {
		c.CheckpointInterval, c.CheckpointOnStop = site.CheckpointInterval, site.CheckpointOnStop
	}
	if c.RestartCost == 0 {
		c.RestartCost = site.RestartCost
	}
	if c.Grace == 0 {
		c.Grace = site.Grace
	}
	return c
}

// kept is how much of a run's work is safe when it ends with the job back in the queue. asked: it
// was asked to stop, which a failed node is not.
func kept(c workload.Contract, ran workload.Span, asked bool) workload.Span {
	switch {
	case c.CheckpointOnStop && asked:
		return ran
	case c.CheckpointInterval > 0:
		return ran - ran%c.CheckpointInterval
	}
	return 0
}
