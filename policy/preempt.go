package policy

import (
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// preemptable are the first terms under which preemption by order makes sense:
// those that do not change while a job waits. Under the others two jobs would
// stop each other in turn, or (submit) nothing would ever be stopped.
var preemptable = []TermKind{ByPriority, ByEstimate, ByGPUs, ByArea, ByRemaining, ByRemainingArea, ByAttained, ByDeadline}

func takePreemption(p *Policy, f *file, root *yamlx.Node) error {
	at := root.At("preemption")
	if f.Preemption.By != nil {
		p.Preemption.By = PreemptBy(*f.Preemption.By)
	}
	if p.Preemption.By == PreemptNone {
		if f.Preemption.CrossTeam != nil {
			return at.At("crossTeam").Errorf("drop it, or use by: priority or by: order", "preemption none stops nobody")
		}
		if f.Preemption.Spare != nil {
			return at.At("spare").Errorf("drop it, or use by: priority or by: order", "preemption none stops nobody")
		}
		return nil
	}
	if err := takeSpare(p, f, at); err != nil {
		return err
	}
	p.Preemption.CrossTeam = f.Preemption.CrossTeam == nil || *f.Preemption.CrossTeam
	if p.Blocking == EASY || p.Blocking == Conservative {
		// A reservation promises GPUs by predicted ends, preemption takes them at once: each would undo the other.
		return at.At("by").Errorf("use blocking strict or skip, or preemption none", "blocking %s and preemption %s do not go together", p.Blocking, p.Preemption.By)
	}
	if p.Preemption.By != PreemptOrder {
		return nil
	}
	first := &p.Order[0]
	if !slices.Contains(preemptable, first.Kind) {
		var names []string
		for _, k := range preemptable {
			names = append(names, k.String())
		}
		return at.At("by").Errorf("put one of "+strings.Join(names, ", ")+" first", "preemption by order cannot go by %s", first.Kind)
	}
	if first.Descending && (first.Kind == ByRemaining || first.Kind == ByRemainingArea) {
		return root.At("order", 0).Errorf("drop descending", "preemption by order stops the job with more remaining, never the one with less")
	}
	return nil
}

func takeSpare(p *Policy, f *file, at *yamlx.Node) error {
	l := f.Preemption.Spare
	switch {
	case l == nil:
		return nil
	case l.Label == "":
		return at.At("spare", "label").Errorf(`name it, such as spare: {label: preemptible, value: "no"}`, "spare has no label")
	case at.At("spare").Get("value") == nil:
		return at.At("spare").Errorf(`give it, such as spare: {label: preemptible, value: "no"}`, "spare has no value for label %s", l.Label)
	}
	p.Preemption.Spare = &Label{Key: l.Label, Value: l.Value}
	return nil
}

func takeLimit(p *Policy, f *file, root *yamlx.Node) error {
	at := root.At("limit")
	switch {
	case f.Limit == nil:
		return nil
	case f.Limit.TeamUnpreemptible == nil:
		return at.Errorf("give teamUnpreemptible, or drop it", "this limit limits nothing")
	case p.Preemption.Spare == nil:
		return at.At("teamUnpreemptible").Errorf("say which jobs those are, with preemption.spare, or drop it", "no job is unpreemptible under this policy")
	case *f.Limit.TeamUnpreemptible == 0:
		return at.At("teamUnpreemptible").Errorf("want more than 0%; without the limit there is no cap", "no such job could ever start")
	}
	p.Limit.TeamUnpreemptible = int64(*f.Limit.TeamUnpreemptible)
	return nil
}
