package place

import (
	"cmp"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/pack"
)

// Learned is what placement fgd knows of what is asked for: a state of the [Placer] beside
// what is free. It does not change.
type Learned struct {
	given bool
	// all by kind; typical are those that the present scores rest on.
	all, typical []target
	next         int64
}

// Learned returns what was learned so far, nil for placements that learn nothing.
func (p *Placer) Learned() *Learned {
	r, ok := p.scorer.(*gradient)
	if !ok {
		return nil
	}
	l := &Learned{given: r.targets.given, all: slices.Clone(r.targets.all), typical: r.typical, next: r.next}
	slices.SortFunc(l.all, target.compare)
	return l
}

// Recall takes over what was learned. Placements that learn nothing ignore it.
func (p *Placer) Recall(l *Learned) {
	r, ok := p.scorer.(*gradient)
	if !ok || l == nil {
		return
	}
	r.targets = targets{given: l.given, at: map[target]int{}, all: slices.Clone(l.all)}
	for i, t := range l.all {
		r.targets.weight += t.weight
		t.weight = 0
		r.targets.at[t] = i
	}
	r.next = l.next
	if len(l.typical) > 0 {
		r.tables(l.typical)
	}
}

// Known marks a shape as one that was counted among what is asked for.
func (p *Placer) Known(s *Shape) {
	s.asked = true
	for _, rigid := range s.sizes {
		rigid.asked = true
	}
}

func (t target) compare(o target) int {
	return cmp.Or(cmp.Compare(t.gpus, o.gpus), cmp.Compare(t.milli, o.milli), cmp.Compare(t.cpu, o.cpu), strings.Compare(t.types, o.types))
}

// Code writes or reads it.
func (l *Learned) Code(c *pack.Coder) {
	one := func(t *target) {
		c.Int32(&t.gpus)
		c.Int32(&t.milli)
		c.Int(&t.cpu)
		c.Text(&t.types)
		c.Int(&t.weight)
	}
	c.Bool(&l.given)
	c.Int(&l.next)
	pack.List(c, &l.all, one)
	pack.List(c, &l.typical, one)
}
