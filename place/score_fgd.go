package place

import (
	"math"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

// gradient is fragmentation gradient descent: the task goes to the node, and a
// part to the GPU, where the expected fragmentation grows least.
//
// The fragmentation of a node for one target task is all that is left of its
// GPUs if the task does not fit there, else what is left of those GPUs that are
// too full for the task. The expectation is over the target tasks: what the
// workload typically asks for, see [Placer.SetTargets].
type gradient struct {
	layout  *cluster.Layout
	targets targets
	// next is the weight of the targets at which the tables are made anew.
	next int64
	// version counts the tables; scores of another version are void.
	version uint64
	typical []target
	pools   []fragTable
}

func (r *gradient) prepare([]*cluster.Free) uint64 { return r.version }

func newGradient(l *cluster.Layout) *gradient {
	return &gradient{layout: l, pools: make([]fragTable, len(l.Pools))}
}

// fragTable answers, for the targets that may use a pool, how fragmented a node is.
type fragTable struct {
	// weight of all targets, those of other GPU types and without GPUs included.
	weight int64
	// cpus are the cores asked for, ascending.
	cpus   []int64
	groups []fragGroup
}

// fragGroup are targets that differ in cores only; fits[r] is the weight of
// those that ask for no more cores than the r smallest of fragTable.cpus.
type fragGroup struct {
	milli, gpus int32
	fits        []int64
}

func newFragTable(ts []target, pool *cluster.Pool) fragTable {
	var t fragTable
	var usable []target
	for i := range ts {
		t.weight += ts[i].weight
		if ts[i].gpus > 0 && allows(ts[i].types, pool.GPUType) {
			usable = append(usable, ts[i])
			t.cpus = append(t.cpus, ts[i].cpu)
		}
	}
	slices.Sort(t.cpus)
	t.cpus = slices.Compact(t.cpus)
	for i := range usable {
		u := &usable[i]
		at := slices.IndexFunc(t.groups, func(g fragGroup) bool { return g.milli == u.milli && g.gpus == u.gpus })
		if at < 0 {
			at = len(t.groups)
			t.groups = append(t.groups, fragGroup{milli: u.milli, gpus: u.gpus, fits: make([]int64, len(t.cpus)+1)})
		}
		r, _ := slices.BinarySearch(t.cpus, u.cpu)
		for r++; r <= len(t.cpus); r++ {
			t.groups[at].fits[r] += u.weight
		}
	}
	return t
}

func allows(types, gpuType string) bool {
	n := workload.Need{GPUTypes: types}
	return n.AllowsType(gpuType)
}

// frag is the weighted fragmentation, in milli-GPU, of a node with so many cores left.
func (t *fragTable) frag(left []int32, cpu int64) int64 {
	var sum int64
	for _, l := range left {
		sum += int64(l)
	}
	r, found := slices.BinarySearch(t.cpus, cpu)
	if found {
		r++ // those that ask for exactly as many fit, too
	}
	out := t.weight * sum
	for g := range t.groups {
		group := &t.groups[g]
		w := group.fits[r]
		if w == 0 {
			continue
		}
		var n int32
		var usable int64
		for _, l := range left {
			if l >= group.milli {
				n++
				usable += int64(l)
			}
		}
		if n >= group.gpus {
			out -= w * usable
		}
	}
	return out
}

func (r *gradient) score(f *cluster.Free, i int32, s *Shape, k int) (int64, uint64) {
	t := &r.pools[r.layout.PoolOf[f.Pool().Nodes[i]]]
	var room [cluster.MaxGPUsPerNode]int32
	left := room[:bits.Len64(f.Full(i))]
	for g := range left {
		left[g] = f.Left(i, g)
	}
	before, cpu := t.frag(left, f.CPU(i)), f.CPU(i)-s.Need.CPU
	if !s.Need.Fractional() {
		gpus := s.usual(f, i, k)
		for m := gpus; m != 0; m &= m - 1 {
			left[bits.TrailingZeros64(m)] = 0
		}
		return t.growth(t.frag(left, cpu) - before), gpus
	}
	best, gpus := int64(0), uint64(0)
	for g, l := range left {
		if l < s.Need.Milli || slices.Contains(left[:g], l) {
			continue // of GPUs with as much left, the first stands for all
		}
		left[g] = l - s.Need.Milli
		if bad := t.growth(t.frag(left, cpu) - before); gpus == 0 || bad < best {
			best, gpus = bad, 1<<g
		}
		left[g] = l
	}
	return best, gpus
}

// growth squashes a growth of the weighted fragmentation into -100..0 as the
// study does: -floor(100 x sigmoid(-growth)), the growth in GPUs.
func (t *fragTable) growth(d int64) int64 {
	if t.weight == 0 {
		return 0
	}
	// In 1/1024 milli-GPU, rounded down.
	x := -d * 1024
	if x < 0 {
		x -= t.weight - 1
	}
	x /= t.weight
	n, found := slices.BinarySearch(logits[:], x)
	if found {
		n++
	}
	return -int64(n)
}

// logits[n-1] is where 100 x sigmoid reaches n: ln(n/(100-n)), in 1/1024 milli-GPU.
var logits = func() (out [99]int64) {
	for k := range out {
		n := float64(k + 1)
		out[k] = int64(math.Ceil(float64(1024*1000) * float64(math.Log(n/(100-n)))))
	}
	return out
}()
