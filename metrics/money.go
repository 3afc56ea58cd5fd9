package metrics

import "github.com/escala-sched/escala/workload"

// money gives cost and energy from the first submission to the last finish: the
// bill for getting the window's work done, which idle GPUs share.
func (m *Metrics) money(v *view) {
	t := &v.c.types
	pue := v.c.cfg.Cluster.PUE
	if pue == 0 {
		pue = 1
	}
	var cost, idleCost, kwh float64
	var priced, powered bool
	for i := range t.rows {
		r := &t.rows[i]
		u := r.use(v, pue)
		m.Types = append(m.Types, u)
		cost += u.Cost
		idleCost += u.IdleCost
		kwh += u.KWh
		priced = priced || r.spec.PricePerHour > 0
		powered = powered || r.spec.ActiveWatts > 0 || r.spec.IdleWatts > 0
	}
	if priced {
		m.Cost, m.IdleCost = &cost, &idleCost
	}
	if powered {
		m.KWh = &kwh
	}
}

// use sums up one GPU type. A GPU whose node is down is paid for and draws nothing.
func (r *typeRow) use(v *view, pue float64) TypeUse {
	sum := r.atFinish
	if !v.atFinish {
		sum = r.total
		if v.c.began {
			ms := max(0, v.end-max(v.c.prev.At, v.c.begin))
			sum.assigned.add(r.heldAssigned, ms)
			sum.down.add(r.heldDown, ms)
			sum.span += ms
		}
	}
	hours := float64(sum.span) / float64(workload.Hour)
	gpus := float64(r.installed) / 1000
	assigned, down := sum.assigned.gpuHours(), sum.down.gpuHours()
	idleHours := max(0, gpus*hours-assigned)
	return TypeUse{
		Name: r.spec.Name, GPUs: gpus, GPUHours: assigned, IdleHours: idleHours,
		Cost: assigned * r.spec.PricePerHour, IdleCost: idleHours * r.spec.PricePerHour,
		KWh: pue / 1000 * (assigned*r.spec.ActiveWatts + max(0, idleHours-down)*r.spec.IdleWatts),
	}
}
