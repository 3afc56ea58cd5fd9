package place

import (
	"math"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/cluster"
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
	// version counts the tables; scores of another version are void.
	version uint64
	pools   []fragTable
}

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
		if ts[i].gpus > 0 && ts[i].allows(pool.GPUType) {
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

// frag is the weighted fragmentation, in milli-GPU, of a node with so many cores left.
func (t *fragTable) frag(left []int32, cpu int64) int64 {
	var sum int64
	for _, l := range left {
		sum += int64(l)
	}
	r, found := slices.BinarySearch(t.cpus, cpu)
	if found {
		r++
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
	cpu := f.CPU(i)
	before, cpu := t.frag(left, cpu), cpu-s.Need.CPU
	if !s.Need.Fractional() {
		gpus := Lowest(f.Mask(i), s.cuts[k].GPUs)
		for m := gpus; m != 0; m &= m - 1 {
			left[bits.TrailingZeros64(m)] = 0
		}
		return r.quant(t.frag(left, cpu)-before, t.weight), gpus
	}
	best, gpus := int64(0), uint64(0)
	for g, l := range left {
		if l < s.Need.Milli || slices.Contains(left[:g], l) {
			continue // GPUs with as much left are equal, the first stands for them
		}
		left[g] = l - s.Need.Milli
		if bad := r.quant(t.frag(left, cpu)-before, t.weight); gpus == 0 || bad < best {
			best, gpus = bad, 1<<g
		}
		left[g] = l
	}
	return best, gpus
}

var FGDQuant = 0

func (r *gradient) quant(d, w int64) int64 {
	if FGDQuant == 0 || w == 0 {
		return d
	}
	x := float64(-d) / float64(w) / 1000
	return -int64(1 / (1 + math.Exp(-x)) * 100)
}
