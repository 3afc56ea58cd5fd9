package sim_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestOrdersEqualNaive: under seven orders, strict and skipping, on nodes of two
// types and sizes in partitions, a scheduler that sorts the whole queue at every
// event and tries each job on each node in turn starts every job when the
// simulator does. It has the formulas from the papers, and best fit and the cut of
// gangs from docs/semantics.md 12 and 13.
func TestOrdersEqualNaive(t *testing.T) {
	for _, name := range []string{"fifo", "fifo-skip", "sjf", "sjf-skip", "wfp3", "unicep", "f1"} {
		t.Run(name, func(t *testing.T) {
			p := shipped(t, name)
			for seed := range seeds(200) {
				r := rand.New(rand.NewPCG(uint64(seed), 2))
				spec := randomNodes(r)
				w := randomJobs(r, 30, 16, guess(seed)%allGuesses)
				for i := range w.Jobs {
					w.Jobs[i].Need.GPUTypes = []string{"", "A", "B", "A|B"}[r.IntN(4)]
					w.Jobs[i].Partition = []string{"", "p", "q"}[r.IntN(3)]
				}
				want := newNaiveNodes(w, spec, name).run()
				got := simulateAssuming(t, w, spec, p, sim.Assumptions{})
				for i := range want {
					if got.Jobs[i].FirstStart != want[i] {
						t.Fatalf("seed %d: job %d (%s) starts at %d, want %d", seed, i, &w.Jobs[i].Need, got.Jobs[i].FirstStart, want[i])
					}
				}
			}
		})
	}
}

// randomNodes returns 2 to 6 nodes of 4 or 8 GPUs; partitions p and q, or open to all.
func randomNodes(r *rand.Rand) *cluster.Spec {
	spec := &cluster.Spec{Name: "nodes"}
	for i := range 2 + r.IntN(5) {
		n := cluster.Node{Name: fmt.Sprint("n", i), GPUs: []int32{4, 8}[r.IntN(2)], GPUType: []string{"A", "B"}[r.IntN(2)]}
		switch r.IntN(3) {
		case 0:
			n.Partitions = []string{"p"}
		case 1:
			n.Partitions = []string{"q"}
		}
		spec.Nodes = append(spec.Nodes, n)
	}
	return spec
}

// naiveNodes schedules without preemption on nodes.
type naiveNodes struct {
	w      *workload.Workload
	spec   *cluster.Spec
	policy string
	pools  [][]int // node numbers
	free   []int32 // by node
	start  []workload.Time
	on     []map[int]int32 // GPUs by node, of running jobs
}

func newNaiveNodes(w *workload.Workload, spec *cluster.Spec, policy string) *naiveNodes {
	s := &naiveNodes{w: w, spec: spec, policy: policy, on: make([]map[int]int32, len(w.Jobs))}
	for i, n := range spec.Nodes {
		k := slices.IndexFunc(s.pools, func(p []int) bool {
			first := &spec.Nodes[p[0]]
			return first.GPUType == n.GPUType && slices.Equal(first.Partitions, n.Partitions)
		})
		if k < 0 {
			k, s.pools = len(s.pools), append(s.pools, nil)
		}
		s.pools[k] = append(s.pools[k], i)
		s.free = append(s.free, n.GPUs)
	}
	for range w.Jobs {
		s.start = append(s.start, workload.Unknown)
	}
	return s
}

func (s *naiveNodes) run() []workload.Time {
	var waiting, running []int
	empty := slices.Clone(s.free)
	for next := 0; ; {
		now := workload.Never
		if next < len(s.w.Jobs) {
			now = s.w.Jobs[next].Submit
		}
		for _, i := range running {
			now = min(now, s.start[i]+s.w.Actual[i].Duration)
		}
		if now == workload.Never {
			return s.start
		}
		running = slices.DeleteFunc(running, func(i int) bool {
			if s.start[i]+s.w.Actual[i].Duration > now {
				return false
			}
			for node, g := range s.on[i] {
				s.free[node] += g
			}
			return true
		})
		for ; next < len(s.w.Jobs) && s.w.Jobs[next].Submit == now; next++ {
			if s.place(empty, next) != nil { // else it never fits
				waiting = append(waiting, next)
			}
		}
		slices.SortFunc(waiting, func(a, b int) int {
			return cmp.Or(cmp.Compare(s.key(a, now), s.key(b, now)), cmp.Compare(a, b))
		})
		barred := map[int]bool{} // pools that a blocked job keeps from those behind it
		waiting = slices.DeleteFunc(waiting, func(i int) bool {
			pools := s.poolsFor(i)
			if slices.ContainsFunc(pools, func(p int) bool { return barred[p] }) {
				return false
			}
			if s.on[i] = s.place(s.free, i); s.on[i] == nil {
				for _, p := range pools {
					barred[p] = !strings.HasSuffix(s.policy, "-skip")
				}
				return false
			}
			for node, g := range s.on[i] {
				s.free[node] -= g
			}
			s.start[i] = now
			running = append(running, i)
			return true
		})
	}
}

// key of a waiting job, small first, from the formulas of the papers in seconds;
// real numbers in steps of 2^-20 (docs/semantics.md 1). Jobs are numbered by submission.
func (s *naiveNodes) key(i int, now workload.Time) float64 {
	j := &s.w.Jobs[i]
	estimate, wait := float64(j.Estimate)/1000, float64(now-j.Submit)/1000
	gpus, submit := float64(j.Need.GPUs), float64(j.Submit)/1000
	step := func(x float64) float64 { return math.RoundToEven(x * (1 << 20)) }
	switch strings.TrimSuffix(s.policy, "-skip") {
	case "sjf":
		return estimate
	case "wfp3":
		return step(-math.Pow(wait/estimate, 3) * gpus)
	case "unicep":
		return step(-wait / (math.Log2(max(gpus, 2)) * estimate))
	case "f1":
		return step(math.Log10(estimate)*gpus + 870*math.Log10(max(submit, 1)))
	}
	return 0
}

// poolsFor lists the pools whose type and partition suit the job, in the order of the cluster.
func (s *naiveNodes) poolsFor(i int) (out []int) {
	j := &s.w.Jobs[i]
	for p, nodes := range s.pools {
		n := &s.spec.Nodes[nodes[0]]
		rightType := j.Need.GPUTypes == "" || slices.Contains(strings.Split(j.Need.GPUTypes, "|"), n.GPUType)
		open := len(n.Partitions) == 0 || j.Partition == "" || slices.Contains(n.Partitions, j.Partition)
		if rightType && open {
			out = append(out, p)
		}
	}
	return out
}

// place takes the first pool that has room: the job whole on the node with the
// least GPUs free, or cut into the largest equal tasks that fit a node of the
// pool, fullest nodes first. nil if there is none.
func (s *naiveNodes) place(free []int32, i int) map[int]int32 {
	for _, p := range s.poolsFor(i) {
		task := s.w.Jobs[i].Need.GPUs
		left := int32(1)
		var most int32
		for _, node := range s.pools[p] {
			most = max(most, s.spec.Nodes[node].GPUs)
		}
		if task > most {
			for task = most; s.w.Jobs[i].Need.GPUs%task != 0; task-- {
			}
			left = s.w.Jobs[i].Need.GPUs / task
		}
		out := map[int]int32{}
		nodes := slices.Clone(s.pools[p])
		slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(free[a], free[b]) })
		for _, node := range nodes {
			if n := min(left, free[node]/task); n > 0 {
				out[node] = n * task
				left -= n
			}
		}
		if left == 0 {
			return out
		}
	}
	return nil
}
