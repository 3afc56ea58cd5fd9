package cluster

import (
	"math"
	"math/bits"
)

// logSize is how many recent changes a Free remembers; a reader that fell
// further behind starts over.
const logSize = 1024

// Free is what is free in one pool, indexed by how many whole GPUs a node has
// left: counting, the best-fitting node and whole nodes cost O(GPUs per node),
// however many nodes there are. Only schedulable nodes count.
//
// Take and Give are O(nodes of the grant). It is not safe for concurrent use.
type Free struct {
	pool *Pool
	// whole GPUs free, and all free capacity in milli-GPU, shared GPUs included.
	whole, milli int64
	// Per node: wholly free GPUs, all its GPUs, cores and memory left, whether it takes no work.
	mask, full []uint64
	cpu, mem   []int64
	shut       []bool
	nShut      int
	// left[i*MaxGPUs+g] is what is left of GPU g where it is shared; nil until one is.
	left []int16
	// parts indexes left by amount.
	parts partIndex
	// partial are the schedulable nodes with something left of a shared GPU.
	partial bitset
	// count[n] and bucket[n] are the schedulable nodes with n whole GPUs free.
	count  []int32
	bucket []bitset
	// places[l][b*(MaxGPUs+1)+n] counts them per topology place.
	places [][]int32
	// grown counts what can turn a "no" into a "yes"; changes counts everything,
	// and log remembers which node the latest changes were on.
	grown, changes uint64
	log            []int32
}

// NewFree returns the index of a pool in which everything is free.
func NewFree(l *Layout, pool int32) *Free {
	p := &l.Pools[pool]
	f := &Free{pool: p}
	if l.Counted() {
		f.whole, f.milli = p.GPUs, p.GPUs*1000
		return f
	}
	n := len(p.Nodes)
	f.mask, f.full, f.shut = make([]uint64, n), make([]uint64, n), make([]bool, n)
	if l.CountsCPU {
		f.cpu = make([]int64, n)
	}
	if l.CountsMemory {
		f.mem = make([]int64, n)
	}
	f.partial = newBitset(n)
	f.count = make([]int32, p.MaxGPUs+1)
	f.bucket = make([]bitset, p.MaxGPUs+1)
	for i := range f.bucket {
		f.bucket[i] = newBitset(n)
	}
	f.log = make([]int32, logSize)
	for _, c := range p.BlockCount {
		f.places = append(f.places, make([]int32, int(c)*int(p.MaxGPUs+1)))
	}
	for i, g := range p.Nodes {
		node := &l.Spec.Nodes[g]
		f.full[i] = 1<<node.GPUs - 1
		f.mask[i] = f.full[i]
		if f.cpu != nil {
			f.cpu[i] = uncounted(node.CPU)
		}
		if f.mem != nil {
			f.mem[i] = uncounted(node.Memory)
		}
		f.enter(int32(i), node.GPUs)
		f.milli += int64(node.GPUs) * 1000
	}
	return f
}

// uncounted turns an amount that the cluster file does not tell into one that never runs out.
func uncounted(n int64) int64 {
	if n == 0 {
		return 1 << 60
	}
	return n
}

// CopyFrom makes f the same as o, an index of the same pool. It keeps f's memory.
func (f *Free) CopyFrom(o *Free) {
	f.whole, f.milli = o.whole, o.milli
	f.grown, f.changes = f.grown+1, f.changes+logSize+1 // whatever was remembered of f is void
	if o.mask == nil {
		return
	}
	copy(f.mask, o.mask)
	copy(f.shut, o.shut)
	f.nShut = o.nShut
	copy(f.cpu, o.cpu)
	copy(f.mem, o.mem)
	if o.left != nil {
		f.left = append(f.left[:0], o.left...)
		f.parts.copyFrom(&o.parts)
	} else {
		f.left, f.parts = nil, partIndex{}
	}
	f.partial.copyFrom(&o.partial)
	copy(f.count, o.count)
	for i := range f.bucket {
		f.bucket[i].copyFrom(&o.bucket[i])
	}
	for i := range f.places {
		copy(f.places[i], o.places[i])
	}
}

