package sim_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestEASYEqualsNaive: EASY backfilling on a count of GPUs, written down from its
// definition, starts every job when the simulator does. It keeps nothing from one
// event to the next but who runs since when and who waits.
func TestEASYEqualsNaive(t *testing.T) {
	const gpus = 12
	p := shipped(t, "easy")
	for seed := range seeds(1000) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		w := randomJobs(r, 30, gpus, guess(seed)%allGuesses)
		want := naiveEASY(w, gpus)
		got := simulateAssuming(t, w, &cluster.Spec{Name: "pool", Count: gpus}, p, sim.Assumptions{})
		for i := range want {
			if got.Jobs[i].FirstStart != want[i] {
				t.Fatalf("seed %d: job %d starts at %d, want %d", seed, i, got.Jobs[i].FirstStart, want[i])
			}
		}
	}
}

// naiveEASY returns the starts of all jobs. Something can change when a job is
// submitted, ends, or is predicted to end; it looks at the whole queue each time.
func naiveEASY(w *workload.Workload, gpus int) []workload.Time {
	n := len(w.Jobs)
	start := make([]workload.Time, n)
	length := make([]workload.Span, n) // predicted, of running jobs
	for i := range start {
		start[i] = workload.Unknown
	}
	var waiting, running []int
	size := func(i int) int { return int(w.Jobs[i].Need.GPUs) }
	free, next := gpus, 0
	for {
		now := workload.Never
		if next < n {
			now = w.Jobs[next].Submit
		}
		for _, i := range running {
			now = min(now, start[i]+w.Actual[i].Duration, start[i]+length[i])
		}
		if now == workload.Never {
			return start
		}
		running = slices.DeleteFunc(running, func(i int) bool {
			ended := start[i]+w.Actual[i].Duration <= now
			if ended {
				free += size(i)
			}
			return ended
		})
		for ; next < n && w.Jobs[next].Submit == now; next++ {
			waiting = append(waiting, next)
		}
		for _, i := range running {
			for start[i]+length[i] <= now { // it runs on beyond its estimate
				length[i] *= 2
			}
		}
		// The first job that does not fit is the head: at its date it fits by
		// predicted ends, with spare GPUs left over.
		head, date, spare := -1, workload.Time(math.MaxInt64), 0
		waiting = slices.DeleteFunc(waiting, func(i int) bool {
			switch {
			case size(i) > free:
				if head < 0 {
					head = i
					date, spare = headDate(w, running, start, length, free, size(i))
				}
				return false
			case head >= 0 && now+w.Jobs[i].Estimate > date:
				if size(i) > spare {
					return false
				}
				spare -= size(i)
			}
			start[i], length[i] = now, w.Jobs[i].Estimate
			running = append(running, i)
			free -= size(i)
			return true
		})
	}
}

// headDate tries every predicted end as the head's date.
func headDate(w *workload.Workload, running []int, start, length []int64, free, need int) (workload.Time, int) {
	date, spare := workload.Never, 0
	for _, i := range running {
		at, then := start[i]+length[i], free
		for _, k := range running {
			if start[k]+length[k] <= at {
				then += int(w.Jobs[k].Need.GPUs)
			}
		}
		if then >= need && at < date {
			date, spare = at, then-need
		}
	}
	return date, spare
}
