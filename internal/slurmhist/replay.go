package slurmhist

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/whatif"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// Placements says whether what was recorded is possible on the cluster as it was made.
type Placements struct {
	Runs  int `json:"runs"`
	Legal int `json:"legal"`
	// Untold are runs whose nodes are not recorded.
	Untold int `json:"untold"`
	// Illegal counts runs by why they would not be possible.
	Illegal []Item `json:"illegal"`
}

// Fidelity says how near a replay of the recorded policy comes to what happened.
type Fidelity struct {
	Policy     string     `json:"policy"`
	Placements Placements `json:"placements"`
	// All is of all jobs of the window, Sizes of those of a size.
	All   Distance   `json:"all"`
	Sizes []Distance `json:"sizes"`
	// Occupancy that happened, and of the replay.
	Occupancy [2]float64 `json:"occupancy"`
	// Refused are jobs that can never run on the cluster as it was made; RefusedJobs says why.
	Refused     int    `json:"refused"`
	RefusedJobs []Item `json:"refused_jobs,omitempty"`
	// Line says it in a line.
	Line string `json:"line"`
}

// Distance is how far starts are apart. Times are seconds; of pairs the first is what happened,
// the second the replay.
type Distance struct {
	Size    string     `json:"size,omitempty"`
	Jobs    int        `json:"jobs"`
	WaitP50 [2]float64 `json:"wait_p50"`
	WaitP90 [2]float64 `json:"wait_p90"`
	// Error is the median of how far starts are apart, either way.
	Error float64 `json:"median_start_error"`
	// Correlation of the waits by rank (Spearman), nil where all are the same.
	Correlation *float64 `json:"wait_rank_correlation,omitempty"`
}

// Replay holds the history to a replay under a policy, and puts what comes of it into the report.
func (h *History) Replay(ctx context.Context, p *policy.Policy, progress func(done, total int)) error {
	past := &whatif.Past{Workload: h.Workload, Cluster: h.Cluster, Policy: p, Runs: h.Runs, Window: h.Window(), Progress: progress}
	check, res, err := past.Check(ctx)
	if err != nil {
		return err
	}
	f := &Fidelity{Policy: p.Name, Placements: h.Placements(), Occupancy: [2]float64{check.Recorded.Occupancy, check.Replay.Occupancy}, Refused: check.Replay.Refused}
	f.All, f.Sizes = h.distances(res)
	f.RefusedJobs = h.refused(res)
	f.Line = f.line()
	h.Report.Check, h.Report.Fidelity = check, f
	return nil
}

// refused says which jobs never ran in the replay, and why.
func (h *History) refused(res *sim.Result) []Item {
	var t tally
	for _, r := range res.Refusals {
		cause := "more than the nodes of one GPU type and partition have, or than a node has"
		if r.Reason.Code != fact.NeverFits {
			cause = r.Reason.Code.String()
		}
		t.add(cause, h.drafts[r.Job].hours, h.Workload.Jobs[r.Job].ID)
	}
	return t.list()
}

// Window of the figures; the default where the history has no beginning of its own.
func (h *History) Window() metrics.Window {
	if h.since == 0 {
		return metrics.Window{}
	}
	_, last := h.Workload.Window()
	return metrics.Window{From: h.since, To: max(last, h.since) + 1}
}

// sizes are the classes of metrics.
var sizes = []struct {
	name string
	most int32
}{{"1", 1}, {"2-7", 7}, {"8", 8}, {"9-64", 64}, {">64", math.MaxInt32}}

// distances compares starts, of all jobs and by size.
func (h *History) distances(res *sim.Result) (Distance, []Distance) {
	all := make([][][2]float64, len(sizes)+1)
	first := firstStarts(h)
	for i := range h.Workload.Jobs {
		j := &h.Workload.Jobs[i]
		if j.Submit < h.since || res.Jobs[i].FirstStart == workload.Unknown {
			continue
		}
		x := [2]float64{float64(first[i]-j.Submit) / 1000, float64(res.Jobs[i].FirstStart-j.Submit) / 1000}
		k := slices.IndexFunc(sizes, func(s struct {
			name string
			most int32
		}) bool {
			return j.Need.TotalGPUs() <= s.most
		})
		all[0], all[k+1] = append(all[0], x), append(all[k+1], x)
	}
	out := []Distance{}
	for k := range sizes {
		if len(all[k+1]) > 0 {
			d := distance(all[k+1])
			d.Size = sizes[k].name
			out = append(out, d)
		}
	}
	return distance(all[0]), out
}

