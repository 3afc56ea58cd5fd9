package budget

import (
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
)

// takeAccounts builds the tree from a flat list whose entries name their parents.
func (p *parser) takeAccounts(at *yamlx.Node) error {
	list := p.f.Accounts
	if len(list) == 0 {
		return at.Errorf("list at least one account", "no accounts here")
	}
	named := make(map[string]int, len(list))
	var names []string
	for i := range list {
		if at.At(i).Get("name") == nil {
			continue // a person, whom no other names as parent
		}
		if _, twice := named[list[i].Name]; twice {
			return at.At(i, "name").Errorf("give it another name: parents are named by it; or write a tree of children", "account %q appears twice", list[i].Name)
		}
		named[list[i].Name] = i
		names = append(names, list[i].Name)
	}
	const top = -1
	below := map[int][]int{}
	for i := range list {
		parent := top
		if at.At(i).Get("parent") != nil {
			var ok bool
			if parent, ok = named[list[i].Parent]; !ok {
				return at.At(i, "parent").Errorf(parentHint(list[i].Parent, names), "no account is called %q", list[i].Parent)
			}
		}
		below[parent] = append(below[parent], i)
	}
	seen := make([]bool, len(list))
	var add func(parent int32, of int) error
	add = func(parent int32, of int) error {
		for _, i := range below[of] {
			seen[i] = true
			if p.t.Nodes[parent].Depth >= yamlx.MaxDepth {
				return at.At(i).Errorf("want at most 64 levels", "the tree is too deep")
			}
			a := &list[i]
			node, err := p.addNode(parent, account{a.Name, a.User, a.Share, a.Managers, a.Users, a.Budget}, at.At(i))
			if err == nil {
				err = add(node, i)
			}
			if err != nil {
				return err
			}
		}
		p.t.Nodes[parent].Last = int32(len(p.t.Nodes) - 1)
		return nil
	}
	if err := add(0, top); err != nil {
		return err
	}
	for i := range list {
		if !seen[i] {
			return circle(at, list, named, i)
		}
	}
	return nil
}

// circle reports the circle above an account that the root does not reach.
func circle(at *yamlx.Node, list []fileAccount, named map[string]int, i int) error {
	step := make([]int, len(list)) // 1 + how many steps were made to reach it
	var way []string
	for step[i] == 0 {
		way = append(way, list[i].Name)
		step[i] = len(way)
		i = named[list[i].Parent]
	}
	round := append(way[step[i]-1:], list[i].Name)
	return at.At(i, "parent").Errorf("give one of them another parent, or none", "accounts are below themselves: %s", strings.Join(round, " below "))
}

func parentHint(name string, names []string) string {
	if near := yamlx.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "want the name of another account; leave parent out at the top"
}
