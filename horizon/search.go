package horizon

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/escala-sched/escala/internal/splitmix"
)

// Options of the fast mode.
type Options struct {
	// Work is the number of decodes: orders of jobs turned into grids. The plan depends on
	// the problem, Work and Seed alone; 0 = [DefaultWork].
	Work int
	Seed uint64
	// Stop, if set, is asked now and then whether to end early with the best so far.
	Stop func() bool
	// NoBound leaves the bound of the result out; it costs as much as some hundred decodes.
	NoBound bool
}

// boundRounds of [Bound] bring it to within a few thousandths of where it ends.
const boundRounds = 400

// DefaultWork is the number of decodes that fast mode makes unless told otherwise.
const DefaultWork = 2000

// Result is a plan and what it took to find it.
type Result struct {
	Plan  *Plan
	Score Score
	// Work is the number of decodes made.
	Work int
	// Solver names what found the plan.
	Solver string
	// Bound is an upper bound of the objective of every legal plan; BoundBy says where it
	// comes from.
	Bound   float64
	BoundBy string
}

// Gap is how far the plan is from the best possible at most, as a fraction of the bound's
// size: (bound - objective) / |bound|; 0 where both are 0.
func (r *Result) Gap() float64 {
	if d := r.Bound - r.Score.Objective; d > 0 && r.Bound != 0 {
		return d / math.Abs(r.Bound)
	}
	return 0
}

// Fast searches orders of jobs together with the layout of real-time work and returns
// the best grid. It fails if the problem has no legal plan as far as it can see.
func Fast(p *Problem, o Options) (*Result, error) {
	s, err := NewSearch(p, o.Seed)
	if err != nil {
		return nil, err
	}
	if o.Work == 0 {
		o.Work = DefaultWork
	}
	s.Run(o.Work, o.Stop)
	r := s.Result()
	if !o.NoBound {
		r.Bound, r.BoundBy = max(Bound(p, r.Score.Objective, boundRounds), r.Score.Objective), "lagrangian"
	}
	return r, nil
}

// Search is simulated annealing over genomes in rounds of growing length, so that
// more work continues what less work began: its best is never worse.
type Search struct {
	in        *instance
	d         *decoder
	rng       splitmix.Source
	cur, cand genome
	best      genome
	curValue  int64
	bestValue int64
	guesses   []genome // to be tried before anything else
	work      int
	// lack is what each job misses of what it could bring, under cur.
	lack []int64
	// the round: its number, length, how far it is, its temperature at the beginning
	round, length, at int
	hot               int64
}

const (
	firstRound = 160
	nothing    = -1 << 62 // is worse than any plan
)

// NewSearch begins a search: it makes a first plan, and fails where there is none.
func NewSearch(p *Problem, seed uint64) (*Search, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	in := compile(p)
	s := &Search{in: in, d: newDecoder(in), rng: splitmix.Source(seed), bestValue: nothing, length: firstRound}
	if !in.fits {
		return nil, in.noLayout()
	}
	s.guesses = in.guesses()
	for s.bestValue == nothing {
		if len(s.guesses) == 0 {
			if in.settled != nil || !s.d.insist() {
				return nil, in.noLayout()
			}
			s.guesses = in.guesses()
		}
		s.guess()
	}
	return s, nil
}

// Run goes on until so many decodes were made in all, or stop says so. What it finds
// depends on the problem, the seed and the decodes alone, however they are divided into
// calls.
func (s *Search) Run(work int, stop func() bool) {
	for s.work < work {
		if stop != nil && s.work&15 == 0 && stop() {
			return
		}
		switch {
		case len(s.guesses) > 0:
			s.guess()
		case len(s.in.loose) == 0 && len(s.in.apps) == 0: // nothing to vary
			return
		default:
			s.step()
		}
	}
}

