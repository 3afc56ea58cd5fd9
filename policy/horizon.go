package policy

import (
	"bytes"
	"fmt"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// Horizon plans all work over the next steps of time, real-time demand as a curve, and
// starts what the plan has now (docs/horizon.md).
type Horizon struct {
	// Step is the length of a step, Steps their number.
	Step  workload.Span
	Steps int32
	// Decay is what a step is worth of the one before it, in thousandths.
	Decay int64
	// Replan: a new plan is made whenever something happens, and on this grid of time.
	Replan workload.Span
	// Work is the number of orders that are tried for a plan.
	Work int32
	// Queue is how many waiting jobs a plan looks at, in the policy's order.
	Queue int32
	// Penalty is what an hour of a GPU of unmet real-time demand costs, over what an hour of a
	// GPU of batch work of equal priority is worth.
	Penalty int32
	// Aging is the wait after which a job counts for twice its priority, after twice that for
	// three times, up to nine; 0 = waiting changes nothing.
	Aging workload.Span
	// PowerOfTwo gives every job a block whose size is a power of two; else as many GPUs as it
	// asks for, whole nodes where it needs several.
	PowerOfTwo bool
	// Interrupt lets a plan stop jobs that declare a minimum runtime, once that is over.
	Interrupt bool
}

// DefaultHorizon are the values of keys that a file leaves out.
func DefaultHorizon() Horizon {
	return Horizon{Step: workload.Hour, Steps: 24, Decay: 970, Replan: 30 * workload.Minute, Work: 50, Queue: 200, Penalty: 7, Aging: workload.Day}
}

// fileHorizon is the block "horizon". Every key may be absent.
type fileHorizon struct {
	Step       *yamlx.Duration `yaml:"step"`
	Steps      *int32          `yaml:"steps"`
	Decay      *yamlx.Milli    `yaml:"decay"`
	Replan     *yamlx.Duration `yaml:"replan"`
	Work       *int32          `yaml:"work"`
	Queue      *int32          `yaml:"queue"`
	Penalty    *int32          `yaml:"penalty"`
	Aging      *yamlx.Duration `yaml:"aging"`
	PowerOfTwo bool            `yaml:"powerOfTwo"`
	Interrupt  bool            `yaml:"interrupt"`
}

func takeHorizon(p *Policy, f *file, root *yamlx.Node) error {
	if f.Horizon == nil {
		return nil
	}
	if f.Sharing != nil {
		return root.At("horizon").Errorf("drop one of them", "a plan of the horizon and sharing do not go together")
	}
	if err := checkBeside("horizon", p, f, root); err != nil {
		return err
	}
	h := DefaultHorizon()
	set(&h.Step, f.Horizon.Step)
	set(&h.Replan, f.Horizon.Replan)
	set(&h.Decay, f.Horizon.Decay)
	set(&h.Steps, f.Horizon.Steps)
	set(&h.Work, f.Horizon.Work)
	set(&h.Queue, f.Horizon.Queue)
	set(&h.Penalty, f.Horizon.Penalty)
	set(&h.Aging, f.Horizon.Aging)
	h.PowerOfTwo, h.Interrupt = f.Horizon.PowerOfTwo, f.Horizon.Interrupt
	at := root.At("horizon")
	switch {
	case h.Step < workload.Minute || h.Step > workload.Day:
		return at.At("step").Errorf("want 1m to 1d", "a step of %s", span(h.Step))
	case h.Steps < 1 || h.Steps > 1000:
		return at.At("steps").Errorf("want 1 to 1000", "%d steps", h.Steps)
	case h.Decay < 1 || h.Decay > 1000:
		return at.At("decay").Errorf("want more than 0 and at most 1", "a step worth %s of the one before", yamlx.Milli(h.Decay))
	case h.Replan < workload.Minute || h.Replan > workload.Day:
		return at.At("replan").Errorf("want 1m to 1d", "a new plan every %s", span(h.Replan))
	case h.Work < 1 || h.Work > 1_000_000:
		return at.At("work").Errorf("want 1 to 1000000", "%d orders to try", h.Work)
	case h.Queue < 1 || h.Queue > 100_000:
		return at.At("queue").Errorf("want 1 to 100000", "a plan of %d waiting jobs", h.Queue)
	case h.Aging != 0 && h.Aging < workload.Minute || h.Aging > 366*workload.Day:
		return at.At("aging").Errorf("want 1m to 366d, or 0s for none", "an aging of %s", span(h.Aging))
	case h.Penalty < 0 || h.Penalty > 1000:
		return at.At("penalty").Errorf("want 0 to 1000; 5 to 10 is usual", "a penalty of %d", h.Penalty)
	}
	p.Blocking, p.Horizon = Skip, &h
	return nil
}

// set takes a value over if it was given.
func set[T, F ~int64 | ~int32](to *T, from *F) {
	if from != nil {
		*to = T(*from)
	}
}

func (h *Horizon) yaml(b *bytes.Buffer) {
	line := func(key, format string, args ...any) { fmt.Fprintf(b, "  %s: %s\n", key, fmt.Sprintf(format, args...)) }
	line("step", "%s", span(h.Step))
	line("steps", "%d", h.Steps)
	line("decay", "%s", yamlx.Milli(h.Decay))
	line("replan", "%s", span(h.Replan))
	line("work", "%d", h.Work)
	line("queue", "%d", h.Queue)
	line("penalty", "%d", h.Penalty)
	line("aging", "%s", span(h.Aging))
	line("powerOfTwo", "%t", h.PowerOfTwo)
	line("interrupt", "%t", h.Interrupt)
}
