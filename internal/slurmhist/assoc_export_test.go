package slurmhist

import (
	"context"
	"fmt"
	"math/big"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

const assocHead = "Cluster|Account|ParentName|User|Partition|Share\nlab|root||||1\nlab| root||root||1\n"

func parseBudgets(t *testing.T, text string) *budget.Tree {
	t.Helper()
	tree, err := budget.Parse("budgets.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestExportBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		budgets, assoc          string
		commands, differs, left []string
	}{
		"all new": {
			"children:\n  - {name: vision, share: 0.6, users: [Ann, ben]}\n  - name: nlp\n    share: 0.4\n    children:\n      - {user: cy, share: 1}\n      - {user: di, share: 2}\n", "",
			[]string{
				"sacctmgr -i add account name=vision parent=root cluster=lab fairshare=3", "sacctmgr -i add user name=ann account=vision cluster=lab fairshare=parent", "sacctmgr -i add user name=ben account=vision cluster=lab fairshare=parent",
				"sacctmgr -i add account name=nlp parent=root cluster=lab fairshare=2", "sacctmgr -i add user name=cy account=nlp cluster=lab fairshare=1", "sacctmgr -i add user name=di account=nlp cluster=lab fairshare=2",
			},
			[]string{"there is no account vision", "user ann has no association with account vision", "user ben has no association with account vision", "there is no account nlp", "user cy has no association with account nlp", "user di has no association with account nlp"}, nil,
		},
		"as it is in other numbers": {
			"children:\n  - {name: a, share: 3, users: [ann, ben]}\n  - {name: b, share: 1}\n", "lab| a|root|||600\nlab|  a||ann||7\nlab|  a||ben||7\nlab| b|root|||200\nlab|  b||cy||1\n", nil, nil, nil,
		},
		"a level that is none": {
			"children:\n  - {name: a, share: 1}\n  - {name: b, share: 1}\n", "lab| org|root|||parent\nlab|  a|org|||5\nlab|  b|org|||5\n", nil, nil, nil,
		},
		"moved, weighed, joined": {
			"children:\n  - name: a\n    share: 2\n    children:\n      - {name: b, share: 1, users: [ann, ben, cy]}\n  - {name: c, share: 1, users: [di, ed]}\n",
			"lab| a|root|||2\nlab| b|root|||4\nlab|  b||ann||3\nlab|  b||ben||3\nlab| c|root|||2\nlab|  c||di||3\nlab|  c||ed||4\nlab|  c||fay||4\nlab| z|root|||1\n",
			[]string{
				"sacctmgr -i modify account where name=b cluster=lab set parent=a", "sacctmgr -i modify account where name=b cluster=lab set fairshare=1", "sacctmgr -i add user name=cy account=b cluster=lab fairshare=3",
				"sacctmgr -i modify account where name=c cluster=lab set fairshare=1", "sacctmgr -i modify user where name=di account=c cluster=lab set fairshare=parent", "sacctmgr -i modify user where name=ed account=c cluster=lab set fairshare=parent",
			},
			[]string{
				"account b is below root, and is to be below a", "user cy has no association with account b", "account c has a share of 2, and is to have 1",
				"user di has a share of 3 in account c, and is to have parent", "user ed has a share of 4 in account c, and is to have parent",
			},
			[]string{"user fay may use account c, and by the budgets may not", "account z stands below root with a share of 1, and the budgets do not have it"},
		},
		"people beside accounts": {
			"children:\n  - name: nlp\n    share: 1\n    children:\n      - {name: eval, share: 2}\n      - {name: nlp (direct), share: 3, users: [ann, ben]}\n", "lab| nlp|root|||9\nlab|  nlp||ann||3\nlab|  eval|nlp|||2\n",
			[]string{"sacctmgr -i modify account where name=eval cluster=lab set fairshare=4", "sacctmgr -i add user name=ben account=nlp cluster=lab fairshare=3"},
			[]string{"account eval has a share of 2, and is to have 4", "user ben has no association with account nlp"}, nil,
		},
		"a blank in a name": {
			"children:\n  - {name: big team, share: 1}\n", "", []string{"sacctmgr -i add account name='big team' parent=root cluster=lab fairshare=1"}, []string{"there is no account big team"}, nil,
		},
	} {
		x, err := ExportBudgets("budgets.yaml", parseBudgets(t, c.budgets), "assoc.txt", []byte(assocHead+c.assoc), "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff([][]string{c.commands, c.differs, c.left}, [][]string{x.Commands, x.Differences, x.Left}); diff != "" {
			t.Errorf("%s (-want,+got):\n%s", name, diff)
		}
	}
}

func TestExportThatSlurmCannotTake(t *testing.T) {
	for text, want := range map[string]string{
		"children:\n  - {name: Vision, share: 1}\n": `account "Vision"; want "vision": Slurm has small letters alone`,
		"children:\n  - name: a\n    share: 1\n    children:\n      - name: x\n        share: 1\n        children:\n          - {name: b, share: 1}\n  - name: x\n    share: 1\n    children:\n      - {name: c, share: 1}\n": `account "a/x" is called as "x" is`,
		"children:\n  - {name: root, share: 1}\n":                                                             `account "root" is called as "/" is`,
		"children:\n  - {name: \"a,b\", share: 1}\n":                                                          `Slurm takes no account "a,b"`,
		"children:\n  - {name: a, share: 3000000.001}\n  - {name: b, share: 1}\n":                             "the shares below /",
		"pools: [h100, a100]\nchildren:\n  - {name: a, share: {h100: 1, a100: 2}}\n  - {name: b, share: 1}\n": "shares by GPU type (h100, a100)",
	} {
		tree := parseBudgets(t, text)
		if _, err := ExportBudgets("budgets.yaml", tree, "assoc.txt", []byte(assocHead), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// shares are the paths of a tree with the parts that they have of what is above them, and who may use them.
func shares(t *budget.Tree) map[string]string {
	out := map[string]string{}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		var sum int64
		if n.Parent < 0 || n.Name == "root (direct)" {
			continue
		}
		for _, c := range t.Nodes[n.Parent].Children {
			if t.Nodes[c].Name != "root (direct)" { // the user root, who is always there
				sum += t.Nodes[c].Share
			}
		}
		users := slices.Clone(n.Users)
		slices.Sort(users)
		out[n.Path] = fmt.Sprint(big.NewRat(n.Share, max(sum, 1)), " ", users)
	}
	return out
}

// drawBudgets makes a tree of accounts that Slurm can have, with names of its own for each.
func drawBudgets(t *rapid.T) string {
	n := 0
	var level func(depth int, pad string) string
	level = func(depth int, pad string) string {
		var b strings.Builder
		people := depth > 0 && rapid.Bool().Draw(t, "people")
		few := 1
		if people {
			few = 2
		}
		for k := range rapid.IntRange(few, 3).Draw(t, "children") {
			n++
			id := n
			share := rapid.SampledFrom([]string{"1", "2", "0.5", "7", "30", "0.125"}).Draw(t, "share")
			switch {
			case people: // those with equal shares come back as users of one account
				share = []string{"1", "2", share}[k]
				fmt.Fprintf(&b, "%s- {user: u%d, share: %s}\n", pad, id, share)
			case depth < 2 && rapid.Bool().Draw(t, "inner"):
				fmt.Fprintf(&b, "%s- name: a%d\n%s  share: %s\n%s  children:\n%s", pad, id, pad, share, pad, level(depth+1, pad+"    "))
			default:
				users := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"ann", "ben", "cy"}), 0, 3, rapid.ID).Draw(t, "users")
				fmt.Fprintf(&b, "%s- {name: a%d, share: %s", pad, id, share)
				if len(users) > 0 {
					fmt.Fprintf(&b, ", users: [%s]", strings.Join(users, ", "))
				}
				b.WriteString("}\n")
			}
		}
		return b.String()
	}
	return "children:\n" + level(0, "  ")
}