// Suggest makes the search try an order of jobs (indices of the problem; what is missing comes
// last) next, among jobs that leave real-time work alone and among jobs that move it.
func (s *Search) Suggest(order []int) {
	var list []int32
	seen := make([]bool, len(s.in.jobs))
	movable := make([]bool, len(s.in.jobs))
	for _, i := range s.in.loose {
		movable[i] = true
	}
	for _, i := range order {
		if movable[i] && !seen[i] {
			seen[i] = true
			list = append(list, int32(i))
		}
	}
	for _, i := range s.in.loose {
		if !seen[i] {
			list = append(list, i)
		}
	}
	for _, like := range []uint8{longest, tightest, topmost} {
		for _, push := range []uint8{yield, shove, shed} {
			g := s.in.newGenome()
			copy(g.order, list)
			g.set(like, push)
			s.guesses = append(s.guesses, g)
		}
	}
}

// Work is the number of decodes made.
func (s *Search) Work() int { return s.work }

// Plan is the best so far.
func (s *Search) Plan() *Plan {
	s.d.decode(&s.best)
	return s.d.plan()
}

// Result is the best plan so far and its score, without a bound.
func (s *Search) Result() *Result {
	plan := s.Plan()
	return &Result{Plan: plan, Score: plan.Score(), Work: s.work, Solver: "search"}
}

func (in *instance) newGenome() genome {
	g := genome{order: slices.Clone(in.loose), push: make([]uint8, len(in.jobs)), where: make([]uint8, len(in.jobs)),
		apps: make([]int32, len(in.apps)), tastes: make([]uint8, len(in.apps))}
	for a := range g.apps {
		g.apps[a] = int32(a)
	}
	return g
}

func (g *genome) set(like, push uint8) {
	for a := range g.tastes {
		g.tastes[a] = like
	}
	for i := range g.push {
		g.push[i] = push
	}
}

func (g *genome) copyFrom(h *genome) {
	g.order = append(g.order[:0], h.order...)
	g.push = append(g.push[:0], h.push...)
	g.where = append(g.where[:0], h.where...)
	g.apps = append(g.apps[:0], h.apps...)
	g.tastes = append(g.tastes[:0], h.tastes...)
	g.solo = h.solo
}

// guesses are the orders that are good by themselves.
func (in *instance) guesses() []genome {
	keys := []func(a, b *job) int{
		func(a, b *job) int {
			return cmp.Or(cmp.Compare(b.value*int64(a.gpus), a.value*int64(b.gpus)), cmp.Compare(b.size, a.size))
		},
		func(a, b *job) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(b.value, a.value)) },
		func(a, b *job) int { return cmp.Compare(b.value, a.value) },
		func(a, b *job) int { return cmp.Compare(in.gain(b), in.gain(a)) },
		func(a, b *job) int {
			return cmp.Or(cmp.Compare(b.value*int64(a.gpus), a.value*int64(b.gpus)), cmp.Compare(a.steps, b.steps))
		},
		func(a, b *job) int {
			return cmp.Or(cmp.Compare(b.value*int64(a.gpus), a.value*int64(b.gpus)), cmp.Compare(b.steps, a.steps))
		},
	}
	likes, pushes := []uint8{longest, topmost, tightest}, []uint8{yield, shove, shed}
	if len(in.apps) == 0 {
		likes, pushes = likes[:1], pushes[:1]
	}
	var orders [][]int32
	for _, key := range keys {
		order := slices.Clone(in.loose)
		slices.SortStableFunc(order, func(a, b int32) int { return key(&in.jobs[a], &in.jobs[b]) })
		orders = append(orders, order)
	}
	var list []genome
	for l, like := range likes {
		for k, order := range orders {
			if l > 0 && k != 0 && k != 2*l {
				continue
			}
			for _, push := range pushes {
				g := in.newGenome()
				copy(g.order, order)
				g.set(like, push)
				list = append(list, g)
			}
		}
	}
	return list
}

// gain is the whole of what a job could bring.
func (in *instance) gain(j *job) int64 { return in.worth(j, j.release, j.steps) }

func (s *Search) guess() {
	g := &s.guesses[0]
	v, ok := s.d.decode(g)
	s.work++
	if ok && v > s.bestValue {
		s.bestValue = v
		s.best.copyFrom(g)
	}
	s.guesses = s.guesses[1:]
	s.at = 0
}

