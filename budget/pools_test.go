package budget

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pooledFile = `
pools: [H100, A100]
children:
  - name: language
    share: {H100: 60, A100: 20}
    children: [{name: pre, share: {A100: 1, H100: 3}}, {name: align, share: 1}]
  - {name: vision, share: 40}
  - {name: guests, share: {H100: 0.5}}
`

func TestPoolsHaveSharesOfTheirOwn(t *testing.T) {
	tree, err := Parse("b.yaml", []byte(pooledFile))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{"language": {60_000, 20_000}, "language/pre": {3000, 1000}, "language/align": {1000, 1000}, "vision": {40_000, 40_000}, "guests": {500, 0}}
	for path, shares := range want {
		n, _ := tree.Find(path)
		for i, share := range shares {
			if got := tree.In(i).Nodes[n].Share; got != share {
				t.Errorf("share of %s in %s is %d, want %d", path, tree.Pools[i], got, share)
			}
		}
	}
	pre, _ := tree.Find("language/pre")
	for i, want := range [][2]uint64{{30, 67}, {1, 6}} { // 60/100.5 x 3/4, 20/60 x 1/2
		if num, den := tree.In(i).ProductShare(pre); num != want[0] || den != want[1] {
			t.Errorf("product share of pre in %s is %d/%d, want %d/%d", tree.Pools[i], num, den, want[0], want[1])
		}
	}
	if tree.In(0) != tree || tree.PoolOf("A100") != 1 || tree.PoolOf("V100") != -1 {
		t.Error("pools are found in the wrong place")
	}
	if l, ok := tree.In(1).Leaf("align", ""); !ok || l != 3 {
		t.Errorf("align is leaf %d of the second pool", l)
	}
	if diff := cmp.Diff(3, len(tree.Notes)); diff != "" || !strings.Contains(tree.Notes[2], `"A100"`) {
		t.Errorf("notes: %s%s", diff, strings.Join(tree.Notes, "\n"))
	}
	again, err := Parse("b.yaml", tree.YAML())
	if err != nil || again.Hash != tree.Hash || again.In(1).Nodes[1].Share != 20_000 {
		t.Errorf("its YAML reads as another tree: %v", err)
	}
}

func TestTreesWithoutPoolsHaveOne(t *testing.T) {
	tree := Equal("lab", []string{"a", "b"})
	if tree.In(0) != tree || tree.PoolOf("anything") != 0 {
		t.Error("the only pool is not the tree itself")
	}
}
