package metrics

import (
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Series is the run over time, in equal bins from the first submission on.
type Series struct {
	From  workload.Time
	Width workload.Span
	Bins  []Bin
}

// Bin holds time integrals over one bin: GPUs x ms, and jobs x ms.
type Bin struct {
	// Span is the time covered, the width in all bins but the last.
	Span                                             float64
	Installed, Available, Assigned, Held, Fragmented float64
	WaitingGPUs, WaitingJobs, RunningJobs            float64
	// Unallocated and Squat are parts of Assigned: by work that is not charged, and by
	// parked jobs that do nothing.
	Unallocated, Squat float64
	// Preemptions count runs that gave way in the bin, AllocatedPreemptions those of
	// allocated work; LostGPUHours is what ended there lost, restart overhead included.
	Preemptions, AllocatedPreemptions, LostGPUHours float64
}

func (b *Bin) add(o *Bin) {
	b.Span += o.Span
	b.Installed += o.Installed
	b.Available += o.Available
	b.Assigned += o.Assigned
	b.Held += o.Held
	b.Fragmented += o.Fragmented
	b.WaitingGPUs += o.WaitingGPUs
	b.WaitingJobs += o.WaitingJobs
	b.RunningJobs += o.RunningJobs
	b.Unallocated += o.Unallocated
	b.Squat += o.Squat
	b.Preemptions += o.Preemptions
	b.AllocatedPreemptions += o.AllocatedPreemptions
	b.LostGPUHours += o.LostGPUHours
}

// Occupancy is assigned / available GPU-time of the bin, in 0..1.
func (b *Bin) Occupancy() float64 { return ratio(b.Assigned, b.Available) }

// Fragmentation is GPU-time idle by fragmentation / available GPU-time.
func (b *Bin) Fragmentation() float64 { return ratio(b.Fragmented, b.Available) }

// MeanWaitingGPUs is the time-weighted mean number of GPUs waited for.
func (b *Bin) MeanWaitingGPUs() float64 { return ratio(b.WaitingGPUs, b.Span) }

// MeanWaitingJobs is the time-weighted mean number of jobs that wait.
func (b *Bin) MeanWaitingJobs() float64 { return ratio(b.WaitingJobs, b.Span) }

// Merge returns the series with at most n bins, neighbours added up.
func (s *Series) Merge(n int) *Series {
	k := max(1, (len(s.Bins)+n-1)/max(1, n))
	out := &Series{From: s.From, Width: s.Width * workload.Span(k)}
	for i := range s.Bins {
		if i%k == 0 {
			out.Bins = append(out.Bins, s.Bins[i])
		} else {
			out.Bins[len(out.Bins)-1].add(&s.Bins[i])
		}
	}
	return out
}

// seriesBuilder fills bins without knowing the end: when the last one is full,
// neighbours are merged and the width doubles.
type seriesBuilder struct {
	limit int
	from  workload.Time
	width workload.Span
	bins  []Bin
	// unallocated and squat are GPUs held since the last instant, in milli-GPU;
	// pending counts what happened at it, and fresh what happens at the present one.
	unallocated, squat int64
	pending, fresh     Bin
}

func (s *seriesBuilder) add(g *sim.Gauge, from, to workload.Time) {
	if s.bins == nil {
		s.limit = max(2, s.limit)
		s.bins, s.from, s.width = make([]Bin, 0, s.limit), from, workload.Second
	}
	for (to-1-s.from)/s.width >= workload.Span(s.limit) {
		s.double()
	}
	for from < to {
		i := int((from - s.from) / s.width)
		for len(s.bins) <= i {
			s.bins = append(s.bins, Bin{})
		}
		end := min(to, s.from+workload.Span(i+1)*s.width)
		s.bins[i].hold(g, end-from)
		s.bins[i].holdClasses(s, end-from)
		from = end
	}
}

// hold adds the state g for a time of ms.
func (b *Bin) hold(g *sim.Gauge, ms workload.Span) {
	d := float64(ms)
	gpu := d / 1000 // the gauge counts milli-GPU
	b.Span += d
	b.Installed += float64(g.Installed) * gpu
	b.Available += float64(g.Available) * gpu
	b.Assigned += float64(g.Assigned) * gpu
	b.Held += float64(g.Held) * gpu
	if g.Fragmented {
		b.Fragmented += float64(idle(g)) * gpu
	}
	b.WaitingGPUs += float64(g.WaitingMilli) * gpu
	b.WaitingJobs += float64(g.WaitingJobs) * d
	b.RunningJobs += float64(g.RunningJobs) * d
}

// holdClasses adds what classes of work hold, and what happened at the last instant.
func (b *Bin) holdClasses(s *seriesBuilder, ms workload.Span) {
	gpu := float64(ms) / 1000
	b.Unallocated += float64(s.unallocated) * gpu
	b.Squat += float64(s.squat) * gpu
	if s.pending != (Bin{}) {
		b.add(&s.pending)
		s.pending = Bin{}
	}
}

// settle takes over what happened at the instant that ends; what happened before the
// series begins is none of it.
func (s *seriesBuilder) settle(began bool) {
	if began && s.fresh != (Bin{}) {
		s.pending.add(&s.fresh)
	}
	s.fresh = Bin{}
}

func (s *seriesBuilder) double() {
	half := (len(s.bins) + 1) / 2
	for i := range half {
		b := s.bins[2*i]
		if 2*i+1 < len(s.bins) {
			b.add(&s.bins[2*i+1])
		}
		s.bins[i] = b
	}
	s.bins = s.bins[:half]
	s.width *= 2
}

// Series returns the run over time up to end, the last state continued; nil if
// it was not to be kept.
func (c *Collector) Series(end workload.Time) *Series {
	if c.series.bins == nil {
		return nil
	}
	s := c.series
	s.bins = append(make([]Bin, 0, s.limit), s.bins...)
	if end > c.prev.At {
		s.add(&c.prev, max(c.prev.At, c.begin), end)
	}
	s.bins[len(s.bins)-1].add(&s.pending) // what happened at the very end
	return &Series{From: s.from, Width: s.width, Bins: s.bins}
}