// TestExportRoundTrip: after its commands the real Slurm says what the budgets say, from nothing and from what other budgets
// left there; nothing is to be changed then, and what is imported is the same tree.
func TestExportRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, Accounting: true})
	assoc := func() []byte {
		return []byte(c.Run("sacctmgr", "-P", "show", "assoc", "tree", "format=Cluster,Account,ParentName,User,Partition,Share"))
	}
	run := func(commands []string) {
		t.Helper()
		cmd := exec.CommandContext(context.Background(), "sh", "-ec", strings.Join(commands, "\n")) //nolint:gosec // what is tested
		cmd.Env = append(cmd.Environ(), "SLURM_CONF="+c.Conf)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, strings.Join(commands, "\n"), out)
		}
	}
	for round, text := range []string{
		"children:\n  - {name: vision, share: 0.6, users: [ann, ben]}\n  - name: nlp\n    share: 0.4\n    children:\n      - {name: eval, share: 1}\n      - {name: big team, share: 2, users: [cy]}\n  - {name: idle, share: 0}\n",
		// Other shares, another place for one, people with shares of their own, one more.
		"children:\n  - {name: vision, share: 1, users: [ann, ben, ed]}\n  - name: nlp\n    share: 4\n    children:\n      - name: big team\n        share: 3\n        children:\n          - {user: cy, share: 1}\n          - {user: di, share: 2.5}\n      - name: idle\n        share: 2\n        children:\n          - {name: eval, share: 1}\n",
		// Upside down.
		"children:\n  - {name: vision, share: 1, users: [ann, ben, ed]}\n  - name: eval\n    share: 4\n    children:\n      - name: nlp\n        share: 1\n        children:\n          - {name: idle, share: 1}\n          - name: big team\n            share: 3\n            children:\n              - {user: cy, share: 1}\n              - {user: di, share: 2.5}\n",
	} {
		tree := parseBudgets(t, text)
		x, err := ExportBudgets("budgets.yaml", tree, "sacctmgr", assoc(), "test")
		if err != nil || len(x.Commands) == 0 || len(x.Left) != 0 {
			t.Fatalf("round %d: %+v, %v", round, x, err)
		}
		run(x.Commands)
		if x, err = ExportBudgets("budgets.yaml", tree, "sacctmgr", assoc(), ""); err != nil || len(x.Differences)+len(x.Left)+len(x.Commands) != 0 {
			t.Errorf("round %d: afterwards %+v, %v\n%s", round, x, err, assoc())
		}
		back, _, err := ImportBudgets("sacctmgr", assoc(), "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shares(tree), shares(parseBudgets(t, string(back)))); diff != "" {
			t.Errorf("round %d (-budgets,+Slurm):\n%s", round, diff)
		}
	}
}

