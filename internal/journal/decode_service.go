package journal

import (
	"encoding/json"
	"math"

	"github.com/escala-sched/escala/workload"
)

// service reads what appendService writes. Members it does not know are ignored.
func service(val []byte) (*workload.Service, bool) {
	s := &workload.Service{}
	o := begin(val)
	ok := true
	for ok && o.next() {
		switch string(o.key) {
		case "demand":
			ok = curve(&s.Demand, o.val)
		case "min":
			ok = curve(&s.Min, o.val)
		case "max":
			ok = curve(&s.Max, o.val)
		case "swap_gpus":
			ok = count(&s.Swaps, o.val)
		case "swap_every_ms":
			ok = amount(&s.SwapEvery, o.val, 0)
		case "penalty":
			ok = amount(&s.Penalty, o.val, 0)
		}
	}
	return s, ok && o.bad == "" && s.Check() == nil
}

// curve reads one whose end is a time.
func curve(c *workload.Curve, val []byte) bool {
	*c = workload.Curve{}
	o := begin(val)
	ok := true
	for ok && o.next() {
		switch string(o.key) {
		case "start_ms":
			ok = amount(&c.Start, o.val, -maxTime)
		case "step_ms":
			ok = amount(&c.Step, o.val, 1)
		case "gpus":
			ok = json.Unmarshal(o.val, &c.Values) == nil
		case "repeat":
			c.Repeat, ok = yes(o.val)
		}
	}
	return ok && o.bad == "" && c.Check() == nil && c.Step <= maxTime/int64(len(c.Values)) && c.Peak() < math.MaxInt32
}
