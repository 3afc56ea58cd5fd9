package results

import (
	"io"
	"math"
	"strconv"

	"github.com/escala-sched/escala/metrics"
)

const servicesHeader = "service,time,span,demand_gpus,held_gpus,served_gpus\n"

// WriteServicesCSV writes what real-time applications needed and held over time, one row
// per application and bin, to six decimals at most. Bins that one did not live in are left out.
func WriteServicesCSV(out io.Writer, s *metrics.ServiceSeries) error {
	b := []byte(servicesHeader)
	if s == nil {
		s = &metrics.ServiceSeries{}
	}
	for k := range s.Services {
		l := &s.Services[k]
		for i := range l.Bins {
			x := &l.Bins[i]
			if x.Span <= 0 {
				continue
			}
			b = appendText(b, l.Name)
			for _, v := range [...]float64{seconds(s.From + int64(i)*s.Width), x.Span / 1000, x.Mean(x.Demand), x.Mean(x.Held), x.Mean(x.Served)} {
				b = strconv.AppendFloat(append(b, ','), math.Round(v*1e6)/1e6, 'f', -1, 64)
			}
			b = append(b, '\n')
		}
	}
	_, err := out.Write(b)
	return err
}
