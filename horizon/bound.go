package horizon

import (
	"math"
	"slices"
)

// Bound returns an upper bound of the objective of every legal plan of p: a Lagrangian
// relaxation of the time-indexed count model, improved for the given number of rounds.
//
// Forget where blocks lie and keep how many fit: of blocks of k GPUs a step has at most
// floor(free / k), for k = 1, 2, 4 ... A block of 8 counts as two of 4. Each of these
// limits gets a price; at given prices every job takes the start that pays best (or none),
// every step serves as much real-time work as pays, and the sum bounds what any plan
// reaches. target is the objective of a known plan, which sets the size of the steps.
// O(rounds x jobs x steps).
func Bound(p *Problem, target float64, rounds int) float64 {
	b := newBounder(compile(p))
	return b.run(target, rounds)
}

type bounder struct {
	in     *instance
	levels []int       // 1, 2, 4 ...
	blocks [][]float64 // blocks[t][l*(D+1)+shed]: blocks of a level if so many real-time GPUs are shed
	fine   [][]float64 // fine[t][shed]: penalty of shedding so many
	price  []float64   // [t*levels+l]
	slope  []float64   // use - capacity at the present prices
	weight []float64
	cum    []float64
	cost   []float64 // prices per GPU of a block of the level, summed over levels below
	sum    []float64
	runs   []boundJob
	pinned []uint64 // slots that pinned jobs leave
	fixed  float64  // what pinned jobs bring
}

// boundJob is a job with the starts it may choose among.
type boundJob struct {
	*job
	level  int    // its largest level
	pieces bool   // may be cut
	may    []bool // by start (of a step, if it may be cut): a block may be free at all
}

func newBounder(in *instance) *bounder {
	b := &bounder{in: in, pinned: newDecoder(in).pinnedOpen}
	for k := 1; k <= in.gpus; k <<= 1 {
		b.levels = append(b.levels, k)
	}
	T, L := in.steps, len(b.levels)
	b.price, b.slope = make([]float64, T*L), make([]float64, T*L)
	b.weight, b.cum = make([]float64, T), make([]float64, T+1)
	for t, w := range in.weight {
		b.weight[t] = float64(w) / unit
		b.cum[t+1] = float64(in.cum[t+1]) / unit
	}
	for t := range T {
		shed, blocks := b.capacity(t)
		b.fine, b.blocks = append(b.fine, shed), append(b.blocks, blocks)
	}
	for i := range in.jobs {
		j := &in.jobs[i]
		if j.running != nil && j.min == 0 {
			b.fixed += float64(in.worth(j, 0, j.steps)) / unit
			continue
		}
		r := boundJob{job: j, pieces: j.min > 0}
		for l, k := range b.levels {
			if k <= j.size {
				r.level = l
			}
		}
		b.starts(&r)
		b.runs = append(b.runs, r)
	}
	b.cost, b.sum = make([]float64, T), make([]float64, T+1)
	return b
}

// starts finds in which steps the job could start if it were alone with what is pinned
// and with the least that real-time work must hold.
func (b *bounder) starts(r *boundJob) {
	in := b.in
	T := in.steps
	sh := shapeOf(r.size, in.p.Reading.Unaligned)
	room := make([]bool, T)
	blocks := make([]Set, T)
	for t := range T {
		n := len(b.fine[t])
		room[t] = b.blocks[t][r.level*n+n-1] >= math.Floor(float64(r.size)/float64(b.levels[r.level]))
		blocks[t] = make(Set, in.words)
		room[t] = sh.starts(blocks[t], in.row(b.pinned, t)) && room[t]
		b.clearable(blocks[t], r.size, t)
	}
	r.may = make([]bool, T)
	both := make(Set, in.words)
	for s := r.release; s <= min(r.last, T-1); s++ {
		n := r.steps
		if r.pieces {
			n = 1
		}
		copy(both, blocks[s])
		ok := true
		for t := s; t < min(s+n, T) && ok; t++ {
			for i := range both {
				both[i] &= blocks[t][i]
			}
			ok = room[t] && !both.empty()
		}
		r.may[s] = ok
	}
	if r.pieces && r.running != nil { // its protected steps lie on a block that is taken out
		for t := range min(T, max(0, r.min-r.running.Elapsed)) {
			r.may[t] = true
		}
	}
}

