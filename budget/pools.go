package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// In returns the tree with the shares of a pool, by its place in Pools. Its accounts
// are the same, by number, in all pools; only shares differ. A tree without pools is
// that of its only one, 0.
func (t *Tree) In(pool int) *Tree {
	if len(t.in) == 0 {
		return t
	}
	return t.in[pool]
}

// PoolOf returns the place in Pools of the GPU type of a pool of nodes: 0 in a tree
// without pools, -1 for a type that has no shares.
func (t *Tree) PoolOf(gpuType string) int {
	if len(t.Pools) == 0 {
		return 0
	}
	return slices.Index(t.Pools, gpuType)
}

// takePools checks the names of pools, and that shares are given for no others.
func (p *parser) takePools() error {
	at := p.root.Get("pools")
	for i, name := range p.f.Pools {
		switch {
		case name == "" || name != strings.TrimSpace(name):
			return at.At(i).Errorf("name a GPU type of the cluster", "%q is no GPU type", name)
		case slices.Index(p.f.Pools, name) < i:
			return at.At(i).Errorf("want it once", "pool %q appears twice", name)
		}
	}
	if at != nil && len(p.f.Pools) == 0 {
		return at.Errorf("list GPU types of the cluster, or drop the key", "no pools here")
	}
	p.t.Pools = p.f.Pools
	for i := range p.raw {
		s := p.raw[i].share
		if s == nil || s.each == nil {
			continue
		}
		where := p.at[i].At("share")
		if len(p.f.Pools) == 0 {
			return where.Errorf("want a number; or list the GPU types that have shares of their own as pools, at the top", "a share for each pool, of a tree without pools")
		}
		for k, key := range where.Keys {
			if !slices.Contains(p.f.Pools, key.Name) {
				return where.Values[k].Errorf(yamlx.Choice(key.Name, p.f.Pools), "no pool is called %q", key.Name)
			}
		}
	}
	return nil
}

// takeShares reads the shares of the only pool, or of the first.
func (p *parser) takeShares() error {
	first := ""
	if len(p.t.Pools) > 0 {
		first = p.t.Pools[0]
	}
	return p.sharesOf(p.t, first)
}

// splitPools makes the trees of the other pools, when all else is known.
func (p *parser) splitPools() error {
	t := p.t
	for i, pool := range t.Pools {
		x := t
		if i > 0 {
			c := *t
			x, c.Nodes, c.in, c.Notes = &c, slices.Clone(t.Nodes), nil, nil
			if err := p.sharesOf(x, pool); err != nil {
				return err
			}
			t.Notes = append(t.Notes, x.Notes...)
		}
		t.in = append(t.in, x)
	}
	return nil
}

// inPool says which pool a sentence is about.
func inPool(pool string) string {
	if pool == "" {
		return ""
	}
	return fmt.Sprintf(" in pool %q", pool)
}
