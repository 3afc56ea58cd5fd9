package place

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// Placer places shapes on one cluster by one rule. Not safe for concurrent use.
type Placer struct {
	layout      *cluster.Layout
	rule        policy.Placement
	consolidate bool
	level       int
	scorer      scorer
	scratch     []cluster.Grant
	// trial, room and once are scratch space for placing by score.
	trial []cluster.Grant
	room  []*cluster.Free
	once  scoreMemo
}

// New returns a placer; an error says why the rule means nothing on that cluster.
func New(l *cluster.Layout, rule policy.Placement) (*Placer, error) {
	p := &Placer{layout: l, rule: rule, level: -1}
	if l.Counted() && rule.By.NeedsNodes() && rule.By != policy.Consolidate {
		return nil, fmt.Errorf("placement %s needs nodes, but cluster %s is a mere count of GPUs; give it as NODESxGPUS or a file", rule.By, l.Spec.Name)
	}
	if l.Counted() && rule.By == policy.Consolidate {
		return nil, fmt.Errorf("placement consolidate needs nodes, but cluster %s is a mere count of GPUs; give it as NODESxGPUS or a file", l.Spec.Name)
	}
	p.consolidate = rule.By == policy.Consolidate
	if rule.By == policy.Topology {
		if p.level = len(l.Spec.Levels) - 1; rule.Level != "" {
			p.level = l.Level(rule.Level)
		}
		if p.level < 0 {
			level, names := "topology levels", "none"
			if rule.Level != "" {
				level = fmt.Sprintf("a topology level %q", rule.Level)
			}
			if len(l.Spec.Levels) > 0 {
				names = strings.Join(l.Spec.Levels, ", ")
			}
			return nil, fmt.Errorf("placement topology needs %s; cluster %s names %s", level, l.Spec.Name, names)
		}
	}
	p.scorer = newScorer(l, rule)
	return p, nil
}

// Place finds a place for the shape and appends its grants to buf. On a cluster
// without nodes there are no grants and ok alone counts. pool is where it lies.
func (p *Placer) Place(frees []*cluster.Free, s *Shape, buf []cluster.Grant) (grants []cluster.Grant, pool int32, ok bool) {
	if p.scorable(s) {
		return p.placeByScore(frees, s, buf)
	}
	for k, pl := range s.Pools {
		f := frees[pl]
		m := &s.memo[k]
		if m.noAt == f.Grown()+1 {
			continue
		}
		if g, ok := p.placeIn(f, s, k, buf); ok {
			return g, pl, true
		}
		m.noAt = f.Grown() + 1
	}
	return buf, -1, false
}

// Fits tells whether Place would find a place, without choosing one.
func (p *Placer) Fits(frees []*cluster.Free, s *Shape) bool {
	for k, pl := range s.Pools {
		if m := &s.memo[k]; m.noAt == frees[pl].Grown()+1 {
			continue
		}
		if p.FitsIn(frees[pl], s, k) {
			return true
		}
		s.memo[k].noAt = frees[pl].Grown() + 1
	}
	return false
}

// FitsIn tells whether the shape fits its k-th pool when that is filled as f says.
// It remembers nothing, so f may be a copy with a future in it.
func (p *Placer) FitsIn(f *cluster.Free, s *Shape, k int) bool {
	c := s.cuts[k]
	if !p.countFits(f, s, c) {
		return false
	}
	if f.Nodes() == 0 || s.plain && s.level < 0 && p.rule.By != policy.Contiguous && c.Rest == 0 {
		return true
	}
	var ok bool
	p.scratch, ok = p.placeIn(f, s, k, p.scratch[:0])
	return ok
}

// MayFit refuses by counting: "no" is certain, "yes" is not.
func (p *Placer) MayFit(f *cluster.Free, s *Shape, k int) bool { return p.countFits(f, s, s.cuts[k]) }

// MayFitAny refuses by counting in all pools of the shape.
func (p *Placer) MayFitAny(frees []*cluster.Free, s *Shape) bool {
	for k, pl := range s.Pools {
		if f := frees[pl]; s.memo[k].noAt != f.Grown()+1 && p.countFits(f, s, s.cuts[k]) {
			return true
		}
	}
	return false
}

