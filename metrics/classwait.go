package metrics

import (
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// ClassWait is the wait of one class of jobs of the window, in seconds. Unlike in
// [Metrics.Wait], jobs that were withdrawn before they started enter with their wait
// so far, as a lower bound; [Dist.Bounds] tells which percentiles that leaves open.
type ClassWait struct {
	Name string `json:"name"`
	// Jobs of the class: Started, Withdrawn before they started, and Unstarted when
	// the run was cut.
	Jobs      int `json:"jobs"`
	Started   int `json:"started"`
	Withdrawn int `json:"withdrawn"`
	Unstarted int `json:"unstarted"`
	Dist
}

// Classes of jobs by what they declare, and by the GPUs they ask for. A debug job
// is one of at most 8 GPUs whose minimum runtime is at most 15 minutes and not 0.
const (
	debugJobs = iota
	allocatedJobs
	unallocatedJobs
	largeJobs
	firstSize
)

var classNames = [...]string{"debug", "allocated", "unallocated", "large", "1", "2-7", "8", "9-64", ">64"}

// sizeOf is the class of a number of GPUs; parts of one and none count as one.
func sizeOf(gpus int32) int {
	for i, most := range [...]int32{1, 7, 8, 64} {
		if gpus <= most {
			return firstSize + i
		}
	}
	return len(classNames) - 1
}

// classTally collects waits by class.
type classTally struct {
	rows    [len(classNames)]ClassWait
	samples [len(classNames)]sample
}

func newClassTally() *classTally {
	t := &classTally{}
	for i := range t.rows {
		t.rows[i].Name, t.samples[i].decode = classNames[i], milliseconds
	}
	return t
}

// add enters a job that had submitted by end, unless it is parked or can never start.
func (t *classTally) add(j *workload.Job, o *sim.JobResult, end workload.Time) {
	kind := classOf(j)
	if o.State == sim.Refused || o.State == sim.NeverReady || kind == squat {
		return
	}
	started := o.FirstStart != workload.Unknown
	wait := max(0, end-j.Submit)
	switch {
	case started:
		wait = o.FirstStart - j.Submit
	case o.State == sim.Withdrawn:
		wait = o.Queued + o.Held
	}
	wait = max(0, wait-o.Held)
	gpus := j.Need.TotalGPUs()
	size := sizeOf(gpus)
	t.enter(size, o, key(wait), started)
	switch {
	case kind == unallocated:
		t.enter(unallocatedJobs, o, key(wait), started)
	case isDebug(j):
		t.enter(debugJobs, o, key(wait), started)
	default:
		t.enter(allocatedJobs, o, key(wait), started)
	}
	if size == len(classNames)-1 && kind == allocated {
		t.enter(largeJobs, o, key(wait), started)
	}
}

func (t *classTally) enter(i int, o *sim.JobResult, wait uint64, started bool) {
	r := &t.rows[i]
	r.Jobs++
	switch {
	case started:
		r.Started++
	case o.State == sim.Withdrawn:
		r.Withdrawn++
	default:
		r.Unstarted++
	}
	t.samples[i].add(wait, !started)
}

// waits returns the classes that have jobs.
func (t *classTally) waits(tmp []uint64) (kinds, sizes []ClassWait) {
	for i := range t.rows {
		if t.rows[i].Jobs == 0 {
			continue
		}
		r := t.rows[i]
		r.Dist = t.samples[i].dist(tmp)
		if r.LowerBounds > 0 { // many share a patience: what equals it is a bound too
			r.ExactUpTo = max(0, r.ExactUpTo-0.001)
		}
		if i < firstSize {
			kinds = append(kinds, r)
		} else {
			sizes = append(sizes, r)
		}
	}
	return kinds, sizes
}
