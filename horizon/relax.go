package horizon

import "slices"

// Relaxation is a problem with the places forgotten: how much room each step has, and
// which starts of which jobs a block could be free for. Bounds are made from it.
type Relaxation struct {
	// Fixed is what pinned steps of jobs bring whatever is planned.
	Fixed float64
	// Levels are the block sizes that are counted: 1, 2, 4 ..., and sizes of jobs between them.
	Levels []int
	// Steps of the horizon.
	Steps []Room
	Items []Item
	// Offsets are lists of the first slots that blocks may have, by size, alignment and type.
	Offsets [][]int
}

// Room is one step without the slots of pinned jobs.
type Room struct {
	// Slots that are neither closed nor pinned, and how many that are.
	Slots Set
	Open  int
	// Whole is the number of blocks of each level that those slots, less real-time work that
	// cannot have gone yet, leave whole.
	Whole []int
}

// Item is a job that is not pinned to its end.
type Item struct {
	// Job is its index, Size its slots, Steps what it has to run beyond pinned steps.
	Job, Size, Steps int
	// Value[s] is what it brings if it starts in step s, or, where it may be cut, what its
	// step s brings at most; May[s] tells whether it may.
	Value []float64
	May   []bool
	// Cut: it may be interrupted; a relaxation may cut it anywhere.
	Cut bool
	// Offsets is the index of the list of the first slots that its blocks may have.
	Offsets int
}

// Relax returns the relaxation of a problem that has passed [Problem.Check].
func Relax(p *Problem) *Relaxation { return relax(compile(p)) }

func relax(in *instance) *Relaxation {
	T := in.steps
	r := &Relaxation{Steps: make([]Room, T), Levels: in.levels()}
	aligned := in.holdAligned()
	found := make(Set, in.words)
	for t := range T {
		open := in.row(in.open, t)
		r.Steps[t] = Room{Slots: open, Open: open.Len(), Whole: make([]int, len(r.Levels))}
		for l, k := range r.Levels {
			r.Steps[t].Whole[l] = r.Steps[t].Open / k
			if aligned && k&(k-1) == 0 {
				sh := newShape(k, k)
				sh.starts(found, open)
				in.clearable(found, k, t)
				r.Steps[t].Whole[l] = min(r.Steps[t].Whole[l], found.Len())
			}
		}
	}
	lists, of := in.offsets()
	r.Offsets = lists
	room := roomFor{in: in, of: of, blocks: map[int][]Set{}, starts: map[[2]int][]bool{}}
	for i := range in.jobs {
		j := &in.jobs[i]
		one := float64(in.unit)
		ends := j.release + j.steps // no earlier
		if j.kept > 0 {
			r.Fixed += float64(j.inTime(in.raw(j, 0, j.kept), ends)) / one
		}
		if j.kept == j.steps {
			continue
		}
		it := Item{Job: i, Size: j.size, Steps: j.steps - j.kept, Cut: j.min > 0, Offsets: of[i], Value: make([]float64, T), May: room.job(i)}
		for s := range T {
			if it.Cut {
				it.Value[s] = float64(j.inTime(in.raw(j, s, 1), max(s+1, ends))) / one
			} else {
				it.Value[s] = float64(in.worth(j, s, j.steps)) / one
			}
		}
		r.Items = append(r.Items, it)
	}
	return r
}

// levels are the powers of two, and the largest of the other sizes that jobs have.
func (in *instance) levels() []int {
	const others = 16
	var list []int
	for i := range in.jobs {
		if j := &in.jobs[i]; j.size&(j.size-1) != 0 && j.kept < j.steps {
			list = append(list, j.size)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	list = list[max(0, len(list)-others):]
	for k := 1; k <= in.gpus; k <<= 1 {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// holdAligned tells whether every block that is not pinned holds aligned blocks of each smaller
// power of two.
func (in *instance) holdAligned() bool {
	for i := range in.shapes {
		if sh := &in.shapes[i]; sh.align%sh.whole() != 0 {
			return false
		}
	}
	for i := range in.jobs {
		// One that another program placed may go on where it is.
		if j := &in.jobs[i]; j.kept < j.steps && j.running != nil && j.running.Offset%in.shapes[j.shape].whole() != 0 {
			return false
		}
	}
	return true
}

// roomFor knows in which steps blocks could be free for work that is alone with what is pinned
// and with the least that real-time work must hold.
type roomFor struct {
	in     *instance
	of     []int         // which way the blocks of each job lie
	blocks map[int][]Set // by that: their first slots in each step
	starts map[[2]int][]bool
}

// job finds in which steps a job could start, or, where it may be cut, run.
func (r *roomFor) job(i int) []bool {
	in := r.in
	j, T := &in.jobs[i], in.steps
	n := j.steps
	if j.min > 0 {
		n = 1
	}
	key := [2]int{r.of[i], n}
	if r.starts[key] == nil {
		r.starts[key] = r.free(i, n)
	}
	may := make([]bool, T)
	if last := min(j.last, T-1); j.release <= last {
		copy(may[j.release:last+1], r.starts[key][j.release:])
	}
	if j.running != nil { // it may go on where no other could begin
		clear(may[:min(j.kept, T)])
		for t := j.kept; t < min(j.steps, T) && in.row(in.open, t).hasRange(j.running.Offset, j.size); t++ {
			may[t] = true
		}
	}
	return may
}

// free finds in which steps a block for job i is free for n steps.
func (r *roomFor) free(i, n int) []bool {
	in := r.in
	j, T := &in.jobs[i], in.steps
	blocks := r.blocks[r.of[i]]
	if blocks == nil {
		blocks = make([]Set, T)
		for t := range T {
			blocks[t] = make(Set, in.words)
			if open := in.row(in.open, t); open.Len()-in.floor[t] >= j.size {
				in.shapes[j.shape].starts(blocks[t], open)
				j.keepMay(blocks[t])
				in.clearable(blocks[t], j.size, t)
			}
		}
		r.blocks[r.of[i]] = blocks
	}
	free := make([]bool, T)
	both := make(Set, in.words)
	for s := range T {
		copy(both, blocks[s])
		for t := s + 1; t < min(s+n, T); t++ {
			for i := range both {
				both[i] &= blocks[t][i]
			}
		}
		free[s] = !both.empty()
	}
	return free
}

// clearable drops the blocks of a size from which real-time work cannot have gone by step t:
// its swaps from step 0 on must have sufficed to give up what it held there, and to take
// as many elsewhere as its minimum asks for.
func (in *instance) clearable(blocks Set, size, t int) {
	if in.p.Reading.CountSwaps {
		return
	}
	for a := range in.apps {
		c := &in.apps[a]
		held := in.p.Apps[a].Current
		swaps := c.first + t*c.cap
		if swaps >= 2*len(held) {
			continue
		}
		for _, g := range held {
			for o := max(0, g-size+1); o <= g; o++ {
				if !blocks.Has(o) {
					continue
				}
				inside := 0
				for _, h := range held {
					if o <= h && h < o+size {
						inside++
					}
				}
				if inside+max(0, c.min[t]-(len(held)-inside)) > swaps {
					blocks.remove(o)
				}
			}
		}
	}
}

// whole is the largest power of two up to the size: a block that begins at a multiple of it
// holds size / k aligned blocks of each power of two k up to it.
func (sh *shape) whole() int {
	k := 1
	for 2*k <= sh.size {
		k <<= 1
	}
	return k
}
