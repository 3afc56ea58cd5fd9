package budget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// sharesOf gives a tree the shares of a pool, level by level, and multiplies them down.
func (p *parser) sharesOf(t *Tree, pool string) error {
	for i := range t.Nodes {
		children := t.Nodes[i].Children
		if len(children) == 0 {
			continue
		}
		var level int64
		even := true // shares of 1 each are plainly weights
		for _, c := range children {
			raw := p.raw[c].share
			if raw == nil {
				return p.at[c].Errorf("give share: its weight among its siblings", "%q has no share", t.Nodes[c].Name)
			}
			share := raw.in(pool)
			if share < 0 {
				at := p.at[c].At("share")
				if raw.each != nil {
					at = at.At(pool)
				}
				return at.Errorf("want 0 or more", "a share of %s", yamlx.Decimal(float64(share)/1000))
			}
			t.Nodes[c].Share = int64(share)
			level += int64(share)
			even = even && share == 1000
		}
		if level == 0 {
			return p.at[children[0]].At("share").Errorf("give one of them more than 0", "all shares below %q%s are 0", t.Nodes[i].Name, inPool(pool))
		}
		if level != 100_000 && !even {
			t.Notes = append(t.Notes, t.normalised(int32(i), level, pool))
		}
	}
	for _, i := range t.multiply() {
		t.Notes = append(t.Notes, fmt.Sprintf("The product share of %q%s has too many digits to be kept exactly: it is rounded down to a multiple of 2^-62.", t.Nodes[i].Path, inPool(pool)))
	}
	return nil
}

// normalised says what the shares of a level come to, of the first few in detail.
func (t *Tree) normalised(parent int32, level int64, pool string) string {
	const few = 4
	var parts []string
	for _, c := range t.Nodes[parent].Children {
		if len(parts) == few {
			parts = append(parts, "and so on")
			break
		}
		n := &t.Nodes[c]
		parts = append(parts, fmt.Sprintf("%s %s is %s %%", n.Name, yamlx.Milli(n.Share), strconv.FormatFloat(float64(n.Share)*100/float64(level), 'f', 2, 64)))
	}
	return fmt.Sprintf("The shares below %q%s sum to %s, not 100, and are normalised: %s.", t.Nodes[parent].Name, inPool(pool), yamlx.Milli(level), strings.Join(parts, ", "))
}

// takeUsers checks who belongs where: at leaves, nobody twice in one team.
func (p *parser) takeUsers() error {
	t := p.t
	t.index.leavesOf = map[string][]int32{}
	for i := range t.Nodes {
		n, at := &t.Nodes[i], p.at[i].Get("users")
		switch {
		case n.Person && at != nil:
			return at.Errorf("drop it", "the account of user %q has users", n.Name)
		case n.Person:
			n.Users = []string{n.Name}
		case at != nil && !n.Leaf():
			return at.Errorf("move them to leaves below it", "%q has children, so no job is charged to it", n.Name)
		case at != nil && len(n.Users) == 0:
			return at.Errorf("list them, or drop the key: a leaf without users takes anybody's jobs", "no users here")
		}
		for k, u := range n.Users {
			where := p.at[i].At("user").At("users", k)
			if err := checkName(where, u); err != nil {
				return err
			}
			for _, l := range t.index.leavesOf[u] {
				switch {
				case l == int32(i):
					return where.Errorf("list each once", "user %q is listed twice in %q", u, n.Path)
				case t.Nodes[l].Parent == n.Parent && (n.Person || t.Nodes[l].Person):
					return where.Errorf("list each once in a team", "user %q is listed in %q already", u, t.Nodes[l].Path)
				}
			}
			t.index.leavesOf[u] = append(t.index.leavesOf[u], int32(i))
		}
	}
	p.noteShared()
	return nil
}

// noteShared notes people of several teams, in the order of the file.
func (p *parser) noteShared() {
	t := p.t
	for i := range t.Nodes {
		for _, u := range t.Nodes[i].Users {
			if leaves := t.index.leavesOf[u]; len(leaves) > 1 && leaves[0] == int32(i) {
				var paths []string
				for _, l := range leaves {
					paths = append(paths, t.Nodes[l].Path)
				}
				t.Notes = append(t.Notes, fmt.Sprintf("User %q is listed in %s: each job must name its team.", u, strings.Join(paths, " and ")))
			}
		}
	}
}

// takeTeams makes the names that jobs may call their team by.
func (p *parser) takeTeams() error {
	t := p.t
	x := &t.index
	x.team, x.path, x.inner, x.open = map[string]int32{}, map[string]int32{}, map[string]int32{}, make([]int32, len(t.Nodes))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		x.path[n.Path] = int32(i)
		switch {
		case n.Person:
		case t.team(int32(i)):
			if first, twice := x.team[n.Name]; twice {
				return p.at[i].At("name").Errorf("give one of them another name", "a job of team %q could be of %s or of %s", n.Name, t.Nodes[first].Path, n.Path)
			}
			x.team[n.Name] = int32(i)
		default:
			if _, twice := x.inner[n.Name]; twice {
				x.inner[n.Name] = several
			} else {
				x.inner[n.Name] = int32(i)
			}
		}
		x.open[i] = none
		if n.Leaf() && len(n.Users) == 0 {
			x.open[i] = int32(i)
		}
	}
	for i := len(t.Nodes) - 1; i > 0; i-- {
		if o, up := x.open[i], &x.open[t.Nodes[i].Parent]; o != none {
			if *up != none {
				o = several
			}
			*up = o
		}
	}
	return nil
}

func (p *parser) takeReported() error {
	t := p.t
	depth := int32(-1) // the teams
	if ref := p.f.ReportLevel; ref != nil {
		at := p.root.At("reportLevel")
		depth = int32(ref.depth)
		if ref.name != "" {
			if len(t.Levels) == 0 {
				return at.Errorf("give levels: their names from the root down; or the depth as a number", "level %q has no meaning here", ref.name)
			}
			if depth = int32(slices.Index(t.Levels, ref.name)); depth < 0 {
				return at.Errorf(yamlx.Choice(ref.name, t.Levels), "no level is called %q", ref.name)
			}
		}
		if depth > t.Depth() {
			return at.Errorf(fmt.Sprintf("want 0..%d", t.Depth()), "the tree is not that deep")
		}
	}
	t.reportedOf = make([]int32, len(t.Nodes))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		t.reportedOf[i] = none
		if i > 0 {
			t.reportedOf[i] = t.reportedOf[n.Parent]
		}
		if t.reportedOf[i] != none {
			continue
		}
		if n.Depth == depth || n.Leaf() || depth < 0 && t.team(int32(i)) {
			t.reportedOf[i] = int32(len(t.Reported))
			t.Reported = append(t.Reported, int32(i))
		}
	}
	return nil
}
