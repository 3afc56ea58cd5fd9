package budget

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/internal/yamlx/yamlxtest"
	"github.com/escala-sched/escala/workload"
)

// The schema that editors use names the same keys and words as the code.
func TestSchemaSaysWhatTheCodeReads(t *testing.T) {
	s, err := yamlxtest.Load("../docs/schema/budgets.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for def, shape := range map[string]any{"": file{}, "node": fileNode{}, "account": fileAccount{}, "budget": fileBudget{}, "credit": fileCredit{}} {
		want := yamlx.Keys(shape)
		slices.Sort(want)
		if diff := cmp.Diff(want, s.Keys(def)); diff != "" {
			t.Errorf("keys of %q (-code,+schema):\n%s", def, diff)
		}
	}
	for def, want := range map[string][]string{"per": periodNames, "onExhaustion": exhaustionNames} {
		if diff := cmp.Diff(want, s.Enum(def)); diff != "" {
			t.Errorf("words of %q (-code,+schema):\n%s", def, diff)
		}
	}
	for i, text := range append(examples(t), labFile, smallFile, budgetsFile, pooledFile) {
		root, err := yamlx.Parse("b.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(root); err != nil {
			t.Errorf("file %d: %v", i+1, err)
		}
	}
}

// The reference names every key and word, and its examples are read.
func TestReferenceIsComplete(t *testing.T) {
	data, err := os.ReadFile("../docs/budgets.md")
	if err != nil {
		t.Fatal(err)
	}
	words := slices.Concat(yamlx.Keys(file{}), yamlx.Keys(fileNode{}), yamlx.Keys(fileAccount{}), yamlx.Keys(fileBudget{}), yamlx.Keys(fileCredit{}),
		periodNames, exhaustionNames, standingNames[:], []string{"none", "all"})
	for _, w := range words {
		if !strings.Contains(string(data), "`"+w+"`") {
			t.Errorf("docs/budgets.md does not explain `%s`", w)
		}
	}
	for i, text := range examples(t) {
		if _, err := Parse("budgets.yaml", []byte(text)); err != nil {
			t.Errorf("example %d of docs/budgets.md: %v", i+1, err)
		}
	}
}

func examples(t *testing.T) (all []string) {
	data, err := os.ReadFile("../docs/budgets.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(data), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		all = append(all, text)
	}
	return all
}

// FuzzParse: a file is read whole or refused with a place in it; what is read keeps
// the promises of Tree.
func FuzzParse(f *testing.F) {
	for _, text := range []string{labFile, smallFile, budgetsFile, pooledFile,
		"accounts:\n  - {name: b, share: 1, parent: a}\n  - {name: a, share: 1}\n  - {user: u, share: 0, parent: b}\n  - {name: c, share: 2.5, parent: b}\n",
		"accounts: [{name: a, share: 1, parent: b}, {name: b, share: 1, parent: a}]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := Parse("f.yaml", data)
		var e *yamlx.Error
		switch {
		case err == nil:
			for i := range max(len(tree.Pools), 1) {
				checkTree(t, tree.In(i))
			}
		case !errors.As(err, &e):
			t.Fatalf("error of type %T: %v", err, err)
		case e.Line < 1 || e.Col < 1 || e.Msg == "":
			t.Fatalf("error without a place in the file: %q", e.Head())
		}
	})
}

func checkTree(t *testing.T, tree *Tree) {
	n := int32(len(tree.Nodes))
	if n < 2 || tree.Nodes[0].Last != n-1 {
		t.Fatalf("%d nodes, the root ends at %d", n, tree.Nodes[0].Last)
	}
	for i := range tree.Nodes {
		node := &tree.Nodes[i]
		if node.num > node.den || node.den == 0 || node.Last < int32(i) || i > 0 && node.Parent >= int32(i) {
			t.Fatalf("node %d is %+v", i, node)
		}
		level := int64(0)
		for _, c := range node.Children {
			level += tree.Nodes[c].Share
			if tree.Nodes[c].Parent != int32(i) || !tree.Below(c, int32(i)) || tree.Nodes[c].Depth != node.Depth+1 {
				t.Fatalf("child %d of %d is %+v", c, i, tree.Nodes[c])
			}
		}
		if !node.Leaf() {
			if level <= 0 {
				t.Fatalf("the shares below %d sum to %d", i, level)
			}
			continue
		}
		if at := tree.Reported[tree.Allocation(int32(i))]; !tree.Below(int32(i), at) {
			t.Fatalf("leaf %d is reported with %d", i, at)
		}
		user := ""
		if len(node.Users) > 0 {
			user = node.Users[0]
		}
		team := i
		if node.Person {
			team = int(node.Parent)
		}
		if got, ok := tree.Leaf("/"+strings.TrimPrefix(tree.Nodes[team].Path, "/"), user); !ok || got != int32(i) {
			t.Fatalf("%s of user %q is found at %d, want %d", tree.Nodes[team].Path, user, got, i)
		}
	}
	if _, err := NewAccounts(tree, 0, 0); err != nil {
		t.Fatal(err)
	}
	NewLedger(tree, workload.Day).SetUsable(0, 1000)
}