// countFits refuses by counting: "no" is certain, "yes" only for plain shapes.
func (p *Placer) countFits(f *cluster.Free, s *Shape, c Cut) bool {
	switch {
	case f.Nodes() == 0:
		return f.Milli() >= s.Milli
	case f.Milli() < s.Milli:
		return false
	case s.Need.GPUs == 0:
		return true
	case s.Need.Fractional():
		return f.Whole() > 0 || f.PartFor(s.Need.Milli) > 0
	}
	return f.Slots(c.GPUs, c.PerNode, int64(c.Tasks)) >= int64(c.Tasks)
}

func (p *Placer) placeIn(f *cluster.Free, s *Shape, k int, buf []cluster.Grant) ([]cluster.Grant, bool) {
	c := s.cuts[k]
	if !p.countFits(f, s, c) {
		return buf, false
	}
	switch {
	case f.Nodes() == 0:
		return buf, true
	case s.level >= 0:
		return p.placeWithin(f, s, k, s.level, buf)
	case p.rule.By == policy.Topology && c.Tasks > 1:
		return p.placeCompact(f, s, k, p.level, buf)
	case p.rule.By == policy.Contiguous && s.plain:
		return p.placeContiguous(f, s, k, buf)
	}
	return p.fill(f, s, k, anywhere, buf)
}

// PlaceIn finds a place in the shape's k-th pool when that is filled as f says.
// Like FitsIn it remembers nothing.
func (p *Placer) PlaceIn(f *cluster.Free, s *Shape, k int, buf []cluster.Grant) ([]cluster.Grant, bool) {
	if p.scorable(s) {
		return p.scoreOnce(f, s, k, buf)
	}
	return p.placeIn(f, s, k, buf)
}

// NoPool says why no pool may serve a need.
func (p *Placer) NoPool(n *workload.Need) fact.Code {
	free, any := *n, *n
	free.Nodes = ""
	any.GPUTypes = ""
	switch {
	case n.Nodes != "" && len(p.layout.Eligible(&free, "")) > 0:
		return fact.NeverFits // it is the nodes that it names
	case n.Within != "" && p.layout.Level(n.Within) < 0:
		return fact.NoSuchLevel
	case n.GPUTypes != "" && len(p.layout.Eligible(n, "")) == 0 && len(p.layout.Eligible(&any, "")) > 0:
		return fact.NoSuchType
	case len(p.layout.Eligible(n, "")) > 0:
		return fact.NoSuchPartition
	}
	return fact.NeverFits
}

// Most is the most of the shape that its best pool could hold: tasks for a gang,
// GPUs of one node for a job that must lie on one; and how many it wants.
func (p *Placer) Most(frees []*cluster.Free, s *Shape) (have, want int32) {
	for k, pl := range s.Pools {
		f, c := frees[pl], s.cuts[k]
		want = max(want, p.wanted(c))
		have = max(have, p.most(f, s, k))
	}
	if want == 0 { // no pool at all
		if want = s.Need.Tasks; want <= 1 {
			want = s.Need.GPUs
		}
	}
	return min(have, want), want
}

func (p *Placer) wanted(c Cut) int32 {
	if c.Tasks > 1 {
		return c.Tasks
	}
	return c.GPUs
}

func (p *Placer) most(f *cluster.Free, s *Shape, k int) int32 {
	c := s.cuts[k]
	if f.Nodes() == 0 {
		if c.Tasks > 1 {
			return int32(f.Whole() / int64(max(c.GPUs, 1)))
		}
		return int32(f.Whole())
	}
	if c.Tasks <= 1 { // the largest block
		for n := f.Pool().MaxGPUs; n > 0; n-- {
			if f.CountWith(n) > 0 {
				return n
			}
		}
		return 0
	}
	if s.level >= 0 {
		var best int64
		for b := range f.Pool().BlockCount[s.level] {
			best = max(best, f.PlaceSlots(s.level, b, c.GPUs, c.PerNode, 1<<31-1))
		}
		return int32(best)
	}
	if s.plain {
		return int32(f.Slots(c.GPUs, c.PerNode, 1<<31-1))
	}
	var slots int64
	for i := range f.Nodes() {
		if f.Shut(i) {
			continue
		}
		n := int64(c.Tasks)
		if c.GPUs > 0 {
			n = int64(free(f, i) / c.GPUs)
		}
		slots += s.units(f, k, i, min(n, int64(c.PerNode)), c.task())
	}
	return int32(min(slots, 1<<31-1))
}

// MostIn is Most for one pool that is filled as f says.
func (p *Placer) MostIn(f *cluster.Free, s *Shape, k int) (have, want int32) {
	want = p.wanted(s.cuts[k])
	return min(p.most(f, s, k), want), want
}
