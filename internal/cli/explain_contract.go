package cli

import (
	"fmt"
	"slices"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// guardText says why the guard of a window does not let a job stop others.
func (x *explainer) guardText() string {
	p := x.header.Policy.Sharing
	times := ""
	if p.Hysteresis != 1000 {
		times = fmt.Sprintf(", and all of it times %s", trimNumber(float64(p.Hysteresis)/1000, 3))
	}
	return fmt.Sprintf("Others could be stopped, but not for it: with its own start counted (%s x %s of protection%s) its account would be served no less than theirs, or they are below their share themselves.",
		gpusText(x.found.Need), spanText(x.protection()), times)
}

// protection is what the next start of the job would have (SEMANTICS 30).
func (x *explainer) protection() workload.Span {
	p := x.header.Policy.Sharing
	d := min(x.declares(x.history.number), p.MinRuntimeCap)
	for k := int32(0); p.BackOff && d > 0 && k < x.found.Stops && d < p.MinRuntimeCap; k++ {
		d = min(2*d, p.MinRuntimeCap)
	}
	return d
}

// undated says why a waiting job that is large enough for a date has none; nil for
// others.
func (x *explainer) undated() *whyReport {
	a := x.found.Account
	if a == nil || x.found.Fill || a.Leaf < 0 {
		return nil
	}
	r := &x.header.Policy.Sharing.Reservations
	if int64(x.found.Need) <= r.Above {
		return nil
	}
	share, _ := a.Tree.ProductShare(a.Leaf)
	switch {
	case r.Count == 0:
		return &whyReport{"none", "The policy makes no dates."}
	case share == 0:
		return &whyReport{"share", "Its account has no share, and so no date."}
	case !r.AnyAccount && a.Standing != budget.Entitled:
		return &whyReport{"standing", "The policy gives dates only to accounts below their share."}
	}
	if text := x.datesGiven(); text != "" {
		return &whyReport{"count", text}
	}
	return &whyReport{"uncertain", "No place that is large enough is certain to be clear at any time yet."}
}

// datesGiven says that no date is left, "" where one is or that cannot be told:
// where nodes differ, it would have to be known which of them it may use.
func (x *explainer) datesGiven() string {
	h := x.history
	r := &x.header.Policy.Sharing.Reservations
	nodes := x.header.Cluster.Nodes
	taken := 0
	for _, place := range h.dates {
		taken += len(place)
	}
	most := int32(1)
	for i := range nodes {
		if n := &nodes[i]; n.GPUType != nodes[0].GPUType || !slices.Equal(n.Partitions, nodes[0].Partitions) {
			return ""
		}
		most = max(most, nodes[i].GPUs)
	}
	if len(h.dates) >= r.Count {
		return fmt.Sprintf("As many dates as the policy makes are given already (%d).", len(h.dates))
	}
	own := int((x.found.Need + most - 1) / most)
	if len(nodes) > 0 && int64(taken+own) > int64(len(nodes))*r.Nodes/1000 {
		return fmt.Sprintf("Dates may have %s of the %d nodes together: %d are given already, and it needs %d.", percent(float64(r.Nodes)/1000), len(nodes), taken, own)
	}
	return ""
}

// fillRank is the position of a job among all that wait unallocated, which come after
// all others.
func (x *explainer) fillRank() (rank, of int) {
	at := x.found
	rank = 1
	for len(at.Ahead) > 0 {
		k := len(at.Ahead) - 1
		for k >= 0 && x.waitsToFill(at.Ahead[k]) {
			rank++
			k--
		}
		if k >= 0 {
			break
		}
		at, _ = x.folded.Engine.Explain(at.Ahead[0])
	}
	return rank, x.found.Waiting - (x.found.Rank - rank)
}

// waitsToFill tells whether the next start of a job would be charged to nobody.
func (x *explainer) waitsToFill(n int32) bool {
	j := x.history.jobs[n].spec
	_, ok := x.found.Account.Tree.Leaf(j.Team, j.User)
	return !ok || x.declares(n) == 0
}

// ranReport is what the last run of a job was.
type ranReport struct {
	Allocated bool `json:"allocated"`
	// Charged is the path of the account, "" for nobody. Uncharged is when a hard
	// budget that was used up ended the charge.
	Charged   string   `json:"charged"`
	Uncharged *float64 `json:"uncharged,omitempty"`
}

func (x *explainer) ran(r *jobRun) *ranReport {
	a := x.found.Account
	if a == nil || r == nil {
		return nil
	}
	out := &ranReport{Allocated: !r.start.Unallocated}
	if out.Allocated && a.Leaf >= 0 {
		out.Charged = a.Tree.Nodes[a.Leaf].Path
	}
	if r.uncharged != workload.Unknown {
		t := inSeconds(r.uncharged)
		out.Uncharged = &t
	}
	return out
}

// withdrawn tells that the owner took the job back before it ever started.
func (x *explainer) withdrawn() bool {
	h := x.history
	return x.found.State == "ended" && h.cancelled != workload.Unknown && len(h.runs) == 0
}

// reasonOf makes the report of a reason, with a sentence that tells more.
func reasonOf(r fact.Reason, text string) whyReport {
	return whyReport{Code: r.Code.String(), Text: text}
}
