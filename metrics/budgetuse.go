package metrics

import (
	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/workload"
)

// enough is the part of what it is owed that an account must get to be counted.
const enough = 0.95

// BudgetUse is what accounts were owed in the window and what they got, in GPU-hours.
type BudgetUse struct {
	// Name and SHA-256 of the budgets.
	Name   string `json:"name"`
	SHA256 string `json:"sha256,omitempty"`
	// Demand is what allocated work asked for. Owed is, hour by hour, each account's
	// share of usable capacity, but no more than its demand; Charged is what it had,
	// Delivered min(Charged, Owed) of each account. Strict counts what an hour lacked as
	// made good only by what later hours of the share window got above what they owed.
	Demand    float64 `json:"demand_gpu_hours"`
	Owed      float64 `json:"owed_gpu_hours"`
	Charged   float64 `json:"charged_gpu_hours"`
	Delivered float64 `json:"delivered_gpu_hours"`
	Strict    float64 `json:"strict_gpu_hours"`
	// The same / Owed, nil where nothing was owed; Owed / usable capacity.
	DeliveredOfOwed *float64 `json:"delivered_of_owed,omitempty"`
	ChargedOfOwed   *float64 `json:"charged_of_owed,omitempty"`
	StrictOfOwed    *float64 `json:"strict_of_owed,omitempty"`
	OwedOfCapacity  float64  `json:"owed_of_capacity"`
	// Accounts that were owed anything; Got95 got at least 95 % of it, Worst the least part.
	Accounts int    `json:"accounts"`
	Got95    int    `json:"got_95"`
	Worst    string `json:"worst,omitempty"`
	// WorstOfOwed is the part that Worst got.
	WorstOfOwed *float64 `json:"worst_of_owed,omitempty"`
	// Reported are the accounts, in the order of the file.
	Reported []AccountUse `json:"reported"`
}

// AccountUse is one account of [BudgetUse].
type AccountUse struct {
	Account string `json:"account"`
	// Share of all, 0..1.
	Share           float64  `json:"share"`
	Demand          float64  `json:"demand_gpu_hours"`
	Owed            float64  `json:"owed_gpu_hours"`
	Charged         float64  `json:"charged_gpu_hours"`
	Delivered       float64  `json:"delivered_gpu_hours"`
	Strict          float64  `json:"strict_gpu_hours"`
	DeliveredOfOwed *float64 `json:"delivered_of_owed,omitempty"`
	StrictOfOwed    *float64 `json:"strict_of_owed,omitempty"`
}

// budget fills in what accounts were owed.
func (m *Metrics) budget(v *view) {
	a := v.c.accounts
	if a == nil {
		return
	}
	end := max(v.end, a.clock)
	a.begin(v.c.jobs, end)
	if !v.cut && v.to > v.from && v.to < workload.Never { // the window may outlast the last fact
		end = max(end, v.to)
	}
	dues := a.results(end)
	all := budget.Total(dues)
	u := &BudgetUse{Name: a.tree.Name, SHA256: a.tree.Hash, Reported: []AccountUse{}}
	u.Demand, u.Owed, u.Charged = all.Demand.GPUHours(), all.Owed.GPUHours(), all.Charged.GPUHours()
	u.Delivered, u.Strict = all.Delivered.GPUHours(), all.Strict.GPUHours()
	u.DeliveredOfOwed, u.StrictOfOwed = part(u.Delivered, u.Owed), part(u.Strict, u.Owed)
	u.ChargedOfOwed = part(u.Charged, u.Owed)
	available := v.window.available
	if v.to <= v.from {
		available = v.makespan.available
	}
	u.OwedOfCapacity = ratio(u.Owed, available.gpuHours())
	for i := range dues {
		d := &dues[i]
		num, den := a.tree.ProductShare(d.Node)
		x := AccountUse{Account: a.tree.Nodes[d.Node].Path, Share: float64(num) / float64(den), Demand: d.Demand.GPUHours(), Owed: d.Owed.GPUHours(),
			Charged: d.Charged.GPUHours(), Delivered: d.Delivered.GPUHours(), Strict: d.Strict.GPUHours()}
		x.DeliveredOfOwed, x.StrictOfOwed = part(x.Delivered, x.Owed), part(x.Strict, x.Owed)
		u.Reported = append(u.Reported, x)
		if x.DeliveredOfOwed == nil {
			continue
		}
		u.Accounts++
		if *x.DeliveredOfOwed >= enough {
			u.Got95++
		}
		if u.WorstOfOwed == nil || *x.DeliveredOfOwed < *u.WorstOfOwed {
			u.Worst, u.WorstOfOwed = x.Account, x.DeliveredOfOwed
		}
	}
	m.Budget = u
}

// Budget returns what accounts were owed and got, of the window up to end; nil without
// budgets. It is [Metrics.Budget] where no more is asked for.
func (c *Collector) Budget(end workload.Time) *BudgetUse {
	v := view{c: c, end: max(c.prev.At, end), cut: true}
	v.close()
	var m Metrics
	m.budget(&v)
	return m.Budget
}

// part returns a/b, nil where b is zero.
func part(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	r := a / b
	return &r
}
