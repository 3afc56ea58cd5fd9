package metrics

import "github.com/escala-sched/escala/workload"

// class is what a job's GPU-time counts as.
type class uint8

const (
	// allocated: charged to an account and protected for its minimum runtime.
	allocated class = iota
	// unallocated: declared a minimum runtime of 0, or was started uncharged.
	unallocated
	// squat: labelled squat=yes, a parked job that does nothing.
	squat
	classes
)

// classOf is what a job asks for. What a start says goes first, see [Collector.startRun].
func classOf(j *workload.Job) class {
	switch {
	case j.Labels["squat"] == "yes":
		return squat
	case j.Contract.HasMinRuntime && j.Contract.MinRuntime == 0:
		return unallocated
	}
	return allocated
}

// thrashing is how soon after its last stop the next one is one too many.
const thrashing = 3 * workload.Hour

// stretch is what happened in one stretch of time, counted by when it happened.
type stretch struct {
	// run is GPU-time assigned, by class.
	run [classes]area
	// stops count runs that had to give way.
	stops  [classes]int64
	thrash int64
	dates  Dates
	drains Drains
}

// stretches are those that a time lies in: all time, and perhaps the window.
func (c *Collector) stretches(at workload.Time) []*stretch {
	if at >= c.from && at < c.to {
		return c.pair[:]
	}
	return c.pair[:1]
}

// gaveWay books that the run of a job had to. Applications count their stops themselves.
func (c *Collector) gaveWay(j *jobState, at workload.Time) {
	if j.service >= 0 {
		return
	}
	again := j.kind == allocated && j.stopped != workload.Unknown && at-j.stopped <= thrashing
	j.stopped = at
	for _, s := range c.stretches(at) {
		s.stops[j.kind]++
		if again {
			s.thrash++
		}
	}
	if c.series.limit > 0 {
		c.series.fresh.Preemptions++
		if j.kind == allocated {
			c.series.fresh.AllocatedPreemptions++
		}
	}
}

// ran books the GPU-time of a run up to a time.
func (s *stretch) ran(j *jobState, at, from, to workload.Time) {
	s.run[j.kind].add(j.milli, overlap(j.kindSince, at, from, to))
}

// ClassLoss is GPU-time that a class of work lost.
type ClassLoss struct {
	// LostGPUHours is work done again, RestartGPUHours restart overhead.
	LostGPUHours    float64 `json:"lost_gpu_hours"`
	RestartGPUHours float64 `json:"restart_gpu_hours"`
}

// split fills in what depends on the class of work.
func (m *Metrics) split(v *view) {
	s := v.stretch()
	m.AllocatedGPUHours, m.UnallocatedGPUHours = s.run[allocated].gpuHours(), s.run[unallocated].gpuHours()
	m.SquatGPUHours = s.run[squat].gpuHours()
	m.UnallocatedShare = ratio(m.UnallocatedGPUHours, m.AllocatedGPUHours+m.UnallocatedGPUHours)
	m.AllocatedPreemptions, m.Thrash = s.stops[allocated], s.thrash
	all := m.AllocatedGPUHours + m.UnallocatedGPUHours + m.SquatGPUHours
	m.AllocatedPreemptionsPer1000GPUHours = ratio(float64(m.AllocatedPreemptions)*1000, all)
	m.LostByClass = map[string]ClassLoss{}
	for k, name := range []string{"allocated", "unallocated", "squat"} {
		if l := (ClassLoss{v.c.lostBy[k].gpuHours(), v.c.restartBy[k].gpuHours()}); l != (ClassLoss{}) {
			m.LostByClass[name] = l
		}
	}
	m.Dates, m.Drains = v.dates(s), v.drains(s)
}

// stretch is what figures over the window are taken from: all time where the window is empty.
func (v *view) stretch() *stretch {
	if v.to <= v.from {
		return &v.all
	}
	return &v.win
}
