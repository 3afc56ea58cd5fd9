package cli

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// runReport is the present run of a job.
type runReport struct {
	Attempt int32       `json:"attempt"`
	Decided float64     `json:"decided"`
	GPUs    float64     `json:"gpus"`
	Place   []nodeShare `json:"place"`
	Why     whyReport   `json:"why"`
	// Resized is when and why a real-time application got its present GPUs; absent where
	// it has those of its start.
	Resized *resizeReport `json:"resized,omitempty"`
	// Protected is until when it is safe, or was; absent where it was not.
	Protected *float64 `json:"protectedUntil,omitempty"`
	// Allocated is absent under policies without budgets.
	Allocated *bool `json:"allocated,omitempty"`
	// Charged is the path of the account, "" for nobody.
	Charged string `json:"charged"`
}

// resizeReport is the last change of a run's GPUs.
type resizeReport struct {
	At  float64   `json:"at"`
	Why whyReport `json:"why"`
}

// nodeShare is what a run has of a node.
type nodeShare struct {
	Node string `json:"node"`
	GPUs string `json:"gpus"`
	// Part of each of these GPUs, in thousandths.
	Milli int32 `json:"milli"`
}

func (x *explainer) run(r *jobRun) *runReport {
	out := &runReport{Attempt: r.start.Attempt, Decided: inSeconds(r.start.At), GPUs: float64(r.place().Milli) / 1000, Place: x.places(r.place().Place),
		Why: *x.why(r.start.Reason)}
	if r.resized != nil {
		out.Resized = &resizeReport{At: inSeconds(r.resized.At), Why: *x.why(r.resized.Reason)}
	}
	a := x.found.Account
	if a == nil {
		return out
	}
	allocated := !r.unallocated
	out.Allocated = &allocated
	if allocated && a.Leaf >= 0 {
		out.Charged = a.Tree.Nodes[a.Leaf].Path
	}
	if until := max(x.found.Protected, r.start.Until); allocated && until > 0 {
		t := inSeconds(until)
		out.Protected = &t
	}
	return out
}

// places names the nodes of a place.
func (x *explainer) places(grants []fact.Grant) []nodeShare {
	out := []nodeShare{}
	for i := range grants {
		g := &grants[i]
		out = append(out, nodeShare{x.header.Cluster.Nodes[g.Node].Name, setText(g.GPUs), g.Milli})
	}
	return out
}

// setText writes a set of GPUs as ranges: 0-3,6.
func setText(set uint64) string {
	var parts []string
	for set != 0 {
		from := bits.TrailingZeros64(set)
		n := bits.TrailingZeros64(^(set >> from))
		part := fmt.Sprint(from)
		if n > 1 {
			part += fmt.Sprintf("-%d", from+n-1)
		}
		parts = append(parts, part)
		if from+n >= 64 {
			break
		}
		set &^= 1<<(from+n) - 1
	}
	return strings.Join(parts, ",")
}

// stopReport is the last run of a job that was stopped.
type stopReport struct {
	Attempt int32 `json:"attempt"`
	// Cause is how it ended as the journal says, "" while it is leaving; Rule is what
	// made it give way.
	Cause string    `json:"cause"`
	Rule  string    `json:"rule"`
	Text  string    `json:"text"`
	Why   whyReport `json:"why"`
	// By is absent where it was stopped for no other job.
	By *jobBrief `json:"by,omitempty"`
	// Decided is absent where it lost its node; Left while it is leaving.
	Decided *float64 `json:"decided,omitempty"`
	Left    *float64 `json:"left,omitempty"`
	// Ran for, and lost: seconds of run time, and the same in GPU-hours. Restart is what
	// its next start pays.
	Ran     float64 `json:"ran"`
	Lost    float64 `json:"lost"`
	LostGPU float64 `json:"lostGPUHours"`
	Restart float64 `json:"restartCost"`
	// Before the stop, and After the winner's start was decided.
	Before *compareReport `json:"before,omitempty"`
	After  *compareReport `json:"after,omitempty"`
}

