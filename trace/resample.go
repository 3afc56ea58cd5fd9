package trace

import (
	"math"
	"math/rand/v2"

	"github.com/escala-sched/escala/workload"
)

// Forever is the duration of a job that does not end within any study: 100 years.
const Forever = 36525 * workload.Day

// maxPicks bounds the jobs of a resampled workload (each takes some 400 bytes).
const maxPicks = 20_000_000

// Resample makes the arrival experiment of FGD (Weng et al., ATC'23) out of a
// pod list: the jobs of the list, then jobs drawn from it uniformly with
// replacement until the GPU capacity asked for reaches ratio x capacityMilli
// (milli-GPU), all in a random order, one per second. Nobody leaves: every job
// runs [Forever]. The same seed gives the same workload.
//
// The list itself is used whole, even where it asks for more than that; read it
// with [Options.KeepUnscheduled], since the pods that never started ask too.
func Resample(w *workload.Workload, capacityMilli int64, ratio float64, seed uint64) (*workload.Workload, error) {
	if capacityMilli <= 0 || !(ratio > 0) || ratio > 1000 {
		return nil, &Error{File: w.Name, Msg: "cannot resample to that ratio or capacity", Want: "a capacity above 0 and a ratio above 0, at most 1000"}
	}
	var asked int64
	for i := range w.Jobs {
		if w.Jobs[i].Service != nil {
			return nil, &Error{File: w.Name, Msg: "job " + quote(w.Jobs[i].ID) + " is a real-time application, whose demand belongs to its own times", Want: "a workload without real-time applications"}
		}
		asked += w.Jobs[i].Need.TotalMilli()
	}
	if asked == 0 {
		return nil, &Error{File: w.Name, Msg: "no job asks for a GPU", Want: "a workload of GPU jobs"}
	}
	target := int64(math.Ceil(ratio * float64(capacityMilli)))
	rng := rand.New(rand.NewPCG(seed, 0x7e5a3b1c))
	picks := make([]int, len(w.Jobs), 2*len(w.Jobs))
	for i := range picks {
		picks[i] = i
	}
	for n := len(w.Jobs); asked < target; {
		i := rng.IntN(n)
		if picks = append(picks, i); len(picks) > maxPicks {
			return nil, &Error{File: w.Name, Msg: "more than 20 million jobs would be drawn", Want: "a smaller ratio or capacity"}
		}
		asked += w.Jobs[i].Need.TotalMilli()
	}
	order := make([]int, len(picks))
	for i := range order {
		order[i] = i
	}
	rng.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })

	out := *w
	out.Jobs, out.Actual = make([]workload.Job, len(order)), make([]workload.Actual, len(order))
	out.Epoch = workload.Unknown
	out.Rows, out.Dropped = len(order), nil
	out.Notes = append(append([]string(nil), w.Notes...),
		"Resampled: the jobs of the list and copies drawn with replacement, shuffled, one per second; none ever ends.")
	for at, k := range order {
		j := w.Jobs[picks[k]]
		if k >= len(w.Jobs) {
			j.ID += "#" + itoa(k-len(w.Jobs)+1)
		}
		j.Submit = int64(at) * workload.Second
		j.After, j.Deadline, j.Estimate = nil, 0, 0
		out.Jobs[at] = j
		out.Actual[at] = actual(Forever, workload.OutcomeUnknown)
	}
	return &out, nil
}
