package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestContractEqualsNaive: where nothing is evicted or reserved and every job asks
// for one GPU, a scheduler that looks for the next job account by account, from sums
// over all that ever ran, starts every job when the simulator does.
func TestContractEqualsNaive(t *testing.T) {
	starts := 0
	for seed := range seeds(2000) {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		w := randomShared(r)
		tree, err := budget.Parse("b.yaml", []byte(randomAccounts(r)))
		if err != nil {
			t.Fatal(err)
		}
		p := *shipped(t, "contract")
		s := policy.DefaultSharing()
		s.Window = []workload.Span{5 * workload.Minute, 30 * workload.Minute, 168 * workload.Hour}[r.IntN(3)]
		s.CreditCap, s.EvictEvery, s.Reservations, s.Debug.Nodes = -1, workload.Never, policy.Reservations{}, 0
		s.MinRuntimeCap, s.MinRuntimeDefault = 15*workload.Minute, 2*workload.Minute
		p.Sharing = &s
		n := 1 + r.IntN(5)
		x := &naiveShares{w: w, tree: tree, pol: &s, gpus: n}
		res, err := sim.Run(t.Context(), sim.Options{Workload: w, Cluster: &cluster.Spec{Name: "pool", Count: int32(n)}, Policy: &p, Budgets: tree})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range x.run() {
			if got := res.Jobs[i].FirstStart; got != want {
				t.Fatalf("seed %d: job %d of team %s, submitted %d, starts at %d, want %d\n%s", seed, i, w.Jobs[i].Team, w.Jobs[i].Submit, got, want, tree.YAML())
			}
			if want != w.Jobs[i].Submit {
				starts++
			}
		}
	}
	if starts == 0 {
		t.Error("no job had to wait")
	}
}

// randomShared draws jobs of one GPU in bursts, so that many starts fall into one decision.
func randomShared(r *rand.Rand) *workload.Workload {
	w := &workload.Workload{Name: "random", Epoch: workload.Unknown}
	at := workload.Time(r.IntN(100)) * 1000
	for i := range 20 + r.IntN(60) {
		if r.IntN(3) == 0 {
			at += workload.Time(r.IntN(120)) * 1000
		}
		j := workload.Job{ID: fmt.Sprint("j", i), Team: []string{"a", "b", "c", "d"}[r.IntN(4)], Submit: at, Priority: int64(r.IntN(2)), Need: workload.Need{GPUs: 1}}
		if r.IntN(3) > 0 {
			j.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: workload.Span(1+r.IntN(1200)) * 1000}
		}
		w.Jobs = append(w.Jobs, j)
		w.Actual = append(w.Actual, workload.Actual{Duration: workload.Span(r.IntN(600)) * 1000, Start: workload.Unknown, End: workload.Unknown})
	}
	return w
}

// randomAccounts is a tree of one to three levels over four teams; some shares are 0.
func randomAccounts(r *rand.Rand) string {
	share := func() int { return 1 + r.IntN(4) }
	zero := func() int { return r.IntN(2) * share() }
	switch r.IntN(3) {
	case 0:
		return fmt.Sprintf("children: [{name: a, share: %d}, {name: b, share: %d}, {name: c, share: %d}, {name: d, share: %d}]", share(), zero(), share(), share())
	case 1:
		return fmt.Sprintf("children:\n- {name: p, share: %d, children: [{name: a, share: %d}, {name: b, share: %d}]}\n- {name: q, share: %d, children: [{name: c, share: %d}, {name: d, share: %d}]}\n",
			share(), share(), share(), zero(), share(), zero())
	}
	return fmt.Sprintf("children:\n- name: p\n  share: %d\n  children:\n  - {name: q, share: %d, children: [{name: a, share: %d}, {name: b, share: %d}]}\n  - {name: c, share: %d}\n- {name: d, share: %d}\n",
		share(), share(), share(), share(), zero(), share())
}

// naiveShares schedules jobs of one GPU by docs/semantics.md 19.
type naiveShares struct {
	w    *workload.Workload
	tree *budget.Tree
	pol  *policy.Sharing
	gpus int
	// start and end of each job, [workload.Unknown] before.
	start, end []workload.Time
	began      workload.Time
}

