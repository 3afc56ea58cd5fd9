package slurmhist

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/escala-sched/escala/budget"
)

// mostShare is the largest fair share that Slurm keeps: the next one is its word parent.
const mostShare = math.MaxInt32 - 1

// wish is an association that is to be: of an account, or of a user in one.
type wish struct {
	account, parent, user string
	share                 share
	// open: anybody may use the account, so that its users are nobody's business.
	open bool
}

// wisher makes wishes of budgets.
type wisher struct {
	t     *budget.Tree
	file  string
	out   []wish
	paths map[string]string
}

// wishes are the associations that say what budgets say, each account before what is below it.
func wishes(file string, t *budget.Tree) ([]wish, error) {
	w := &wisher{t: t, file: file, paths: map[string]string{rootAccount: "/"}}
	if len(t.Pools) > 0 {
		return nil, bad(file, 0, "budgets without pools: Slurm has one share for GPUs of all types", "the budgets have shares by GPU type (%s)", strings.Join(t.Pools, ", "))
	}
	return w.out, w.below(0, rootAccount)
}

// weighed is one of those who share what an account has. Of a leaf's users each has a part of its share.
type weighed struct {
	wish
	weight *big.Rat
	node   int32
}

// below adds what stands below an account.
func (w *wisher) below(node int32, account string) error {
	n := &w.t.Nodes[node]
	var list []weighed
	for _, i := range n.Children {
		c := &w.t.Nodes[i]
		weight := big.NewRat(c.Share, 1)
		switch {
		case c.Person:
			list = append(list, weighed{wish: wish{account: account, user: strings.ToLower(c.Name)}, weight: weight, node: -1})
		case c.Name == account+directSuffix:
			list = append(list, w.beside(i, account, weight)...)
		default:
			if err := w.name(c); err != nil {
				return err
			}
			list = append(list, weighed{wish: wish{account: c.Name, parent: account, open: c.Leaf() && len(c.Users) == 0}, weight: weight, node: i})
		}
	}
	if err := w.whole(list, n.Path); err != nil {
		return err
	}
	for i := range list {
		x := &list[i]
		if w.out = append(w.out, x.wish); x.node < 0 {
			continue
		}
		c := &w.t.Nodes[x.node]
		if err := w.below(x.node, x.account); err != nil {
			return err
		}
		if c.Leaf() {
			for _, u := range c.Users { // budgets do not tell them apart
				w.out = append(w.out, wish{account: x.account, user: strings.ToLower(u), share: share{parent: true}})
			}
		}
	}
	return nil
}

// beside are the people of an account "NAME (direct)": in Slurm they stand in NAME itself, beside the accounts below it.
func (w *wisher) beside(node int32, account string, weight *big.Rat) (out []weighed) {
	d := &w.t.Nodes[node]
	var sum int64
	for _, i := range d.Children {
		sum += w.t.Nodes[i].Share
	}
	for _, u := range d.Users {
		out = append(out, weighed{wish: wish{account: account, user: strings.ToLower(u)}, weight: new(big.Rat).Mul(weight, big.NewRat(1, int64(len(d.Users)))), node: -1})
	}
	for _, i := range d.Children {
		c := &w.t.Nodes[i]
		out = append(out, weighed{wish: wish{account: account, user: strings.ToLower(c.Name)}, weight: new(big.Rat).Mul(weight, big.NewRat(c.Share, max(sum, 1))), node: -1})
	}
	return out
}

// directSuffix names the account that an import makes of people who stand beside accounts.
const directSuffix = " (direct)"

// name holds an account's name to what Slurm takes.
func (w *wisher) name(n *budget.Node) error {
	switch {
	case n.Name != strings.ToLower(n.Name):
		return bad(w.file, 0, fmt.Sprintf("%q: Slurm has small letters alone, and its jobs would not find their account", strings.ToLower(n.Name)), "account %q", n.Path)
	case strings.ContainsAny(n.Name, "|,=\"'\\") || strings.HasSuffix(n.Name, directSuffix):
		return bad(w.file, 0, "a name without | , = \" ' \\", "Slurm takes no account %q", n.Path)
	case w.paths[n.Name] != "":
		return bad(w.file, 0, "a name of its own for each: Slurm has all accounts of a cluster in one list", "account %q is called as %q is", n.Path, w.paths[n.Name])
	}
	w.paths[n.Name] = n.Path
	return nil
}

// whole makes the weights the smallest whole numbers that are to each other as they are.
func (w *wisher) whole(list []weighed, path string) error {
	den, num := big.NewInt(1), new(big.Int)
	for i := range list {
		d := list[i].weight.Denom()
		g := new(big.Int).GCD(nil, nil, den, d)
		den.Mul(den, new(big.Int).Div(d, g))
	}
	for i := range list {
		list[i].weight.Mul(list[i].weight, new(big.Rat).SetInt(den))
		num.GCD(nil, nil, num, list[i].weight.Num())
	}
	for i := range list {
		v := new(big.Int).Set(list[i].weight.Num())
		if num.Sign() > 0 {
			v.Div(v, num)
		}
		if !v.IsInt64() || v.Int64() > mostShare {
			return bad(w.file, 0, fmt.Sprintf("shares that are whole numbers up to %d to each other", mostShare), "the shares below %s", cmp.Or(path, "/"))
		}
		list[i].share.weight = v.Int64()
	}
	return nil
}
