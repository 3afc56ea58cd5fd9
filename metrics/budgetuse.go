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
	// Pools split the figures by the pools that have shares of their own, in the order
	// of the file; none without such pools.
	Pools []PoolUse `json:"pools,omitempty"`
}

// PoolUse is [BudgetUse] of one pool.
type PoolUse struct {
	// Pool is a GPU type.
	Pool string `json:"pool"`
	// All is the sum over the accounts, with a share of 1.
	All      AccountUse   `json:"all"`
	Reported []AccountUse `json:"reported"`
}

// AccountUse is one account of [BudgetUse].
type AccountUse struct {
	Account string `json:"account,omitempty"`
	// Share of all, 0..1. In a pool it is that of the pool. Over several pools it is what
	// its shares come to of all installed GPUs.
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
	byPool := a.results(end)
	dues := acrossPools(byPool)
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
		x := useOf(a.tree.Nodes[d.Node].Path, a.pools.share(d.Node), d)
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
	for i, name := range a.tree.Pools {
		u.Pools = append(u.Pools, a.poolUse(name, i, byPool[i]))
	}
	m.Budget = u
}

func useOf(account string, share float64, d *budget.Due) AccountUse {
	x := AccountUse{Account: account, Share: share, Demand: d.Demand.GPUHours(), Owed: d.Owed.GPUHours(),
		Charged: d.Charged.GPUHours(), Delivered: d.Delivered.GPUHours(), Strict: d.Strict.GPUHours()}
	x.DeliveredOfOwed, x.StrictOfOwed = part(x.Delivered, x.Owed), part(x.Strict, x.Owed)
	return x
}

// poolUse is what came of the accounts in one pool.
func (a *accounts) poolUse(name string, pool int, dues []budget.Due) PoolUse {
	all := budget.Total(dues)
	out := PoolUse{Pool: name, All: useOf("", 1, &all)}
	for i := range dues {
		n := dues[i].Node
		out.Reported = append(out.Reported, useOf(a.tree.Nodes[n].Path, a.pools.shareIn(pool, n), &dues[i]))
	}
	return out
}

// acrossPools adds up each account over the pools.
func acrossPools(byPool [][]budget.Due) []budget.Due {
	if len(byPool) == 1 {
		return byPool[0]
	}
	out := make([]budget.Due, len(byPool[0]))
	one := make([]budget.Due, len(byPool))
	for i := range out {
		for pool := range byPool {
			one[pool] = byPool[pool][i]
		}
		out[i] = budget.Total(one)
		out[i].Node = one[0].Node
	}
	return out
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
