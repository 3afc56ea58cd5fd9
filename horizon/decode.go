package horizon

import (
	"math/bits"
	"slices"
)

// genome is what the search varies: an order of jobs, and how each of them and the
// real-time applications choose.
type genome struct {
	order  []int32
	push   []uint8 // by job: may it move real-time GPUs away, may it make them fewer
	where  []uint8 // by job: which of the free blocks
	apps   []int32
	tastes []uint8
	solo   bool // applications are laid out one after another
}

// What a job may do to real-time applications that stand where it could start.
const (
	yield = iota // nothing
	shove        // they move, at no cost
	shed         // they may fall short where the job is worth more
	pushes
)

// Which of the blocks free at a job's earliest start it takes.
const (
	snugLow  = iota // in the smallest free block, the lowest
	low             // the lowest
	high            // the highest
	snugHigh        // in the smallest free block, the highest
	wheres
)

// placed is a stretch of a job on a block.
type placed struct {
	job, start, offset int32
	steps              int32 // length, running past the horizon included
	lost               int32 // of these, restart steps at its beginning
}

// decoder turns a genome into a grid in which every rule holds: what it never does is
// the proof. One decode costs O(jobs x steps x words) where jobs of a class share
// what they found, plus O(steps^2 x words) for each time real-time work is moved.
type decoder struct {
	in *instance

	open []uint64 // not used by batch-like work
	free []uint64 // nor by real-time
	n    []int32  // free slots per step

	// blocks are the starts of blocks per step and shape; stale says which of their words
	// (of a row of many words: in which 64th of them) have to be worked out anew.
	blocks        []uint64
	stale         []uint64
	earliest      []int32 // per class: no start before this step
	placed        []placed
	shortfall     int64 // its cost
	rt, rtNew     [][]uint64
	base          baseLayout
	relayouts     int
	tries         int // layouts that a decode may make
	state         []holding
	spare, alive  Set
	cand, block   Set
	next          Set
	window, found Set
	tried         Set
	leftOver      []uint64
	left          []uint64 // the open slots that layout works on
	closing       []uint64 // per step: those of them that are taken later on
}

// baseLayout remembers the layout of real-time work before any job is placed: it
// depends on the applications' genes alone.
type baseLayout struct {
	apps   []int32
	tastes []uint8
	solo   bool
	rt     [][]uint64
	cost   int64
	ok     bool
}

func newDecoder(in *instance) *decoder {
	cells := in.words * in.steps
	d := &decoder{in: in, open: make([]uint64, cells), free: make([]uint64, cells), n: make([]int32, in.steps), leftOver: make([]uint64, cells), closing: make([]uint64, cells)}
	d.blocks = make([]uint64, len(in.shapes)*cells)
	d.stale = make([]uint64, len(in.shapes)*in.steps)
	d.tries = in.tries()
	classes := 0
	for i := range in.jobs {
		classes = max(classes, int(in.jobs[i].class)+1)
	}
	d.earliest = make([]int32, classes)
	for range in.apps {
		d.rt = append(d.rt, make([]uint64, cells))
		d.rtNew = append(d.rtNew, make([]uint64, cells))
		d.base.rt = append(d.base.rt, make([]uint64, cells))
		d.state = append(d.state, holding{held: make(Set, in.words)})
	}
	for _, s := range []*Set{&d.spare, &d.alive, &d.cand, &d.block, &d.next, &d.window, &d.found, &d.tried} {
		*s = make(Set, in.words)
	}
	return d
}

// decode builds the grid of g and returns its objective, false where real-time work
// cannot keep a hard rule.
func (d *decoder) decode(g *genome) (int64, bool) {
	in := d.in
	copy(d.open, in.open)
	d.placed = append(d.placed[:0], in.pinned...)
	if !d.startLayout(g) {
		return 0, false
	}
	clear(d.earliest)
	for t := range in.steps {
		d.refresh(t)
	}
	value := int64(0)
	for i := range d.placed {
		p := &d.placed[i]
		if j := &in.jobs[p.job]; j.min == 0 {
			value += in.worth(j, int(p.start), int(p.steps))
		}
	}
	d.relayouts = 0
	for _, i := range g.order {
		value += d.place(i, g)
	}
	return value - d.shortfall, true
}

