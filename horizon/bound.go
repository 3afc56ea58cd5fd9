package horizon

import (
	"cmp"
	"math"
	"slices"
)

// Bound returns an upper bound of the objective of every legal plan of a problem that has passed
// [Problem.Check]: a Lagrangian relaxation of the time-indexed count model, improved for the
// given number of rounds.
//
// Forget where blocks lie and keep how many fit: of blocks of k GPUs a step has at most
// floor(free / k), for k = 1, 2, 4 ... and sizes that jobs have between. A block of 8 counts
// as two of 4. Each of these limits gets a price; at given prices every job takes the start
// that pays best (or none), every step serves as much real-time work as pays, and the sum
// bounds what any plan reaches. target is the objective of a known plan, which sets the size of the steps.
// O(rounds x jobs x steps).
func Bound(p *Problem, target float64, rounds int) float64 {
	b := newBounder(compile(p))
	return b.run(target, rounds)
}

type bounder struct {
	r      *Relaxation
	blocks [][]float64 // blocks[t][l*sheds+n]: blocks of a level if n real-time GPUs are shed
	fine   [][]float64 // fine[t][n]: what shedding n costs
	price  []float64   // [t*levels+l]
	slope  []float64   // use - capacity at the present prices
	sizes  []int       // of jobs
	bySize []int       // index in sizes of each item
	cost   [][]float64 // by size: price of a block in each step
	sum    [][]float64 // and in all steps before it
	gains  []gain
}

type gain struct {
	value float64
	step  int
}

func newBounder(in *instance) *bounder {
	b := &bounder{r: relax(in)}
	T, L := in.steps, len(b.r.Levels)
	b.price, b.slope = make([]float64, T*L), make([]float64, T*L)
	for t := range T {
		b.capacity(in, t)
	}
	for i := range b.r.Items {
		size := b.r.Items[i].Size
		k := slices.Index(b.sizes, size)
		if k < 0 {
			k = len(b.sizes)
			b.sizes = append(b.sizes, size)
			b.cost, b.sum = append(b.cost, make([]float64, T)), append(b.sum, make([]float64, T+1))
		}
		b.bySize = append(b.bySize, k)
	}
	return b
}

// capacity works out, for step t, what shedding 0, 1, 2 ... GPUs of real-time demand
// costs, and how many blocks of each level fit beside what is left of it. What does not
// fit the step at all is shed in any case.
func (b *bounder) capacity(in *instance, t int) {
	var price []float64 // of the GPUs that may be shed, cheapest first
	demand := 0
	for a := range in.apps {
		c := &in.apps[a]
		demand += c.demand[t]
		for range c.demand[t] - c.min[t] {
			price = append(price, float64(c.penalty)/float64(in.unit))
		}
	}
	slices.Sort(price)
	fine := make([]float64, len(price)+1)
	for n := range price {
		fine[n+1] = fine[n] + price[n]
	}
	forced := min(max(0, demand-b.r.Steps[t].Open), len(price))
	for n := range forced {
		fine[n] = fine[forced]
	}
	blocks := make([]float64, len(b.r.Levels)*len(fine))
	for l, k := range b.r.Levels {
		for n := range fine {
			blocks[l*len(fine)+n] = float64(min(b.r.Steps[t].Whole[l], max(0, b.r.Steps[t].Open-demand+n)/k))
		}
	}
	b.fine, b.blocks = append(b.fine, fine), append(b.blocks, blocks)
}

// evaluate returns the bound at the present prices and leaves the slope.
func (b *bounder) evaluate() float64 {
	T, L := len(b.r.Steps), len(b.r.Levels)
	clear(b.slope)
	b.addUp()
	total := b.r.Fixed
	for i := range b.r.Items {
		total += b.item(&b.r.Items[i], b.cost[b.bySize[i]], b.sum[b.bySize[i]])
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

// addUp works out what blocks of each size cost.
func (b *bounder) addUp() {
	L := len(b.r.Levels)
	for i, size := range b.sizes {
		cost, sum := b.cost[i], b.sum[i]
		for t := range cost {
			c := 0.0
			for l, k := range b.r.Levels {
				if k > size {
					break
				}
				c += float64(b.price[t*L+l] * float64(size/k))
			}
			cost[t] = c
			sum[t+1] = sum[t] + c
		}
	}
}

// item adds the best choice of one job to the slope and returns what it brings.
func (b *bounder) item(it *Item, cost, sum []float64) float64 {
	if it.Cut {
		return b.cut(it, cost)
	}
	T := len(b.r.Steps)
	best, at := 0.0, -1
	for s, may := range it.May {
		if !may {
			continue
		}
		if v := it.Value[s] - (sum[min(s+it.Steps, T)] - sum[s]); v > best {
			best, at = v, s
		}
	}
	if at >= 0 {
		for t := at; t < min(at+it.Steps, T); t++ {
			b.use(it, t)
		}
	}
	return best
}

// cut is the choice of an interruptible job, as if it could be cut anywhere: its best steps.
func (b *bounder) cut(it *Item, cost []float64) float64 {
	b.gains = b.gains[:0]
	for t, may := range it.May {
		if g := it.Value[t] - cost[t]; may && g > 0 {
			b.gains = append(b.gains, gain{g, t})
		}
	}
	slices.SortFunc(b.gains, func(x, y gain) int { return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(x.step, y.step)) })
	total := 0.0
	for _, g := range b.gains[:min(it.Steps, len(b.gains))] {
		total += g.value
		b.use(it, g.step)
	}
	return total
}

func (b *bounder) use(it *Item, t int) {
	L := len(b.r.Levels)
	for l, k := range b.r.Levels {
		if k > it.Size {
			break
		}
		b.slope[t*L+l] += float64(it.Size / k)
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
		if v < best-float64(1e-9*math.Abs(best)) || math.IsInf(best, 1) {
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
		if norm == 0 || gap <= float64(1e-9*math.Abs(target)) {
			break
		}
		step := scale * gap / norm
		for i, g := range b.slope {
			b.price[i] = max(0, b.price[i]+float64(step*g))
		}
	}
	// What rounding of the sums could have lost.
	return best + float64(1e-9*math.Abs(best))
}