// Whole is the number of wholly free GPUs, Milli all free capacity in milli-GPU.
func (f *Free) Whole() int64 { return f.whole }

// Milli is the free capacity in milli-GPU, shared GPUs included.
func (f *Free) Milli() int64 { return f.milli }

// Grown changes whenever something that did not fit may fit now.
func (f *Free) Grown() uint64 { return f.grown }

// Nodes is the number of nodes of the pool, 0 on a cluster without nodes.
func (f *Free) Nodes() int32 { return int32(len(f.mask)) }

// Mask is the set of wholly free GPUs of node i (its place in the pool).
func (f *Free) Mask(i int32) uint64 { return f.mask[i] }

// Full is the set of all GPUs of node i.
func (f *Free) Full(i int32) uint64 { return f.full[i] }

// Shut tells whether node i takes no new work.
func (f *Free) Shut(i int32) bool { return f.shut[i] }

// CPU and Memory left on node i; huge where they are not counted.
func (f *Free) CPU(i int32) int64 {
	if f.cpu == nil {
		return 1 << 60
	}
	return f.cpu[i]
}

// Memory left on node i in MiB; huge where it is not counted.
func (f *Free) Memory(i int32) int64 {
	if f.mem == nil {
		return 1 << 60
	}
	return f.mem[i]
}

// Left is what is left of GPU g of node i, in milli-GPU: 1000 if wholly free.
func (f *Free) Left(i int32, g int) int32 {
	if f.mask[i]>>g&1 == 1 {
		return 1000
	}
	if f.left == nil {
		return 0
	}
	return int32(f.left[int(i)*int(f.pool.MaxGPUs)+g])
}

// Pool is the pool the index is of.
func (f *Free) Pool() *Pool { return f.pool }

// Take removes grants that are free. Grants of other pools are not its business:
// a job lies in one pool.
func (f *Free) Take(gs []Grant) {
	for k := range gs {
		f.take(&gs[k])
	}
}

// Give returns what Take removed.
func (f *Free) Give(gs []Grant) {
	f.grown++
	for k := range gs {
		f.give(&gs[k])
	}
}

// TakeCount and GiveCount move capacity on a cluster without nodes, in milli-GPU.
func (f *Free) TakeCount(milli int64) { f.milli -= milli; f.whole = f.milli / 1000 }

// GiveCount returns what TakeCount removed.
func (f *Free) GiveCount(milli int64) {
	f.grown++
	f.milli += milli
	f.whole = f.milli / 1000
}