func (d *decoder) startLayout(g *genome) bool {
	in := d.in
	if len(in.apps) == 0 {
		d.shortfall = 0
		return true
	}
	b := &d.base
	if !slices.Equal(b.apps, g.apps) || !slices.Equal(b.tastes, g.tastes) || b.solo != g.solo {
		b.apps, b.tastes = append(b.apps[:0], g.apps...), append(b.tastes[:0], g.tastes...)
		b.solo = g.solo
		b.cost, b.ok = d.layout(d.open, g.apps, g.tastes, g.solo)
		for a := range b.rt {
			copy(b.rt[a], d.rtNew[a])
		}
	}
	rt, cost := b.rt, b.cost
	if !b.ok {
		if in.settled == nil {
			return false
		}
		rt, cost = in.settled.rt, in.settled.cost
	}
	d.shortfall = cost
	for a := range d.rt {
		copy(d.rt[a], rt[a])
	}
	return true
}

// refresh works out what is free in step t from what is open and where real-time work is.
func (d *decoder) refresh(t int) {
	W := d.in.words
	n := 0
	for i := t * W; i < (t+1)*W; i++ {
		x := d.open[i]
		for a := range d.rt {
			x &^= d.rt[a][i]
		}
		d.free[i] = x
		n += bits.OnesCount64(x)
	}
	d.n[t] = int32(n)
	for k := t * len(d.in.shapes); k < (t+1)*len(d.in.shapes); k++ {
		d.stale[k] = ^uint64(0)
	}
}

// staleWords is the set of words in which slots [offset, offset+size) lie.
func (in *instance) staleWords(offset, size int) uint64 {
	first, last := offset>>6, (offset+size-1)>>6
	if in.words > 64 {
		first, last = first*64/in.words, last*64/in.words
	}
	return ones(last-first+1) << first
}

// place puts one job where its genes say and returns what that is worth.
func (d *decoder) place(i int32, g *genome) int64 {
	j := &d.in.jobs[i]
	if j.min > 0 {
		return d.placePieces(i, g)
	}
	w := wanted{from: j.release, last: j.last, n: j.steps}
	t, at, pushed := d.choose(i, g, w, int(d.earliest[j.class]))
	if t < 0 {
		d.earliest[j.class] = int32(j.last + 1)
		return 0
	}
	if !pushed {
		d.earliest[j.class] = int32(t)
	}
	d.take(i, t, at, j.steps, 0)
	return d.in.worth(j, t, j.steps)
}

// wanted is a stretch that a job is to have: n steps from some step in [from, last] on, the first
// lost of them without work.
type wanted struct{ from, last, n, lost int }

// choose finds a start and a block for a stretch, pushing real-time work away if the job does
// that and it is any use; -1 for none. No block is free before step earliest.
func (d *decoder) choose(i int32, g *genome, w wanted, earliest int) (t, offset int, pushed bool) {
	j := &d.in.jobs[i]
	t = d.find(j, max(w.from, earliest), w.last, w.n)
	if g.push[i] != yield && len(d.in.apps) > 0 {
		limit := t
		if t < 0 {
			limit = w.last + 1
		}
		if s, offset, ok := d.push(i, g, w, limit); ok {
			return s, offset, true
		}
		if t >= 0 {
			t = d.find(j, t, t, w.n) // a push works on what was found
		}
	}
	if t < 0 {
		return -1, 0, false
	}
	return t, d.choice(j, d.found, t, g.where[i]), false
}

// find returns the first step in [from, last] at which a block for the job is free
// for n steps (or to the end of the horizon), -1 for none; the blocks are in d.found.
func (d *decoder) find(j *job, from, last, n int) int {
	in := d.in
	size := int32(j.size)
	if in.words == 1 {
		return d.find1(j, from, last, n)
	}
	acc := d.found
next:
	for t := from; t <= last; {
		j.mayStart(acc)
		for s := min(t+n, in.steps) - 1; s >= t; s-- {
			any := uint64(0)
			if d.n[s] >= size {
				b := d.starts(j.shape, s)
				for i := range acc {
					acc[i] &= b[i]
					any |= acc[i]
				}
			}
			if any == 0 {
				t = s + 1
				continue next
			}
		}
		return t
	}
	return -1
}

// mayStart sets the first slots that blocks of the job may have.
func (j *job) mayStart(s Set) {
	if j.may != nil {
		copy(s, j.may)
		return
	}
	for i := range s {
		s[i] = ^uint64(0)
	}
}