// step makes one step of the present round, or the first of the next. A round starts from
// the best so far and cools down; every other one starts hotter.
func (s *Search) step() {
	if s.at == 0 {
		s.cur.copyFrom(&s.best)
		s.curValue = s.bestValue
		s.lack = s.lack[:0]
		s.hot = max(s.bestValue, -s.bestValue)/4096 + s.in.unit/100
		if s.round%2 == 1 {
			s.hot *= 16
		}
	}
	left := int64(s.length - s.at)
	temp := s.hot / int64(s.length) * left / int64(s.length) * left
	s.cand.copyFrom(&s.cur)
	s.mutate(&s.cand)
	v, ok := s.d.decode(&s.cand)
	s.work++
	if ok && v >= s.curValue-s.slack(temp) {
		s.cur, s.cand = s.cand, s.cur
		s.curValue = v
		s.tally()
		if v > s.bestValue {
			s.bestValue = v
			s.best.copyFrom(&s.cur)
		}
	}
	if s.at++; s.at == s.length {
		s.at = 0
		if s.round%2 == 1 {
			s.length *= 3
		}
		s.round++
	}
}

// slack draws how much worse a candidate may be: exponential with mean temp, to the
// precision that integers give it.
func (s *Search) slack(temp int64) int64 {
	if temp <= 0 {
		return 0
	}
	// -ln u = ln 2 x (leading zeros + what the next bits say), linear between powers of two.
	u := s.rng.Next() | 1
	z := bits.LeadingZeros64(u)
	frac := 256 - int64(u<<z>>55&255)
	x := int64(z)<<8 + frac // in 1/256 of ln 2
	return temp / 369 * x
}

// tally works out what jobs lack in the grid just decoded.
func (s *Search) tally() {
	in := s.in
	if len(s.lack) == 0 {
		s.lack = append(s.lack, make([]int64, len(in.jobs))...)
	}
	for i := range in.jobs {
		s.lack[i] = in.gain(&in.jobs[i])
	}
	for i := range s.d.placed {
		p := &s.d.placed[i]
		s.lack[p.job] -= in.worth(&in.jobs[p.job], int(p.start), int(p.steps))
	}
}

// wanting is the place in the order of one of the jobs that lack most, of a few at random.
func (s *Search) wanting(g *genome) int {
	at := s.rng.Below(len(g.order))
	for range 2 {
		if k := s.rng.Below(len(g.order)); s.lack[g.order[k]] > s.lack[g.order[at]] {
			at = k
		}
	}
	return at
}

func (s *Search) mutate(g *genome) {
	in := s.in
	n := len(g.order)
	for {
		r := 15
		if n > 0 {
			r = s.rng.Below(16)
		}
		switch {
		case r < 5: // swap two
			i, j := s.rng.Below(n), s.rng.Below(n)
			g.order[i], g.order[j] = g.order[j], g.order[i]
		case r < 9 && len(s.lack) > 0 && s.rng.Below(2) == 0: // one that lacks something goes forward
			if i := s.wanting(g); i > 0 {
				move(g.order, i, s.rng.Below(i))
			}
		case r < 9: // move one
			move(g.order, s.rng.Below(n), s.rng.Below(n))
		case r < 11: // neighbours
			if n > 1 {
				i := s.rng.Below(n - 1)
				g.order[i], g.order[i+1] = g.order[i+1], g.order[i]
			}
		case r < 13:
			g.where[g.order[s.rng.Below(n)]] = uint8(s.rng.Below(wheres))
		case r < 15:
			if len(in.apps) == 0 {
				continue
			}
			g.push[g.order[s.rng.Below(n)]] = uint8(s.rng.Below(pushes))
		default:
			if len(in.apps) == 0 {
				continue
			}
			a := s.rng.Below(len(in.apps))
			if r := s.rng.Below(6); r == 0 {
				g.solo = !g.solo
			} else if r < 3 {
				b := s.rng.Below(len(in.apps))
				g.apps[a], g.apps[b] = g.apps[b], g.apps[a]
			} else {
				g.tastes[a] = uint8(s.rng.Below(taste))
			}
		}
		if s.rng.Below(3) != 0 {
			return
		}
	}
}

// move takes the element at i to j.
func move(list []int32, i, j int) {
	x := list[i]
	if i < j {
		copy(list[i:j], list[i+1:j+1])
	} else {
		copy(list[j+1:i+1], list[j:i])
	}
	list[j] = x
}