func firstStarts(h *History) []workload.Time {
	out := make([]workload.Time, len(h.Workload.Jobs))
	for i := range h.Runs {
		if r := &h.Runs[i]; r.Attempt == 1 {
			out[r.Job] = r.Start
		}
	}
	return out
}

func distance(pairs [][2]float64) Distance {
	d := Distance{Jobs: len(pairs)}
	if len(pairs) == 0 {
		return d
	}
	var errs []float64
	for k := range 2 {
		v := make([]float64, len(pairs))
		for i := range pairs {
			v[i] = pairs[i][k]
		}
		slices.Sort(v)
		d.WaitP50[k], d.WaitP90[k] = rank(v, 50), rank(v, 90)
	}
	for _, p := range pairs {
		errs = append(errs, math.Abs(p[0]-p[1]))
	}
	slices.Sort(errs)
	d.Error = rank(errs, 50)
	if c := spearman(pairs); !math.IsNaN(c) {
		c = math.Round(c*1e4) / 1e4
		d.Correlation = &c
	}
	return d
}

// rank is a percentile by nearest rank of sorted values.
func rank(v []float64, p int) float64 {
	return v[max((len(v)*p+99)/100, 1)-1]
}

// spearman is the correlation of ranks, ties at their mean; NaN where one side is all the same.
func spearman(pairs [][2]float64) float64 {
	a, b := ranks(pairs, 0), ranks(pairs, 1)
	mean := float64(len(pairs)+1) / 2
	var ab, aa, bb float64
	for i := range a {
		x, y := a[i]-mean, b[i]-mean
		ab, aa, bb = ab+float64(x*y), aa+float64(x*x), bb+float64(y*y)
	}
	return ab / math.Sqrt(float64(aa*bb))
}

func ranks(pairs [][2]float64, k int) []float64 {
	at := make([]int, len(pairs))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(x, y int) int { return cmp.Compare(pairs[x][k], pairs[y][k]) })
	out := make([]float64, len(pairs))
	for i := 0; i < len(at); {
		n := i
		for n < len(at) && pairs[at[n]][k] == pairs[at[i]][k] {
			n++
		}
		for mean := float64(i+1+n) / 2; i < n; i++ {
			out[at[i]] = mean
		}
	}
	return out
}

// line says in one line how far to believe a replay.
func (f *Fidelity) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "How far to believe it: replayed under the recorded policy as far as it is modelled, waits are %s in the median (really %s), %s at p90 (really %s), occupancy %s (really %s); starts are off by %s in the median",
		Seconds(f.All.WaitP50[1]), Seconds(f.All.WaitP50[0]), Seconds(f.All.WaitP90[1]), Seconds(f.All.WaitP90[0]), percent(f.Occupancy[1]), percent(f.Occupancy[0]), Seconds(f.All.Error))
	if f.All.Correlation != nil {
		fmt.Fprintf(&b, ", rank correlation of waits %.2f", *f.All.Correlation)
	}
	if p := f.Placements; p.Runs-p.Untold-p.Legal > 0 {
		fmt.Fprintf(&b, "; %d of %d recorded placements are not possible on this cluster", p.Runs-p.Untold-p.Legal, p.Runs)
	}
	if f.Refused > 0 {
		fmt.Fprintf(&b, "; %d jobs can never run on it", f.Refused)
	}
	return b.String() + "."
}

// Seconds writes a length of time given in seconds.
func Seconds(seconds float64) string {
	d := workload.Span(math.Round(seconds)) * workload.Second
	if d >= workload.Hour {
		d = (d + workload.Minute/2) / workload.Minute * workload.Minute
	}
	if d == 0 {
		return "0s"
	}
	return yamlx.Duration(d).String()
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// Placements replays the recorded starts themselves: whether each was possible, on its nodes, with
// what ran there.
func (h *History) Placements() Placements {
	p := Placements{Runs: len(h.Runs)}
	type moment struct {
		at    workload.Time
		start bool
		run   int32
	}
	list := make([]moment, 0, 2*len(h.Runs))
	for i := range h.Runs {
		if h.Runs[i].End > h.Runs[i].Start {
			list = append(list, moment{h.Runs[i].End, false, int32(i)})
		}
		list = append(list, moment{h.Runs[i].Start, true, int32(i)})
	}
	slices.SortStableFunc(list, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b2i(a.start), b2i(b.start)))
	})
	l := &ledger{h: h, used: make([]int64, len(h.Cluster.Nodes)), held: map[int32][]grant{}}
	var illegal tally
	for _, m := range list {
		if !m.start {
			l.release(m.run)
			continue
		}
		cause := l.take(m.run)
		switch cause {
		case "":
			p.Legal++
		case untold:
			p.Untold++
		default:
			r := &h.Runs[m.run]
			illegal.add(cause, gpuHours(r.Milli/1000, r.End-r.Start), h.Workload.Jobs[r.Job].ID)
		}
		if h.Runs[m.run].End <= h.Runs[m.run].Start {
			l.release(m.run)
		}
	}
	if p.Illegal = illegal.list(); p.Illegal == nil {
		p.Illegal = []Item{}
	}
	return p
}

