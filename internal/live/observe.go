package live

import (
	"context"
	"time"

	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Step is a part of the loop's work on one instant.
type Step uint8

// Steps, in the order in which they end.
const (
	// Decided: the engine was asked until it had nothing more to say.
	Decided Step = iota
	// Appended: the batch is on disk, however often that had to be tried.
	Appended
	// Sent: the world has its orders.
	Sent
	// Turned: all of it.
	Turned
	steps
)

var stepNames = [steps]string{"decide", "append", "orders", "turn"}

// String returns the name of a step.
func (s Step) String() string { return stepNames[s] }

// Timing is how long a step took.
type Timing struct {
	Step         Step
	Began, Ended time.Time
	// N is the actions decided, the bytes of the batch, the orders sent, or the lines of the instant.
	N int
	// Batch is the number of the last batch on disk; Segment the size of its segment in bytes.
	Batch, Segment int64
}

// Timer is an [Observer] that is also told how long things take, from the loop. It must be quick.
type Timer interface {
	Timed(x *Timing)
}

// timed counts what a step took, and tells those who want to know.
func (d *Daemon) timed(s Step, began time.Time, n int) {
	x := Timing{Step: s, Began: began, Ended: d.cfg.Now(), N: n, Batch: d.head.Seq, Segment: d.written}
	took := x.Ended.Sub(began).Nanoseconds()
	switch s {
	case Decided:
		d.stats.DecideNanos.Add(took)
	case Appended:
		d.stats.AppendNanos.Add(took)
	case Turned:
		d.stats.LoopNanos.Add(took)
	}
	for _, o := range d.cfg.Observers {
		if w, ok := o.(Timer); ok {
			w.Timed(&x)
		}
	}
}

// Gauge is the state of the cluster as the engine counts it, before [Daemon.Run].
func (d *Daemon) Gauge() sim.Gauge { return d.standing(d.book.now) }

// standing is the state after an instant. To tell whether jobs fit, the engine marks for a moment
// what is kept from them: nobody else may look meanwhile.
func (d *Daemon) standing(now workload.Time) sim.Gauge {
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	return d.gauge(now)
}

// Trouble tells whether the journal cannot be written.
func (d *Daemon) Trouble() bool { return d.trouble.Load() != nil }

// Ping returns once the loop has served a request that asks for nothing: how late it is.
func (d *Daemon) Ping(ctx context.Context) error {
	_, err := change(ctx, d, func(*tx) (bool, error) { return true, nil })
	return err
}

// Find returns a job by its number, from the store if it ended long ago. [store.ErrNotFound].
func (d *Daemon) Find(ctx context.Context, number int32) (Job, error) {
	if list := d.Some([]int32{number}); len(list) == 1 {
		return list[0], nil
	}
	row, err := d.cfg.Store.EndedJob(ctx, number)
	if err != nil {
		return Job{}, err
	}
	j, err := fromRow(&row)
	if err != nil {
		return Job{}, err
	}
	return *j, nil
}