// TestExportOfWhatWasImported: what was made of Slurm's associations asks for no change of them.
func TestExportOfWhatWasImported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, err := budget.Parse("budgets.yaml", []byte(drawBudgets(t)))
		if err != nil {
			t.Fatal(err)
		}
		x, err := ExportBudgets("budgets.yaml", tree, "assoc.txt", []byte(assocHead), "")
		if err != nil {
			t.Fatal(err)
		}
		assoc := assocHead + played(x.Commands)
		if x, err = ExportBudgets("budgets.yaml", tree, "assoc.txt", []byte(assoc), ""); err != nil || len(x.Commands)+len(x.Differences)+len(x.Left) > 0 {
			t.Fatalf("%s\n%+v, %v", assoc, x, err)
		}
		text, _, err := ImportBudgets("assoc.txt", []byte(assoc), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := budget.Parse("budgets.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shares(tree), shares(back)); diff != "" {
			t.Fatalf("(-budgets,+imported):\n%s", diff)
		}
		if x, err = ExportBudgets("budgets.yaml", back, "assoc.txt", []byte(assoc), ""); err != nil || len(x.Commands)+len(x.Differences)+len(x.Left) > 0 {
			t.Fatalf("%s\n%s\n%+v, %v", assoc, text, x, err)
		}
	})
}

// played are the associations that commands which only add make.
func played(commands []string) string {
	var b strings.Builder
	for _, c := range commands {
		v := map[string]string{}
		for _, w := range strings.Fields(c) {
			if key, value, ok := strings.Cut(w, "="); ok {
				v[key] = value
			}
		}
		if strings.Contains(c, " add account ") {
			fmt.Fprintf(&b, "lab|%s|%s|||%s\n", v["name"], v["parent"], v["fairshare"])
		} else {
			fmt.Fprintf(&b, "lab|%s||%s||%s\n", v["account"], v["name"], v["fairshare"])
		}
	}
	return b.String()
}

func FuzzExportBudgets(f *testing.F) {
	f.Add("children:\n  - {name: a, share: 1}\n", assocHead+"lab| a|root|||2\n")
	f.Fuzz(func(_ *testing.T, budgets, assoc string) {
		if tree, err := budget.Parse("b.yaml", []byte(budgets)); err == nil {
			_, _ = ExportBudgets("b.yaml", tree, "assoc.txt", []byte(assoc), "")
		}
	})
}
