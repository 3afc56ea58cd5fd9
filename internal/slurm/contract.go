package slurm

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// ContractPrefix begins what is for escala in a comment; other text may stand before it, after a blank, and behind it.
const ContractPrefix = "escala:"

// Terms are what somebody said of a job, and what not: [Terms.Or] joins those of several. They can be compared.
type Terms struct {
	said     terms
	contract workload.Contract
	estimate workload.Span
	team     string
	kind     workload.Kind
	priority int64
	signal   Signal
}

// terms are a set of what was said.
type terms uint16

const (
	saidMinRuntime terms = 1 << iota
	saidCheckpoint
	saidRestartCost
	saidGrace
	saidResumable
	saidEstimate
	saidTeam
	saidKind
	saidPriority
	saidSignal
)

// contractKeys are the words of a comment.
var contractKeys = []string{"min-runtime", "checkpoint-interval", "restart-cost", "grace", "checkpoint-on-stop", "resumable", "estimate", "team", "signal"}

// ParseContract reads what the comment of a job says for escala: --comment "escala:min-runtime=2h,grace=90s". What it does
// not know is an error, and nothing of it is taken: half a contract would be another one.
func ParseContract(comment string) (t Terms, err error) {
	at := strings.Index(" "+comment, " "+ContractPrefix)
	if at < 0 {
		return t, nil
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
		if err := t.set(key, value); err != nil {
			return Terms{}, err
		}
	}
	return t.graceOfSignal(), nil
}

func (t *Terms) set(key, value string) (err error) {
	c := &t.contract
	switch key {
	case "min-runtime":
		t.said |= saidMinRuntime
		c.HasMinRuntime = true
		c.MinRuntime, err = length(key, value)
	case "checkpoint-interval":
		t.said |= saidCheckpoint
		c.CheckpointInterval, err = length(key, value)
	case "restart-cost":
		t.said |= saidRestartCost
		c.RestartCost, err = length(key, value)
	case "grace":
		t.said |= saidGrace
		c.Grace, err = length(key, value)
	case "estimate":
		t.said |= saidEstimate
		t.estimate, err = length(key, value)
	case "checkpoint-on-stop":
		t.said |= saidCheckpoint
		c.CheckpointOnStop, err = yes(key, value)
	case "resumable":
		t.said |= saidResumable
		var is bool
		is, err = yes(key, value)
		c.NotResumable = !is
	case "team":
		t.said |= saidTeam
		if t.team = value; value == "" {
			err = fmt.Errorf("team= names nobody")
		}
	case "signal":
		t.said |= saidSignal
		t.signal, err = ParseSignal(value)
	default:
		err = fmt.Errorf("%q is not known; %s", key, yamlx.Choice(key, contractKeys))
	}
	return err
}

func length(key, value string) (workload.Span, error) {
	if value == "0" {
		return 0, nil
	}
	v, err := yamlx.ParseDuration(value)
	if err != nil {
		return 0, fmt.Errorf("%s=%s is no length of time, such as 90m or 2h", key, value)
	}
	return workload.Span(v), nil
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

// Or is what these terms say, and beside that what others do. What a job keeps when it is stopped is one thing: who
// speaks of checkpoints at intervals is not taken to save on a stop because somebody else said so.
func (t Terms) Or(other Terms) Terms {
	missing := other.said &^ t.said
	for _, x := range []struct {
		what terms
		take func()
	}{
		{saidMinRuntime, func() { t.contract.HasMinRuntime, t.contract.MinRuntime = true, other.contract.MinRuntime }},
		{saidCheckpoint, func() {
			t.contract.CheckpointInterval, t.contract.CheckpointOnStop = other.contract.CheckpointInterval, other.contract.CheckpointOnStop
		}},
		{saidRestartCost, func() { t.contract.RestartCost = other.contract.RestartCost }},
		{saidGrace, func() { t.contract.Grace = other.contract.Grace }},
		{saidResumable, func() { t.contract.NotResumable = other.contract.NotResumable }},
		{saidEstimate, func() { t.estimate = other.estimate }},
		{saidTeam, func() { t.team = other.team }},
		{saidKind, func() { t.kind = other.kind }},
		{saidPriority, func() { t.priority = other.priority }},
		{saidSignal, func() { t.signal = other.signal }},
	} {
		if missing&x.what != 0 {
			x.take()
		}
	}
	t.said |= missing
	return t
}

// WithSignal adds what a job asked Slurm for by --signal, unless they name a signal themselves.
func (t Terms) WithSignal(s Signal) Terms {
	if s.Name == "" || t.said&saidSignal != 0 {
		return t
	}
	t.said |= saidSignal
	t.signal = s
	return t.graceOfSignal()
}

// graceOfSignal: as long before its end as a job wants its signal, it takes to stop, where it does not say how long that is.
func (t Terms) graceOfSignal() Terms {
	if t.said&saidSignal != 0 && t.said&saidGrace == 0 {
		t.said |= saidGrace
		t.contract.Grace = t.signal.Before.Milliseconds()
	}
	return t
}

// Signal that a job wants to be stopped by, the zero one where nobody says.
func (t Terms) Signal() Signal { return t.signal }

// Priority that a site gives, 0 where it gives none: no job can say it of itself.
func (t Terms) Priority() int64 { return t.priority }

// Apply has a job be what they say. What nobody said is left as it is.
func (t Terms) Apply(j *workload.Job) {
	j.Contract, j.Estimate = t.contract, t.estimate
	if t.said&saidTeam != 0 {
		j.Team = t.team
	}
	if t.said&saidKind != 0 {
		j.Kind = t.kind
	}
	if t.said&saidPriority != 0 {
		j.Priority = t.priority
	}
}
