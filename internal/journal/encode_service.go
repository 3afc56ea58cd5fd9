package journal

import (
	"strconv"

	"github.com/escala-sched/escala/workload"
)

// appendService writes what a real-time application declares, as the "escala" workload
// format has it.
func appendService(b []byte, s *workload.Service) []byte {
	b = appendCurve(append(b, `,"service":{"demand":`...), &s.Demand)
	if len(s.Min.Values) > 0 {
		b = appendCurve(append(b, `,"min":`...), &s.Min)
	}
	if len(s.Max.Values) > 0 {
		b = appendCurve(append(b, `,"max":`...), &s.Max)
	}
	b = nonZero(b, `,"swap_gpus":`, int64(s.Swaps))
	b = nonZero(b, `,"swap_every_ms":`, s.SwapEvery)
	b = nonZero(b, `,"penalty":`, s.Penalty)
	return append(b, '}')
}

func appendCurve(b []byte, c *workload.Curve) []byte {
	b = append(b, '{')
	if c.Start != 0 {
		b = append(number(b, `"start_ms":`, c.Start), ',')
	}
	b = number(b, `"step_ms":`, c.Step)
	b = append(b, `,"gpus":[`...)
	for i, v := range c.Values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(v), 10)
	}
	b = append(b, ']')
	if c.Repeat {
		b = append(b, `,"repeat":true`...)
	}
	return append(b, '}')
}
