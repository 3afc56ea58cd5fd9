package horizon

import "github.com/escala-sched/escala/internal/splitmix"

// Exact is the objective as the integer that the search works with.
func (s Score) Exact() int64 { return s.objective }

// Best is what the search takes its best plan for.
func (s *Search) Best() int64 { return s.bestValue }

// Grids decodes n random genomes of a problem and tells each with what the decoder takes it for.
func Grids(p *Problem, seed uint64, n int, tell func(plan *Plan, value int64)) {
	in := compile(p)
	s := &Search{in: in, d: newDecoder(in), rng: splitmix.Source(seed)}
	if !in.fits {
		return
	}
	g := in.newGenome()
	for range n {
		if len(g.order) > 0 {
			s.mutate(&g)
		}
		if v, ok := s.d.decode(&g); ok {
			tell(s.d.plan(), v)
		}
	}
}

// Decoding returns what decodes the first guesses for a problem in turn, one a call.
func Decoding(p *Problem) func() {
	in := compile(p)
	d, list, i := newDecoder(in), in.guesses(), 0
	return func() {
		d.decode(&list[i%len(list)])
		i++
	}
}