func (x *explainer) stopped(r *jobRun) *stopReport {
	out := &stopReport{Attempt: r.start.Attempt}
	end := x.folded.Now
	if r.left != workload.Unknown {
		left := inSeconds(r.left)
		out.Left, out.Cause, end = &left, r.end.Cause.String(), r.left
		out.Lost, out.LostGPU = inSeconds(r.end.Lost), gpuHours(r.end.Lost*r.place().Milli)
		if out.Cause == "" { // it came to its end before it was gone
			out.Cause = r.end.Outcome.String()
		}
	}
	if r.confirmed != workload.Unknown {
		out.Ran = inSeconds(end - r.confirmed)
	}
	c := x.history.jobs[x.history.number].spec.Contract
	if out.Restart = inSeconds(c.RestartCost); c.RestartCost == 0 {
		out.Restart = inSeconds(x.header.Assume.RestartCost)
	}
	if r.stop == nil {
		out.Rule, out.Text = "node-failure", "Its node failed."
		out.Why = whyReport{Code: out.Rule, Text: out.Text}
		return out
	}
	a := &r.stop.action
	decided := inSeconds(a.At)
	out.Decided = &decided
	if a.For >= 0 {
		by := x.brief(a.For)
		out.By = &by
	}
	rule := x.gaveWay(r)
	out.Rule, out.Text = rule.code, rule.text
	out.Why = reasonOf(a.Reason, rule.text)
	out.Before, out.After = x.compared(r.stop.before), x.compared(r.stop.after)
	return out
}

// gaveWay says by which rule a run was stopped.
func (x *explainer) gaveWay(r *jobRun) rule {
	a, p := &r.stop.action, x.header.Policy
	switch a.Reason.Code {
	case fact.Withdrawn:
		return rule{"withdrawn", report.Sentence(a.Reason, x)}
	case fact.Drained:
		return rule{"drain", report.Sentence(a.Reason, x)}
	case fact.Idle:
		return rule{"idle", report.Sentence(a.Reason, x)}
	case fact.DateCame:
		return rule{"date", report.Sentence(a.Reason, x)}
	case fact.GaveWay:
	default:
		return rule{a.Reason.Code.String(), report.Sentence(a.Reason, x)}
	}
	if p.Sharing == nil {
		if p.Preemption.By == policy.PreemptPriority {
			j, by := x.history.jobs[a.Job].spec, x.history.jobs[a.For].spec
			return rule{"priority", fmt.Sprintf("The policy stops lower priority for higher: %d gave way to %d.", j.Priority, by.Priority)}
		}
		return rule{"order", fmt.Sprintf("The policy stops what is behind in its order, by %s.", p.Order[0].Kind)}
	}
	if r.unallocated {
		return rule{"unallocated", report.StopSentence(a.Reason, true, x)}
	}
	b := r.stop.before
	switch {
	case b == nil:
		return rule{"guard", "The guard of the policy let it be stopped."}
	case b.winner.Leaf == b.victim.Leaf:
		return rule{"in-team", fmt.Sprintf("Both are charged to %s, where higher priority may stop lower.", b.victim.Tree.Nodes[b.victim.Leaf].Path)}
	}
	w, v := fork(b.winner, b.victim)
	winner, victim := b.winner.Tree.Nodes[w.Node].Name, b.victim.Tree.Nodes[v.Node].Name
	if p.Sharing.Guard == policy.GuardEntitlement {
		return rule{"guard", fmt.Sprintf("The guard let it: %s held more than its share, and %s no more than its own with this start.", victim, winner)}
	}
	return rule{"guard", fmt.Sprintf("The guard let it: its protection was over, and with this start, times %s, %s is still served less for its share than %s.",
		trimNumber(float64(p.Sharing.Hysteresis)/1000, 3), winner, victim)}
}
