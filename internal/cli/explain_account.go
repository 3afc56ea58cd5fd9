package cli

import (
	"fmt"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/engine"
)

// accountView is what the budgets say of a job.
type accountView struct {
	// Leaf is the path of the account, "" where none takes the job.
	Leaf string `json:"leaf"`
	// Pool is the GPU type that the shares are of, absent under budgets without pools.
	Pool     string `json:"pool,omitempty"`
	Standing string `json:"standing"`
	Text     string `json:"text"`
	// At is the time of the shares, a multiple of the policy's interval; Window is how
	// far back they look, in seconds.
	At     float64       `json:"at"`
	Window float64       `json:"window"`
	Levels []levelReport `json:"levels"`
	// fills: the job waits unallocated, so that unallocated time sorts its accounts.
	fills bool
}

// levelReport is an account among its siblings. GPU-time is GPU-hours.
type levelReport struct {
	Level   string `json:"level,omitempty"`
	Account string `json:"account"`
	// Share is a part of 1 of its level, ShareOfAll of everything.
	Share       float64 `json:"share"`
	ShareOfAll  float64 `json:"shareOfAll"`
	Charged     float64 `json:"charged"`
	Outstanding float64 `json:"outstanding"`
	Usage       float64 `json:"usage"`
	// Fair is its share of what the window offered, Used the usage as a part of it;
	// absent while nothing was offered.
	Fair float64  `json:"fairShare"`
	Used *float64 `json:"usedOfFairShare,omitempty"`
	// Unallocated is the unallocated time it had in the window, which sorts unallocated
	// work, and UnallocatedOf the same as a part of the fair share.
	Unallocated   float64  `json:"unallocated"`
	UnallocatedOf *float64 `json:"unallocatedOfFairShare,omitempty"`
	// Place among siblings with waiting work; absent where none waits below it.
	Place int `json:"place,omitempty"`
	Of    int `json:"of,omitempty"`
}

func (x *explainer) account(a *engine.Account) *accountView {
	p := x.header.Policy.Sharing
	v := &accountView{Pool: a.Pool, At: inSeconds(a.At), Window: inSeconds(p.Window), Levels: []levelReport{}}
	if a.Leaf < 0 {
		v.Text = "no account of the budgets takes its team and user: it runs unallocated, after all others"
		return v
	}
	v.Leaf, v.Standing = a.Tree.Nodes[a.Leaf].Path, a.Standing.String()
	v.fills = x.found.Fill && x.found.State == "waiting"
	switch {
	case v.fills:
		v.Text = "it waits unallocated: charged to nobody, after all allocated work, and sorted by the unallocated time that accounts had for their share"
	case a.Standing == budget.Entitled:
		v.Text = "it had less than its share, so its work goes first"
	case a.Standing == budget.Spent:
		v.Text = fmt.Sprintf("it is below its share, but took as much of its idle time back as the cap (%s of a window) allows, so its work goes last",
			percent(float64(p.CreditCap)/1000))
	default:
		v.Text = "it had its share or more, so entitled accounts go before it"
	}
	queues := x.found.State == "waiting" && !x.found.Fill
	for i := range a.Levels {
		v.Levels = append(v.Levels, levelOf(a, &a.Levels[i], queues))
	}
	return v
}

func levelOf(a *engine.Account, l *engine.Level, queues bool) levelReport {
	t := a.Tree
	n := &t.Nodes[l.Node]
	var level int64
	for _, c := range t.Nodes[n.Parent].Children {
		level += t.Nodes[c].Share
	}
	num, den := t.ProductShare(l.Node)
	r := levelReport{Account: n.Path, ShareOfAll: float64(num) / float64(den), Charged: gpuHours(l.Charged), Outstanding: gpuHours(l.Outstanding),
		Usage: gpuHours(usageOf(l)), Fair: gpuHours(l.Fair), Unallocated: gpuHours(l.Filled)}
	if level > 0 {
		r.Share = float64(n.Share) / float64(level)
	}
	if int(n.Depth) < len(t.Levels) {
		r.Level = t.Levels[n.Depth]
	}
	if l.Fair > 0 {
		used := float64(usageOf(l)) / float64(l.Fair)
		r.Used = &used
		filled := float64(l.Filled) / float64(l.Fair)
		r.UnallocatedOf = &filled
	}
	if queues {
		r.Place, r.Of = l.Place, l.Of
	}
	return r
}

// compareReport are the accounts of winner and victim: siblings where their ways
// part, and the leaves.
type compareReport struct {
	At   float64   `json:"at"`
	Fork twoLevels `json:"fork"`
	Leaf twoLevels `json:"leaf"`
}

type twoLevels struct {
	Winner levelReport `json:"winner"`
	Victim levelReport `json:"victim"`
}

// compared is nil where there are no two accounts to compare.
func (x *explainer) compared(c *compared) *compareReport {
	if c == nil || c.winner.Leaf == c.victim.Leaf {
		return nil
	}
	w, v := fork(c.winner, c.victim)
	last := func(a *engine.Account) *engine.Level { return &a.Levels[len(a.Levels)-1] }
	return &compareReport{At: inSeconds(c.at),
		Fork: twoLevels{levelOf(c.winner, w, false), levelOf(c.victim, v, false)},
		Leaf: twoLevels{levelOf(c.winner, last(c.winner), false), levelOf(c.victim, last(c.victim), false)}}
}