func (x *naiveShares) run() []workload.Time {
	for range x.w.Jobs {
		x.start, x.end = append(x.start, workload.Unknown), append(x.end, workload.Unknown)
	}
	x.began = x.w.Jobs[0].Submit
	var waiting, running []int
	for next := 0; ; {
		now := workload.Never
		if next < len(x.w.Jobs) {
			now = x.w.Jobs[next].Submit
		}
		for _, i := range running {
			now = min(now, x.start[i]+x.w.Actual[i].Duration)
		}
		if now == workload.Never {
			return x.start
		}
		running = slices.DeleteFunc(running, func(i int) bool {
			over := x.start[i]+x.w.Actual[i].Duration <= now
			if over {
				x.end[i] = now
			}
			return over
		})
		for ; next < len(x.w.Jobs) && x.w.Jobs[next].Submit == now; next++ {
			waiting = append(waiting, next)
		}
		// Usage is that of the last minute, and does not move while this is decided.
		usage := x.usage(now, running)
		provisional := make([]int64, len(usage))
		var begin []int
		for _, entitled := range []bool{true, false} {
			for len(running)+len(begin) < x.gpus {
				i := x.next(0, waiting, usage, provisional, func(leaf int32) bool { return x.entitled(leaf, usage[leaf], now) == entitled })
				if i < 0 {
					break
				}
				begin = append(begin, i)
				waiting = slices.DeleteFunc(waiting, func(o int) bool { return o == i })
				for n := x.leaf(i); n >= 0; n = x.tree.Nodes[n].Parent {
					provisional[n] += 1000 * workload.Minute
				}
			}
		}
		for _, i := range begin {
			x.start[i] = now
		}
		running = append(running, begin...)
	}
}

func (x *naiveShares) leaf(i int) int32 {
	l, _ := x.tree.Leaf(x.w.Jobs[i].Team, "")
	return l
}

// protected is until when a running job is safe.
func (x *naiveShares) protected(i int) workload.Time {
	d := x.pol.MinRuntimeDefault
	if c := x.w.Jobs[i].Contract; c.HasMinRuntime {
		d = c.MinRuntime
	}
	return x.start[i] + min(d, x.pol.MinRuntimeCap)
}

// usage of each account: what it was charged in the window that ended at the last
// minute, and what protections of now will charge from then on.
func (x *naiveShares) usage(now workload.Time, running []int) []int64 {
	grid := now - now%x.pol.Interval
	u := make([]int64, len(x.tree.Nodes))
	for i := range x.w.Jobs {
		if x.start[i] == workload.Unknown {
			continue
		}
		to := x.end[i]
		if to == workload.Unknown {
			to = now
		}
		add := max(min(to, grid)-max(x.start[i], grid-x.pol.Window), 0)
		if until := x.protected(i); slices.Contains(running, i) && until > now {
			add += until - grid
		}
		for n := x.leaf(i); n >= 0; n = x.tree.Nodes[n].Parent {
			u[n] += 1000 * add
		}
	}
	return u
}

// entitled: below the product share of what the window has offered.
func (x *naiveShares) entitled(leaf int32, usage int64, now workload.Time) bool {
	grid := now - now%x.pol.Interval
	offered := int64(x.gpus) * 1000 * max(min(grid-x.began, x.pol.Window), 0)
	num, den := x.tree.ProductShare(leaf)
	return float64(usage)*float64(den) < float64(num)*float64(offered)
}

// next is the job that goes first below an account, -1 if none waits in a leaf that
// may: at a leaf by priority, then submission; above, that of the child with the least
// usage for its share.
func (x *naiveShares) next(node int32, waiting []int, usage, provisional []int64, may func(int32) bool) int {
	if x.tree.Nodes[node].Leaf() {
		best := -1
		for _, i := range waiting {
			if x.leaf(i) == node && may(node) && (best < 0 || x.w.Jobs[i].Priority > x.w.Jobs[best].Priority) {
				best = i
			}
		}
		return best
	}
	best, of := -1, int32(-1)
	for _, c := range x.tree.Nodes[node].Children {
		i := x.next(c, waiting, usage, provisional, may)
		if i < 0 {
			continue
		}
		if best < 0 {
			best, of = i, c
			continue
		}
		a, b := x.ratio(c, usage, provisional), x.ratio(of, usage, provisional)
		if a < b || a == b && i < best {
			best, of = i, c
		}
	}
	return best
}

// ratio is usage by share; without a share the account comes after all that have one.
func (x *naiveShares) ratio(node int32, usage, provisional []int64) float64 {
	u := float64(usage[node] + provisional[node])
	if share := x.tree.Nodes[node].Share; share > 0 {
		return u / float64(share)
	}
	return 1e18 + u
}
