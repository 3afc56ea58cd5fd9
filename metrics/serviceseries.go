package metrics

import "github.com/escala-sched/escala/workload"

// seriesServices is the number of applications that are kept over time, the first ones.
const seriesServices = 64

// ServiceSeries is what real-time applications needed and held over time, in equal bins
// from the first submission on.
type ServiceSeries struct {
	From  workload.Time
	Width workload.Span
	// Services in the order of their submission; Hidden others were not kept.
	Services []ServiceLine
	Hidden   int
}

// ServiceLine is one application over time.
type ServiceLine struct {
	Name string
	Bins []ServiceBin
}

// ServiceBin holds time integrals over one bin, in GPUs x ms.
type ServiceBin struct {
	// Span is the time that the application lived in the bin.
	Span                 float64
	Demand, Held, Served float64
}

func (b *ServiceBin) add(o *ServiceBin) {
	b.Span += o.Span
	b.Demand += o.Demand
	b.Held += o.Held
	b.Served += o.Served
}

// Mean returns an integral of the bin as a mean over the application's time in it.
func (b *ServiceBin) Mean(integral float64) float64 { return ratio(integral, b.Span) }

// serviceSeries fills bins without knowing the end, as the cluster's series does. All
// applications have bins of one width. Each adds its time when one of its levels
// changes, so that one may be further than another.
type serviceSeries struct {
	limit int // 0 = none are kept
	from  workload.Time
	width workload.Span
	rows  [][]ServiceBin
}

// add books the levels of an application since they last changed. Bins begin where the
// run does.
func (t *serviceSeries) add(i int, s *service, begin, to workload.Time) {
	from := max(s.since, begin)
	to = min(to, s.end)
	if to <= from || i >= seriesServices {
		return
	}
	if t.width == 0 {
		t.limit = max(2, t.limit)
		t.from, t.width = begin, workload.Second
	}
	for len(t.rows) <= i {
		t.rows = append(t.rows, nil)
	}
	for (to-1-t.from)/t.width >= workload.Span(t.limit) {
		t.double()
	}
	served := s.served()
	for from < to {
		k := int((from - t.from) / t.width)
		for len(t.rows[i]) <= k {
			t.rows[i] = append(t.rows[i], ServiceBin{})
		}
		end := min(to, t.from+workload.Span(k+1)*t.width)
		d := float64(end - from)
		gpu := d / 1000 // levels are milli-GPU
		t.rows[i][k].add(&ServiceBin{Span: d, Demand: float64(s.demand) * gpu, Held: float64(s.held) * gpu, Served: float64(served) * gpu})
		from = end
	}
}

func (t *serviceSeries) double() {
	for i := range t.rows {
		t.rows[i] = mergeServiceBins(t.rows[i], 2)
	}
	t.width *= 2
}

// mergeServiceBins adds up k neighbours each.
func mergeServiceBins(bins []ServiceBin, k int) []ServiceBin {
	out := make([]ServiceBin, 0, (len(bins)+k-1)/k)
	for i := range bins {
		if i%k == 0 {
			out = append(out, bins[i])
		} else {
			out[len(out)-1].add(&bins[i])
		}
	}
	return out
}

// Services returns the real-time applications over time up to end; nil without any, or
// if nothing was to be kept over time.
func (c *Collector) Services(end workload.Time) *ServiceSeries {
	rt := &c.realtime
	if len(rt.list) == 0 || rt.series.limit == 0 || !c.began {
		return nil
	}
	t := rt.series
	t.rows = make([][]ServiceBin, len(rt.series.rows))
	for i := range t.rows {
		t.rows[i] = append(make([]ServiceBin, 0, len(rt.series.rows[i])+1), rt.series.rows[i]...)
	}
	for i := range rt.list {
		s := &rt.list[i]
		t.add(i, s, c.begin, max(end, c.prev.At))
	}
	out := &ServiceSeries{From: t.from, Width: t.width, Hidden: max(0, len(rt.list)-seriesServices)}
	for i := range rt.list[:min(len(rt.list), seriesServices)] {
		line := ServiceLine{Name: rt.list[i].spec.ID}
		if i < len(t.rows) {
			line.Bins = t.rows[i]
		}
		out.Services = append(out.Services, line)
	}
	return out
}

// Merge returns the series with at most n bins, neighbours added up.
func (s *ServiceSeries) Merge(n int) *ServiceSeries {
	longest := 0
	for i := range s.Services {
		longest = max(longest, len(s.Services[i].Bins))
	}
	k := max(1, (longest+n-1)/max(1, n))
	out := &ServiceSeries{From: s.From, Width: s.Width * workload.Span(k), Hidden: s.Hidden}
	for i := range s.Services {
		out.Services = append(out.Services, ServiceLine{s.Services[i].Name, mergeServiceBins(s.Services[i].Bins, k)})
	}
	return out
}