const untold = "its nodes are not recorded"

type grant struct {
	node int32
	gpus int64
}

// ledger keeps who has which GPUs in the record.
type ledger struct {
	h    *History
	used []int64
	held map[int32][]grant
	// whole are the nodes of the run at hand, split those that are several of one; share is what is
	// still to come from a node.
	whole, split []int32
	share        map[int32]*int64
}

func (l *ledger) release(run int32) {
	for _, g := range l.held[run] {
		l.used[g.node] -= g.gpus
	}
	delete(l.held, run)
}

// take books a run on its nodes, and says why it is not possible; then it is booked as far as it
// is.
func (l *ledger) take(run int32) string {
	h := l.h
	hosts := h.places[run]
	if len(hosts) == 0 {
		return untold
	}
	d := h.types[run]
	l.whole, l.split, l.share = l.whole[:0], l.split[:0], map[int32]*int64{}
	for _, w := range hosts {
		at := h.nodes[h.g.words.get(w)]
		share := (d.gpus + int64(len(hosts)) - 1) / int64(len(hosts))
		for _, n := range at {
			l.share[n] = &share
		}
		switch len(at) {
		case 0:
			return "ran on a node that the cluster does not have"
		case 1:
			l.whole = append(l.whole, at...)
		default:
			l.split = append(l.split, at...)
		}
	}
	nodes := append(l.whole, l.split...) //nolint:gocritic // whole is made anew each time
	wants := []struct {
		kind  string
		count int64
	}{}
	rest := d.gpus
	for _, t := range d.types {
		wants = append(wants, struct {
			kind  string
			count int64
		}{t.Name, t.Count})
		rest -= t.Count
	}
	if rest > 0 {
		wants = append(wants, struct {
			kind  string
			count int64
		}{"", rest})
	}
	cause := ""
	for _, w := range wants {
		if c := l.book(run, nodes, w.kind, w.count); c != "" && cause == "" {
			cause = c
		}
	}
	j := &h.Workload.Jobs[h.Runs[run].Job]
	for _, n := range nodes {
		x := &h.Cluster.Nodes[n]
		outside := len(x.Partitions) > 0 && !slices.Contains(x.Partitions, j.Partition)
		if in := h.within[j.Partition]; in != nil && !in[n] {
			outside = true
		}
		if cause == "" && j.Partition != "" && outside {
			cause = "ran on a node that is not in its partition"
		}
	}
	return cause
}

// book takes GPUs of a type on some nodes, as evenly as may be: each of Slurm's nodes gives its share
// first. Of a node with several types, which is several here, it is not told how many of each, so
// the others come before it.
func (l *ledger) book(run int32, nodes []int32, kind string, count int64) string {
	var at []int32
	var installed, free int64
	for _, n := range nodes {
		x := &l.h.Cluster.Nodes[n]
		if kind != "" && x.GPUType != "" && x.GPUType != kind {
			continue
		}
		at = append(at, n)
		installed, free = installed+int64(x.GPUs), free+max(int64(x.GPUs)-l.used[n], 0)
	}
	cause := ""
	switch {
	case installed < count:
		cause = "had more GPUs than its nodes have"
	case free < count:
		cause = "its nodes were full: more GPUs in use than they have"
	}
	left := count
	for _, n := range at { // evenly, then wherever there is room
		take := min(left, *l.share[n], max(int64(l.h.Cluster.Nodes[n].GPUs)-l.used[n], 0))
		left -= l.hold(run, n, take)
		*l.share[n] -= take
	}
	for _, n := range at {
		left -= l.hold(run, n, min(left, max(int64(l.h.Cluster.Nodes[n].GPUs)-l.used[n], 0)))
	}
	return cause
}

func (l *ledger) hold(run, node int32, gpus int64) int64 {
	if gpus > 0 {
		l.used[node] += gpus
		l.held[run] = append(l.held[run], grant{node, gpus})
	}
	return gpus
}
