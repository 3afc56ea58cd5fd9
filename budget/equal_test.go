package budget

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEqual(t *testing.T) {
	tree := Equal("lab", []string{"vision", "", "a/b", "vision", " x", "50%", "/vision", "(no team)", "/"})
	if got, want := paths(tree), "/ vision (no team) a%2Fb %20x 50% %2Fvision %28no team) %2F"; got != want {
		t.Errorf("accounts are %s, want %s", got, want)
	}
	for team, want := range map[string]string{"vision": "vision", "": "(no team)", "a/b": "a%2Fb", "/vision": "%2Fvision", "/": "%2F", "(no team)": "%28no team)"} {
		if leaf, ok := tree.Leaf(team, "ann"); !ok || tree.Nodes[leaf].Path != want {
			t.Errorf("team %q is charged to leaf %d, want %s", team, leaf, want)
		}
	}
	if num, den := tree.ProductShare(1); num != 1 || den != 8 {
		t.Errorf("a team has %d/%d of everything, want 1/8", num, den)
	}
	if len(tree.Notes) > 0 {
		t.Errorf("notes: %q", tree.Notes)
	}
	for _, none := range []*Tree{Equal("", nil), Equal("", []string{""})} {
		if leaf, ok := none.Leaf("", ""); !ok || leaf != 1 || none.Name != "teams" {
			t.Errorf("without teams: %s, leaf %d", none.Name, leaf)
		}
	}
}

// Teams of any names have a leaf each, and the tree's text reads as the tree.
func TestEqualTakesAnyName(t *testing.T) {
	letter := rapid.SampledFrom([]string{"a", "B", "/", "%", "2", "F", " ", "\u00a0", "\u2028", "\n", "\x00", "\xff", "ü", `"`, `\`, ":", "#", "-", "[", "{", "(no team)", "null", "1", ".", "~", "\ufeff", "\ufffd"})
	name := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
		var s string
		for range rapid.IntRange(0, 5).Draw(t, "letters") {
			s += letter.Draw(t, "letter")
		}
		return s
	}))
	rapid.Check(t, func(t *rapid.T) {
		teams := rapid.SliceOfN(name, 0, 6).Draw(t, "teams")
		tree := Equal(name.Draw(t, "name"), teams)
		leafOf := map[int32]string{}
		for _, team := range teams {
			leaf, ok := tree.Leaf(team, "ann")
			if other, taken := leafOf[leaf]; !ok || taken && other != team {
				t.Fatalf("team %q: leaf %d, %v; it is that of %q", team, leaf, ok, other)
			}
			leafOf[leaf] = team
		}
		if len(leafOf) != max(len(tree.Nodes)-1, 0) && len(teams) > 0 {
			t.Fatalf("%d accounts for %d teams", len(tree.Nodes)-1, len(leafOf))
		}
		sameTree(t, tree)
	})
}

// A tree is what its text reads as, also where only the file's name names it.
func TestYAMLReadsAsTheTree(t *testing.T) {
	for _, text := range append(examples(t), labFile, smallFile, budgetsFile) {
		tree, err := Parse("dir/some.lab.yml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		sameTree(t, tree)
	}
	data := []byte(smallFile)
	tree, err := Parse("b.yaml", data)
	if clear(data); err != nil || string(tree.YAML()) != smallFile {
		t.Error("the text is that of the caller, who changed it")
	}
}

type fataler interface{ Fatalf(string, ...any) }

func sameTree(t fataler, want *Tree) {
	got, err := Parse(want.Name+".yaml", want.YAML())
	if err != nil {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Tree{}, Node{}, index{})); diff != "" {
		t.Fatalf("tree (-want,+got):\n%s", diff)
	}
}

func BenchmarkEqual(b *testing.B) {
	teams := make([]string, 1000)
	for i := range teams {
		teams[i] = fmt.Sprintf("team%d", i)
	}
	for b.Loop() {
		Equal("lab", teams)
	}
}