// clearable drops the blocks of a size from which real-time work cannot have gone by step t:
// its swaps from step 0 on must have sufficed to give up what it held there, and to take
// as many elsewhere as its minimum asks for.
func (b *bounder) clearable(blocks Set, size, t int) {
	in := b.in
	if in.p.Reading.CountSwaps {
		return
	}
	for a := range in.apps {
		c := &in.apps[a]
		held := in.p.Apps[a].Current
		swaps := (t + 1) * c.cap
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

// capacity returns, for step t, what shedding 0, 1, 2 ... GPUs of real-time demand
// costs, and how many blocks of each level fit beside what is left of it.
func (b *bounder) capacity(t int) (fine, blocks []float64) {
	in := b.in
	var price []float64 // of the GPUs that may be shed, cheapest first
	for a := range in.apps {
		c := &in.apps[a]
		for range c.demand[t] - c.min[t] {
			price = append(price, float64(c.penalty)/unit)
		}
	}
	slices.Sort(price)
	demand := 0
	for a := range in.apps {
		demand += in.apps[a].demand[t]
	}
	open := in.row(b.pinned, t)
	free := open.Len()
	fine = make([]float64, len(price)+1)
	for n := range price {
		fine[n+1] = fine[n] + price[n]
	}
	blocks = make([]float64, len(b.levels)*len(fine))
	found := make(Set, in.words)
	for l, k := range b.levels {
		sh := shapeOf(k, in.p.Reading.Unaligned)
		whole := in.gpus
		sh.starts(found, open)
		b.clearable(found, k, t)
		if !in.p.Reading.Unaligned {
			whole = found.Len()
		}
		for n := range fine {
			blocks[l*len(fine)+n] = float64(min(whole, max(0, free-demand+n)/k))
		}
	}
	return fine, blocks
}

// evaluate returns the bound at the present prices and leaves the slope.
func (b *bounder) evaluate() float64 {
	in := b.in
	T, L := in.steps, len(b.levels)
	clear(b.slope)
	total := b.fixed
	for i := range b.runs {
		total += b.job(&b.runs[i])
	}
	for t := range T {
		n := len(b.fine[t])
		best, at := math.Inf(-1), 0
		for shed := range n {
			v := -b.fine[t][shed]
			for l := range L {
				v += float64(b.price[t*L+l] * b.blocks[t][l*n+shed])
			}
			if v > best {
				best, at = v, shed
			}
		}
		total += best
		for l := range L {
			b.slope[t*L+l] -= b.blocks[t][l*n+at]
		}
	}
	return total
}

// job adds the best choice of one job to the slope and returns what it brings.
func (b *bounder) job(r *boundJob) float64 {
	in := b.in
	T, L := in.steps, len(b.levels)
	// Cost of its block per step: each level below or at its size counts size/level blocks.
	for t := range T {
		c := 0.0
		for l := 0; l <= r.level; l++ {
			c += float64(b.price[t*L+l] * math.Floor(float64(r.size)/float64(b.levels[l])))
		}
		b.cost[t] = c
		b.sum[t+1] = b.sum[t] + c
	}
	if r.pieces {
		return b.free(r)
	}
	best, at := 0.0, -1
	for s := r.release; s < T; s++ {
		if !r.may[s] {
			continue
		}
		end := min(s+r.steps, T)
		v := float64(float64(r.value)*(b.cum[end]-b.cum[s])) * r.share(s+r.steps)
		v -= b.sum[end] - b.sum[s]
		if v > best {
			best, at = v, s
		}
	}
	if at >= 0 {
		for t := at; t < min(at+r.steps, T); t++ {
			b.use(r, t)
		}
	}
	return best
}

// share is what is left of a value at an end.
func (r *boundJob) share(end int) float64 {
	if r.deadline > 0 && end > r.deadline {
		return float64(r.late) / 1000
	}
	return 1
}

// free is the choice of an interruptible job, as if it could be cut anywhere: its best steps.
func (b *bounder) free(r *boundJob) float64 {
	var gains []float64
	var steps []int
	for t := r.release; t < b.in.steps; t++ {
		if !r.may[t] {
			continue
		}
		if g := float64(float64(r.value)*b.weight[t]) - b.cost[t]; g > 0 {
			at, _ := slices.BinarySearchFunc(gains, g, func(a, x float64) int {
				if a >= x {
					return -1
				}
				return 1
			})
			gains, steps = slices.Insert(gains, at, g), slices.Insert(steps, at, t)
		}
	}
	total := 0.0
	for i := range min(r.steps, len(gains)) {
		total += gains[i]
		b.use(r, steps[i])
	}
	return total
}

func (b *bounder) use(r *boundJob, t int) {
	L := len(b.levels)
	for l := 0; l <= r.level; l++ {
		b.slope[t*L+l] += math.Floor(float64(r.size) / float64(b.levels[l]))
	}
}

// run follows the slope from prices of zero. Steps are Polyak's, towards target, and
// are cut when the bound stops falling.
func (b *bounder) run(target float64, rounds int) float64 {
	best := math.Inf(1)
	scale, stale := 1.0, 0
	keep := slices.Clone(b.price)
	for range rounds {
		v := b.evaluate()
		if v < best-1e-9*math.Abs(best) || math.IsInf(best, 1) {
			best, stale = v, 0
			copy(keep, b.price)
		} else if stale++; stale == 12 {
			scale, stale = scale/2, 0
			copy(b.price, keep)
			b.evaluate()
		}
		norm := 0.0
		for i, g := range b.slope {
			if g > 0 || b.price[i] > 0 {
				norm += float64(g * g)
			}
		}
		gap := v - target
		if norm == 0 || gap <= 1e-9*math.Abs(target) {
			break
		}
		step := scale * gap / norm
		for i, g := range b.slope {
			b.price[i] = max(0, b.price[i]+float64(step*g))
		}
	}
	// What rounding of the sums could have lost.
	return best + 1e-9*math.Abs(best)
}
