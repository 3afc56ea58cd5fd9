package metrics

import "github.com/escala-sched/escala/workload"

// Services are what the real-time applications of the window asked for and got, in
// GPU-hours: those of which some part of the life lies in it.
type Services struct {
	Count int `json:"count"`
	// Refused of them can never run on the cluster; nothing is asked for them.
	Refused int `json:"refused,omitempty"`
	// The sums over all, HoursShort those in which any of them lacked something.
	ServiceUse
	// Applications in the order of their submission.
	Applications []Application `json:"applications"`
}

// Application is one of [Services].
type Application struct {
	Name    string `json:"name"`
	Refused bool   `json:"refused,omitempty"`
	ServiceUse
}

// ServiceUse is what one application asked for and got, or all of them.
type ServiceUse struct {
	// Asked is the demand over its life, Served what was met of it, Shortfall the rest.
	Asked     float64 `json:"asked_gpu_hours"`
	Served    float64 `json:"served_gpu_hours"`
	Shortfall float64 `json:"shortfall_gpu_hours"`
	// ShortfallOfAsked is nil where nothing was asked for.
	ShortfallOfAsked *float64 `json:"shortfall_of_asked,omitempty"`
	// HoursShort counts hours of the input's clock with any shortfall.
	HoursShort int64 `json:"hours_short"`
	// Over is what was held and met no demand.
	Over float64 `json:"over_provision_gpu_hours"`
	// Swaps are GPUs gained and lost by running applications, Stops runs that ended
	// before their application did.
	Swaps int64 `json:"swaps"`
	Stops int64 `json:"stops"`
	// Penalty is the shortfall x what the application declares that it costs, nil where none does.
	Penalty *float64 `json:"penalty,omitempty"`
}

// closeServices brings the applications up to the end of what is reported, on copies: a
// window may outlast the last fact.
func (v *view) closeServices() {
	rt := &v.c.realtime
	v.shortHours = rt.hours
	if len(rt.list) == 0 {
		return
	}
	until := v.end
	if !v.cut && v.to < workload.Never {
		until = max(until, v.to)
	}
	v.services = append([]service(nil), rt.list...)
	for i := range v.services {
		s := &v.services[i]
		s.book(until, v.from, v.to, &v.groups[s.group])
	}
	if v.c.hasOne && rt.heldShort > 0 {
		v.shortHours[0].add(v.c.prev.At, until)
		v.shortHours[1].add(max(v.c.prev.At, v.from), min(until, v.to))
	}
}

// sums are what the figures of an application are taken from: all time where the window
// is empty.
func (s *service) sums(v *view) *serviceSums {
	if v.to <= v.from {
		return &s.all
	}
	return &s.win
}

// services fills in what real-time applications asked for and got.
func (m *Metrics) services(v *view) {
	var total serviceSums
	var penalty *float64
	out := &Services{}
	for i := range v.services {
		s := &v.services[i]
		if !s.within(v.from, v.to, &v.c.sel) || v.cut && s.submit > v.end {
			continue
		}
		u := s.sums(v)
		a := Application{Name: s.spec.ID, Refused: s.refused, ServiceUse: u.use()}
		if p := s.spec.Service.Penalty; p > 0 {
			cost := u.shortfall().times(p).gpuHours()
			a.Penalty = &cost
			if penalty == nil {
				penalty = new(float64)
			}
			*penalty += cost
		}
		out.Count++
		if s.refused {
			out.Refused++
		}
		out.Applications = append(out.Applications, a)
		total.plus(u)
	}
	if out.Count == 0 {
		return
	}
	total.short = v.shortHours[1]
	if v.to <= v.from {
		total.short = v.shortHours[0]
	}
	out.ServiceUse = total.use()
	out.Penalty = penalty
	m.Services = out

	win, all := &v.window, &v.makespan
	if v.to <= v.from {
		win = all
	}
	m.ServedOccupancy, m.ServedOccupancyMakespan = win.served(), all.served()
}

// served is what was assigned and of use, of what was available.
func (t *totals) served() *float64 {
	r := ratio(t.assigned.minus(t.over).float(), t.available.float())
	return &r
}

func (u *serviceSums) plus(o *serviceSums) {
	u.asked.plus(o.asked)
	u.served.plus(o.served)
	u.over.plus(o.over)
	u.swaps += o.swaps
	u.stops += o.stops
}

func (u *serviceSums) use() ServiceUse {
	short := u.shortfall()
	return ServiceUse{Asked: u.asked.gpuHours(), Served: u.served.gpuHours(), Shortfall: short.gpuHours(),
		ShortfallOfAsked: part(short.float(), u.asked.float()), HoursShort: u.short.n, Over: u.over.gpuHours(), Swaps: u.swaps, Stops: u.stops}
}