// local is the place of a cluster node in the pool. Nodes of a pool mostly
// follow one another, so the guess is nearly always right.
func (f *Free) local(node int32) int32 {
	ns := f.pool.Nodes
	if g := node - ns[0]; int(g) < len(ns) && g >= 0 && ns[g] == node {
		return g
	}
	lo, hi := 0, len(ns)
	for lo < hi {
		if m := (lo + hi) / 2; ns[m] < node {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return int32(lo)
}

func (f *Free) take(g *Grant) {
	i := f.local(g.Node)
	if f.cpu != nil {
		f.cpu[i] -= g.CPU
	}
	if f.mem != nil {
		f.mem[i] -= g.Memory
	}
	if !f.shut[i] {
		f.milli -= int64(g.Count) * int64(g.Milli)
	}
	if g.Milli == 1000 || g.GPUs == 0 {
		f.setMask(i, f.mask[i]&^g.GPUs)
		return
	}
	b := bits.TrailingZeros64(g.GPUs)
	if f.left == nil {
		f.left = make([]int16, len(f.mask)*int(f.pool.MaxGPUs))
	}
	left := f.left[int(i)*int(f.pool.MaxGPUs)+b]
	if f.mask[i]>>b&1 == 1 {
		left = 1000
		f.setMask(i, f.mask[i]&^(1<<b))
	} else {
		f.note(i)
	}
	f.setLeft(i, b, left-int16(g.Milli))
	f.setPartial(i)
}

func (f *Free) give(g *Grant) {
	i := f.local(g.Node)
	if f.cpu != nil {
		f.cpu[i] += g.CPU
	}
	if f.mem != nil {
		f.mem[i] += g.Memory
	}
	if !f.shut[i] {
		f.milli += int64(g.Count) * int64(g.Milli)
	}
	if g.Milli == 1000 || g.GPUs == 0 {
		f.setMask(i, f.mask[i]|g.GPUs)
		return
	}
	b := bits.TrailingZeros64(g.GPUs)
	if left := f.left[int(i)*int(f.pool.MaxGPUs)+b] + int16(g.Milli); left == 1000 {
		f.setLeft(i, b, 0)
		f.setMask(i, f.mask[i]|1<<b)
	} else {
		f.setLeft(i, b, left)
		f.note(i)
	}
	f.setPartial(i)
}

// setMask gives node i another set of free GPUs and files it under its new number.
func (f *Free) setMask(i int32, m uint64) {
	old, now := int32(bits.OnesCount64(f.mask[i])), int32(bits.OnesCount64(m))
	f.mask[i] = m
	if !f.shut[i] && old != now {
		f.leave(i, old)
		f.enter(i, now)
		return
	}
	f.note(i)
}

func (f *Free) enter(i, n int32) {
	f.count[n]++
	f.bucket[n].set(i)
	f.whole += int64(n)
	for l, places := range f.places {
		places[f.pool.Blocks[l][i]*(f.pool.MaxGPUs+1)+n]++
	}
	f.note(i)
}

func (f *Free) leave(i, n int32) {
	f.count[n]--
	f.bucket[n].clear(i)
	f.whole -= int64(n)
	for l, places := range f.places {
		places[f.pool.Blocks[l][i]*(f.pool.MaxGPUs+1)+n]--
	}
}

func (f *Free) note(i int32) {
	f.log[f.changes%logSize] = i
	f.changes++
}

// setPartial files node i under those with something left of a shared GPU, or not.
func (f *Free) setPartial(i int32) {
	base := int(i) * int(f.pool.MaxGPUs)
	if !f.shut[i] {
		for _, l := range f.left[base : base+int(f.pool.MaxGPUs)] {
			if l > 0 {
				f.partial.set(i)
				return
			}
		}
	}
	f.partial.clear(i)
}

// SetShut makes a node take no new work, or take it again. What runs there stays.
func (f *Free) SetShut(node int32, shut bool) {
	i := f.local(node)
	if f.shut[i] == shut {
		return
	}
	n := int32(bits.OnesCount64(f.mask[i]))
	milli := int64(n) * 1000
	if f.left != nil {
		for _, l := range f.left[int(i)*int(f.pool.MaxGPUs) : (int(i)+1)*int(f.pool.MaxGPUs)] {
			milli += int64(l)
		}
	}
	if f.left != nil && shut {
		f.fileParts(i, -1)
	}
	if f.shut[i] = shut; shut {
		f.nShut++
	} else {
		f.nShut--
	}
	if f.left != nil && !shut {
		f.fileParts(i, 1)
	}
	if shut {
		f.milli -= milli
		f.leave(i, n)
		f.note(i)
	} else {
		f.grown++
		f.milli += milli
		f.enter(i, n)
	}
	if f.left != nil {
		f.setPartial(i)
	}
}

// CountWith is the number of schedulable nodes with exactly n whole GPUs free.
func (f *Free) CountWith(n int32) int32 { return f.count[n] }

// NextWith returns the first node >= i (place in the pool) with exactly n whole GPUs free, or -1.
func (f *Free) NextWith(n, i int32) int32 { return f.bucket[n].next(i) }

// NextPartial returns the first node >= i with something left of a shared GPU, or -1.
func (f *Free) NextPartial(i int32) int32 { return f.partial.next(i) }

// Unbounded tasks fit one node as far as its GPUs do.
const Unbounded = math.MaxInt32

// Slots is how many tasks of g whole GPUs fit, at most most on one node, counting no further than enough.
func (f *Free) Slots(g, most int32, enough int64) int64 {
	if f.mask == nil {
		return f.whole / int64(g)
	}
	return slots(f.count, g, most, enough)
}

// PlaceSlots is the same within place b of topology level l.
func (f *Free) PlaceSlots(l int, b, g, most int32, enough int64) int64 {
	w := f.pool.MaxGPUs + 1
	return slots(f.places[l][b*w:(b+1)*w], g, most, enough)
}

// PlaceWhole is the number of whole GPUs free in place b of topology level l.
func (f *Free) PlaceWhole(l int, b int32) int64 { return f.PlaceSlots(l, b, 1, Unbounded, 1<<62) }

func slots(count []int32, g, most int32, enough int64) int64 {
	var sum int64
	top := int32(len(count)) - 1
	// Nodes with k*g..k*g+g-1 free hold k tasks each, at most most: no division in the loop.
	k, edge := int64(1), 2*g
	for n := g; n <= top; n++ {
		if n == edge && k < int64(most) {
			k, edge = k+1, edge+g
		}
		if c := count[n]; c != 0 {
			if sum += int64(c) * k; sum >= enough {
				return sum
			}
		}
	}
	return sum
}

// ChangedSince lets a reader keep a derived index: it calls
// see for each node that changed since the reader's position and returns the new
// position; ok is false if the reader fell too far behind and must start over.
func (f *Free) ChangedSince(pos uint64, see func(node int32)) (now uint64, ok bool) {
	if pos == f.changes {
		return pos, true
	}
	if pos > f.changes || f.changes-pos > logSize {
		return f.changes, false
	}
	for ; pos < f.changes; pos++ {
		see(f.log[pos%logSize])
	}
	return pos, true
}

// Intersect leaves in f only what is free in o as well: what is free throughout
// a stretch of time. Both are indexes of the same pool.
func (f *Free) Intersect(o *Free) {
	f.grown++
	if f.mask == nil {
		f.milli = min(f.milli, o.milli)
		f.whole = f.milli / 1000
		return
	}
	if o.left != nil && f.left == nil {
		f.left = make([]int16, len(f.mask)*int(f.pool.MaxGPUs))
	}
	for i, c := range o.cpu {
		f.cpu[i] = min(f.cpu[i], c)
	}
	for i, m := range o.mem {
		f.mem[i] = min(f.mem[i], m)
	}
	parts := f.left != nil
	own := f.mask
	for i, m := range o.mask[:len(own)] {
		if own[i]&^m != 0 || parts {
			f.intersectParts(int32(i), o)
			f.setMask(int32(i), own[i]&m)
		}
	}
	if o.nShut == 0 {
		return
	}
	for i, shut := range o.shut {
		if shut && !f.shut[i] {
			f.SetShut(f.pool.Nodes[i], true)
		}
	}
}

// intersectParts leaves of each GPU of node i what both have, and recounts the node's capacity.
func (f *Free) intersectParts(i int32, o *Free) {
	if f.left == nil {
		if !f.shut[i] {
			f.milli -= 1000 * int64(bits.OnesCount64(f.mask[i]&^o.mask[i]))
		}
		return
	}
	var was, is int64
	for g := range bits.Len64(f.full[i]) {
		a, b := f.Left(i, g), o.Left(i, g)
		was += int64(a)
		is += int64(min(a, b))
		left := int16(min(a, b))
		if left == 1000 {
			left = 0
		}
		f.setLeft(i, g, left)
	}
	if !f.shut[i] {
		f.milli += is - was
	}
	f.setPartial(i)
}
