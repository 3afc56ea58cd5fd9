package budget

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/escala-sched/escala/internal/yamlx"
)

// Load reads and checks a budgets file.
func Load(path string) (*Tree, error) {
	return yamlx.Load("budget", path, Parse)
}

// Parse checks the bytes of a budgets file. name is the file's, for errors and as
// the default of the root's name. An error says file, line, column and what would
// be right.
func Parse(name string, data []byte) (*Tree, error) {
	var f file
	root, err := yamlx.Decode(name, data, &f)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, root.Errorf("save the file as UTF-8", "the file is no UTF-8 text")
	}
	p := &parser{t: &Tree{Name: f.Name, Hash: yamlx.Hash(data), text: bytes.Clone(data)}, f: &f, root: root}
	if root.Get("name") == nil {
		p.t.Name = yamlx.BaseName(name)
	} else if err := checkName(root.At("name"), f.Name); err != nil {
		return nil, err
	}
	for _, step := range []func() error{p.takeNodes, p.takePools, p.takeShares, p.takeUsers, p.takeTeams, p.takeLevels, p.takeReported, p.takeBudgets, p.takeCredits, p.splitPools} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p.t, nil
}

// parser builds a tree; raw and at belong to its nodes.
type parser struct {
	t    *Tree
	f    *file
	root *yamlx.Node
	raw  []account
	at   []*yamlx.Node
}

// account is what both forms say of a node.
type account struct {
	name, user string
	share      *fileShare
	managers   []string
	users      []string
	budget     *fileBudget
}

func (p *parser) takeNodes() error {
	p.t.Nodes = []Node{{Name: p.t.Name, Path: "/", Parent: -1, Managers: p.f.Managers}}
	p.raw, p.at = []account{{budget: p.f.Budget}}, []*yamlx.Node{p.root}
	children, accounts := p.root.Get("children"), p.root.Get("accounts")
	switch {
	case children != nil && accounts != nil:
		return accounts.Errorf("drop one of them", "the file has both children (a tree) and accounts (a flat list)")
	case children != nil:
		return p.takeChildren(0, p.f.Children, children)
	case accounts != nil:
		return p.takeAccounts(accounts)
	}
	return p.root.Errorf("give children (a tree) or accounts (a flat list with parents)", "the tree is empty")
}

func (p *parser) takeChildren(parent int32, list []fileNode, at *yamlx.Node) error {
	if len(list) == 0 {
		return at.Errorf("list at least one account, or drop the key", "no children here")
	}
	for i := range list {
		n, where := &list[i], at.At(i)
		node, err := p.addNode(parent, account{n.Name, n.User, n.Share, n.Managers, n.Users, n.Budget}, where)
		if err != nil {
			return err
		}
		below := where.Get("children")
		if below == nil {
			continue
		}
		if n.User != "" {
			return below.Errorf("name the account with name, and give its user an account below it", "a user's account has no children")
		}
		if err := p.takeChildren(node, n.Children, below); err != nil {
			return err
		}
	}
	p.t.Nodes[parent].Last = int32(len(p.t.Nodes) - 1)
	return nil
}

// addNode appends a node behind the subtrees of its elder siblings.
func (p *parser) addNode(parent int32, a account, at *yamlx.Node) (int32, error) {
	key, name := "name", a.name
	switch given, user := at.Get("name") != nil, at.Get("user") != nil; {
	case given && user:
		return 0, at.At("user").Errorf("drop one of them; people who share an account are its users", "an account has both name and user")
	case user:
		key, name = "user", a.user
	case !given:
		return 0, at.Errorf("give name, or user for the account of one person", "an account without a name")
	}
	if err := checkName(at.At(key), name); err != nil {
		return 0, err
	}
	t := p.t
	for _, c := range t.Nodes[parent].Children {
		if t.Nodes[c].Name == name {
			return 0, at.At(key).Errorf("give it another name", "two accounts below %q are called %q", t.Nodes[parent].Name, name)
		}
	}
	path := name
	if parent > 0 {
		path = t.Nodes[parent].Path + "/" + name
	}
	i := int32(len(t.Nodes))
	t.Nodes[parent].Children = append(t.Nodes[parent].Children, i)
	t.Nodes = append(t.Nodes, Node{Name: name, Path: path, Parent: parent, Depth: t.Nodes[parent].Depth + 1, Last: i,
		Managers: a.managers, Users: a.users, Person: key == "user"})
	p.raw, p.at = append(p.raw, a), append(p.at, at)
	return i, nil
}

// checkName refuses what could not be told apart in a path or a message.
func checkName(at *yamlx.Node, name string) error {
	const want = "want a word without '/', control characters and outer blanks"
	if name == "" || name != strings.TrimSpace(name) || strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r < ' ' || r == 0x7f }) {
		return at.Errorf(want, "%q is no name", name)
	}
	return nil
}

func (p *parser) takeLevels() error {
	at, depth := p.root.At("levels"), int(p.t.Depth())
	for i, l := range p.f.Levels {
		if err := checkName(at.At(i), l); err != nil {
			return err
		}
		if slices.Index(p.f.Levels, l) < i {
			return at.At(i).Errorf("want it once", "level %q appears twice", l)
		}
	}
	if n := len(p.f.Levels); p.root.Get("levels") != nil && n != depth+1 {
		return at.Errorf(fmt.Sprintf("want %d, from the root down to the deepest leaf", depth+1), "%d names of levels", n)
	}
	p.t.Levels = p.f.Levels
	return nil
}

func (p *parser) takeBudgets() error {
	for i, raw := range p.raw {
		b := raw.budget
		if b == nil {
			continue
		}
		at := p.at[i].At("budget")
		switch {
		case b.GPUHours == nil:
			return at.Errorf("give gpuHours", "a budget without an amount")
		case *b.GPUHours < 0:
			return at.At("gpuHours").Errorf("want 0 or more", "a budget of less than nothing")
		case b.Per == nil:
			return at.Errorf("give per: "+strings.Join(periodNames, ", "), "a budget without a period")
		}
		rule := RunUnallocated
		if b.OnExhaustion != nil {
			rule = Exhaustion(*b.OnExhaustion)
		}
		p.t.Nodes[i].Budget = &Hard{GPUTime: b.GPUHours.gpuTime(), Per: Period(*b.Per), CarryOver: int64(b.CarryOver), OnExhaustion: rule}
	}
	return nil
}

func (p *parser) takeCredits() error {
	for i := range p.f.Credits {
		c, at := &p.f.Credits[i], p.root.At("credits", i)
		switch {
		case c.At == nil:
			return at.Errorf("give at: a date, or a time since the workload's zero", "a credit without a time")
		case c.Account == "":
			return at.Errorf("give account: the path or the name of an account", "a credit without an account")
		case c.GPUHours == nil || *c.GPUHours == 0:
			return at.At("gpuHours").Errorf("give gpuHours, below 0 to take them away", "a credit of nothing")
		case c.By == "":
			return at.Errorf("give by: who decided it", "a credit without an author")
		}
		node, ok := p.t.Find(c.Account)
		if !ok {
			return at.At("account").Errorf(p.t.hint(c.Account), "no account is called %q", c.Account)
		}
		if p.t.Nodes[node].Budget == nil {
			return at.At("account").Errorf("give it one, or credit an account that has one", "%q has no budget that could be credited", c.Account)
		}
		p.t.Credits = append(p.t.Credits, Credit{Account: node, At: c.At.At, Dated: c.At.Dated, GPUTime: c.GPUHours.gpuTime(), By: c.By, Reason: c.Reason})
	}
	return nil
}
