package horizon

// Relaxation is a problem with the places forgotten: how much room each step has, and
// which starts of which jobs a block could be free for. Bounds are made from it.
type Relaxation struct {
	// Fixed is what pinned jobs bring whatever is planned.
	Fixed float64
	// Levels are the block sizes that are counted: 1, 2, 4 ...
	Levels []int
	// Steps of the horizon.
	Steps []Room
	Items []Item
}

// Room is one step without the slots of pinned jobs.
type Room struct {
	// Open slots, and of blocks of each level the number that pinned and closed slots, and
	// real-time work that cannot have gone yet, leave whole.
	Open  int
	Whole []int
}

// Item is a job that is not pinned.
type Item struct {
	// Job is its index, Size its slots, Steps its length.
	Job, Size, Steps int
	// Value[s] is what it brings if it starts in step s, or, where it may be cut, what its
	// step s brings; May[s] tells whether it may.
	Value []float64
	May   []bool
	// Cut: it may be interrupted; a relaxation may cut it anywhere.
	Cut bool
}

// Relax returns the relaxation of a problem that has passed [Problem.Check].
func Relax(p *Problem) *Relaxation { return relax(compile(p)) }

func relax(in *instance) *Relaxation {
	T := in.steps
	r := &Relaxation{Steps: make([]Room, T)}
	for k := 1; k <= in.gpus; k <<= 1 {
		r.Levels = append(r.Levels, k)
	}
	pinned := newDecoder(in).pinnedOpen
	aligned := true // every block of k or more holds aligned blocks of k
	for i := range in.shapes {
		aligned = aligned && in.shapes[i].holdsAligned()
	}
	found := make(Set, in.words)
	for t := range T {
		open := in.row(pinned, t)
		r.Steps[t] = Room{Open: open.Len(), Whole: make([]int, len(r.Levels))}
		for l, k := range r.Levels {
			sh := newShape(k, k)
			sh.starts(found, open)
			in.clearable(found, k, t)
			r.Steps[t].Whole[l] = r.Steps[t].Open / k
			if aligned {
				r.Steps[t].Whole[l] = min(r.Steps[t].Whole[l], found.Len())
			}
		}
	}
	for i := range in.jobs {
		j := &in.jobs[i]
		if j.running != nil && j.min == 0 {
			r.Fixed += float64(in.worth(j, 0, j.steps)) / unit
			continue
		}
		it := Item{Job: i, Size: j.size, Steps: j.steps, Cut: j.min > 0, Value: make([]float64, T), May: in.mayStart(j, pinned)}
		for s := range T {
			n := j.steps
			if it.Cut {
				n = 1
			}
			it.Value[s] = float64(in.worth(j, s, n)) / unit
		}
		r.Items = append(r.Items, it)
	}
	return r
}

// mayStart finds in which steps the job could start if it were alone with what is pinned
// and with the least that real-time work must hold.
func (in *instance) mayStart(j *job, pinned []uint64) []bool {
	T := in.steps
	sh := &in.shapes[j.shape]
	blocks := make([]Set, T)
	for t := range T {
		blocks[t] = make(Set, in.words)
		open := in.row(pinned, t)
		if open.Len()-in.floor[t] >= j.size {
			sh.starts(blocks[t], open)
			in.clearable(blocks[t], j.size, t)
		}
	}
	may := make([]bool, T)
	both := make(Set, in.words)
	for s := j.release; s <= min(j.last, T-1); s++ {
		n := j.steps
		if j.min > 0 {
			n = 1
		}
		copy(both, blocks[s])
		for t := s + 1; t < min(s+n, T); t++ {
			for i := range both {
				both[i] &= blocks[t][i]
			}
		}
		may[s] = !both.empty()
	}
	if j.min > 0 && j.running != nil { // its protected steps lie on a block that is taken out
		for t := range min(T, max(0, j.min-j.running.Elapsed)) {
			may[t] = true
		}
	}
	return may
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
		swaps := (t+1)*c.cap - c.used
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

// holdsAligned tells whether a block of the shape always holds size / k aligned blocks of
// each power of two k up to its size.
func (sh *shape) holdsAligned() bool {
	k := 1
	for 2*k <= sh.size {
		k <<= 1
	}
	return sh.align%k == 0
}