// find1 is find for a row of at most 64 slots.
func (d *decoder) find1(j *job, from, last, n int) int {
	in := d.in
	sh := &in.shapes[j.shape]
	k, shapes := int(j.shape), len(in.shapes)
	size := int32(j.size)
	may := ^uint64(0)
	if j.may != nil {
		may = j.may[0]
	}
next:
	for t := from; t <= last; {
		acc := may
		for s := min(t+n, in.steps) - 1; s >= t; s-- {
			if d.n[s] < size {
				t = s + 1
				continue next
			}
			at := s*shapes + k
			if d.stale[at] != 0 {
				d.stale[at] = 0
				d.blocks[at] = sh.starts1(d.free[s])
			}
			acc &= d.blocks[at]
			if acc == 0 {
				t = s + 1
				continue next
			}
		}
		d.found[0] = acc
		return t
	}
	return -1
}

// starts returns where blocks of the shape begin in what is free in step s.
func (d *decoder) starts(shape int32, s int) Set {
	in := d.in
	k := s*len(in.shapes) + int(shape)
	b := Set(d.blocks[k*in.words : (k+1)*in.words])
	stale := d.stale[k]
	if stale == 0 {
		return b
	}
	d.stale[k] = 0
	sh, free := &in.shapes[shape], in.row(d.free, s)
	if !sh.within || sh.align > 64 || in.words > 64 {
		sh.starts(b, free)
		return b
	}
	for stale &= ones(in.words); stale != 0; stale &= stale - 1 {
		i := bits.TrailingZeros64(stale)
		b[i] = sh.starts1(free[i])
	}
	return b
}

// choice picks one of the starts in found.
func (d *decoder) choice(j *job, found Set, t int, where uint8) int {
	if where == low {
		return found.lowest()
	}
	if where == high {
		return found.highest()
	}
	if j.size < d.in.gpus {
		d.snug(j, found, t)
	}
	if where == snugHigh {
		return found.highest()
	}
	return found.lowest()
}

// snug keeps of the starts those in the smallest free block of step t.
func (d *decoder) snug(j *job, found Set, t int) {
	in := d.in
	if len(found) == 1 {
		free := d.free[t]
		x := found[0]
		for size := 2 * j.size; size <= in.gpus && size <= 64 && x&(x-1) != 0; size <<= 1 {
			// Starts of free blocks of this size, aligned; a block inside one of them is not snug.
			b := wholeBlocks(free, size)
			for s := 1; s < size; s <<= 1 {
				b |= b << s
			}
			if y := x &^ b; y != 0 {
				found[0] = y
				return
			}
		}
		return
	}
	free := in.row(d.free, t)
	for size := 2 * j.size; size <= 64; size <<= 1 {
		tight := uint64(0)
		for i := range found {
			b := wholeBlocks(free[i], size)
			for s := 1; s < size; s <<= 1 {
				b |= b << s
			}
			d.next[i] = found[i] &^ b
			tight |= d.next[i]
		}
		if tight != 0 {
			copy(found, d.next)
			return
		}
	}
}

// take puts a stretch of job i on the grid.
func (d *decoder) take(i int32, t, offset, n, lost int) {
	d.placed = append(d.placed, placed{job: i, start: int32(t), offset: int32(offset), steps: int32(n), lost: int32(lost)})
	d.occupy(&d.in.jobs[i], t, offset, n)
}

// occupy takes the cells of a stretch.
func (d *decoder) occupy(j *job, t, offset, n int) {
	in := d.in
	end := min(t+n, in.steps)
	shapes := len(in.shapes)
	words := in.staleWords(offset, j.size)
	for k := t * shapes; k < end*shapes; k++ {
		d.stale[k] |= words
	}
	if in.words == 1 {
		m := ^(ones(j.size) << offset)
		for s := t; s < end; s++ {
			d.open[s] &= m
			d.free[s] &= m
			d.n[s] -= int32(j.size)
		}
		return
	}
	for s := t; s < end; s++ {
		in.row(d.open, s).clearRange(offset, j.size)
		in.row(d.free, s).clearRange(offset, j.size)
		d.n[s] -= int32(j.size)
	}
}

// wholeBlocks returns the starts of aligned free blocks of a size, 2 to 64, in a word.
func wholeBlocks(x uint64, size int) uint64 {
	for s := 1; s < size && x != 0; s <<= 1 {
		x &= x >> s
	}
	return x & evenBlocks(size)
}
