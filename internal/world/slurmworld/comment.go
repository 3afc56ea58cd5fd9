package slurmworld

import (
	"fmt"
	"strings"
	"time"

	"github.com/escala-sched/escala/workload"
)

// Contracts stand in the comment of a job: --comment "escala:min-runtime=2h,checkpoint-interval=30m".

// prefix of what is for escala in a comment; more may stand before it, after a blank.
const prefix = "escala:"

// commentKeys are the keys that a comment may have.
const commentKeys = "min-runtime, checkpoint-interval, restart-cost, grace, checkpoint-on-stop, resumable, estimate, team"

// declared is what a comment says of a job.
type declared struct {
	contract workload.Contract
	estimate workload.Span
	team     string
}

// parseComment reads a comment. What it does not know is an error, and nothing of it is taken: half a
// contract would be another one.
func parseComment(comment string) (d declared, err error) {
	at := strings.Index(" "+comment, " "+prefix)
	if at < 0 {
		return d, nil
	}
	text, _, _ := strings.Cut(comment[at+len(prefix):], " ")
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
		c.MinRuntime, err = span(key, value)
	case "checkpoint-interval":
		c.CheckpointInterval, err = span(key, value)
	case "restart-cost":
		c.RestartCost, err = span(key, value)
	case "grace":
		c.Grace, err = span(key, value)
	case "estimate":
		d.estimate, err = span(key, value)
	case "checkpoint-on-stop":
		c.CheckpointOnStop, err = yes(key, value)
	case "resumable":
		var is bool
		is, err = yes(key, value)
		c.NotResumable = !is
	case "team":
		if d.team = value; value == "" {
			err = fmt.Errorf("comment: team= names nobody")
		}
	default:
		err = fmt.Errorf("comment: there is no %q; there are %s", key, commentKeys)
	}
	return err
}

func span(key, value string) (workload.Span, error) {
	if value == "0" {
		return 0, nil
	}
	v, err := time.ParseDuration(value)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("comment: %s=%s is no length of time, such as 90m or 2h", key, value)
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
	return false, fmt.Errorf("comment: %s=%s is neither yes nor no", key, value)
}
