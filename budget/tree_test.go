package budget

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/yamlx/yamlxtest"
	"github.com/escala-sched/escala/workload"
)

const labFile = `
name: lab
levels: [organisation, program, team, researcher]
reportLevel: team
managers: [dora]
budget: {gpuHours: 1000000, per: year}
children:
  - name: language
    share: 60
    managers: [ana, ben]
    children:
      - name: pretraining
        share: 2
        budget: {gpuHours: 2000.5, per: month, carryOver: 50%, onExhaustion: truncate}
        children:
          - {user: eve, share: 1}
          - {user: fay, share: 0.5}
          - {name: others, share: 0}
      - {name: alignment, share: 1, users: [gus, hal]}
  - name: vision
    share: 40
    users: [gus, ida]
    budget: {gpuHours: 0, per: week, carryOver: all, onExhaustion: refuse}
credits:
  - {at: 2026-03-01T12:00, account: language/pretraining, gpuHours: 50, by: dora, reason: a deadline}
  - {at: 36h, account: vision, gpuHours: -1.5, by: dora}
`

func parse(t testing.TB, text string) *Tree {
	t.Helper()
	tree, err := Parse("b.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestParseReadsEveryKey(t *testing.T) {
	tree := parse(t, labFile)
	want := []Node{
		{Name: "lab", Path: "/", Parent: -1, Children: []int32{1, 7}, Last: 7, Managers: []string{"dora"},
			Budget: &Hard{GPUTime: 1_000_000 * GPUHour, Per: Yearly, OnExhaustion: RunUnallocated}, num: 1, den: 1},
		{Name: "language", Path: "language", Depth: 1, Children: []int32{2, 6}, Last: 6, Share: 60_000, Managers: []string{"ana", "ben"}, num: 3, den: 5},
		{Name: "pretraining", Path: "language/pretraining", Parent: 1, Depth: 2, Children: []int32{3, 4, 5}, Last: 5, Share: 2000,
			Budget: &Hard{GPUTime: 2000*GPUHour + GPUHour/2, Per: Monthly, CarryOver: 50, OnExhaustion: Truncate}, num: 2, den: 5},
		{Name: "eve", Path: "language/pretraining/eve", Parent: 2, Depth: 3, Last: 3, Share: 1000, Users: []string{"eve"}, Person: true, num: 4, den: 15},
		{Name: "fay", Path: "language/pretraining/fay", Parent: 2, Depth: 3, Last: 4, Share: 500, Users: []string{"fay"}, Person: true, num: 2, den: 15},
		{Name: "others", Path: "language/pretraining/others", Parent: 2, Depth: 3, Last: 5, num: 0, den: 1},
		{Name: "alignment", Path: "language/alignment", Parent: 1, Depth: 2, Last: 6, Share: 1000, Users: []string{"gus", "hal"}, num: 1, den: 5},
		{Name: "vision", Path: "vision", Depth: 1, Last: 7, Share: 40_000, Users: []string{"gus", "ida"},
			Budget: &Hard{Per: Weekly, CarryOver: 100, OnExhaustion: Refuse}, num: 2, den: 5},
	}
	if diff := cmp.Diff(want, tree.Nodes, cmp.AllowUnexported(Node{})); diff != "" {
		t.Errorf("nodes (-want,+got):\n%s", diff)
	}
	credits := []Credit{
		{Account: 2, At: 1_772_366_400_000, Dated: true, GPUTime: 50 * GPUHour, By: "dora", Reason: "a deadline"},
		{Account: 7, At: 36 * workload.Hour, GPUTime: -3 * GPUHour / 2, By: "dora"},
	}
	if diff := cmp.Diff(credits, tree.Credits); diff != "" {
		t.Errorf("credits (-want,+got):\n%s", diff)
	}
	notes := []string{
		`The shares below "language" sum to 3, not 100, and are normalised: pretraining 2 is 66.67 %, alignment 1 is 33.33 %.`,
		`The shares below "pretraining" sum to 1.5, not 100, and are normalised: eve 1 is 66.67 %, fay 0.5 is 33.33 %, others 0 is 0.00 %.`,
		`User "gus" is listed in language/alignment and vision: each job must name its team.`,
	}
	if diff := cmp.Diff(notes, tree.Notes); diff != "" {
		t.Errorf("notes (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{2, 6, 7}, tree.Reported); diff != "" {
		t.Errorf("reported (-want,+got):\n%s", diff)
	}
	if len(tree.Hash) != 64 || tree.Name != "lab" || tree.Depth() != 3 || len(tree.Levels) != 4 {
		t.Errorf("hash %q, name %q, depth %d, levels %q", tree.Hash, tree.Name, tree.Depth(), tree.Levels)
	}
	for leaf, want := range map[int32]int32{3: 0, 5: 0, 6: 1, 7: 2} {
		if got := tree.Allocation(leaf); got != want {
			t.Errorf("leaf %d is reported with %d, want %d", leaf, got, want)
		}
	}
}

func TestFlatFormIsTheSameTree(t *testing.T) {
	nested := parse(t, `
name: lab
children:
  - name: a
    share: 1
    children:
      - {name: x, share: 1}
      - {name: y, share: 3, users: [u]}
  - {name: b, share: 1, children: [{user: v, share: 1}]}
`)
	flat := parse(t, `
name: lab
accounts:
  - {name: y, share: 3, parent: a, users: [u]}
  - {name: a, share: 1}
  - {name: b, share: 1}
  - {user: v, share: 1, parent: b}
  - {name: x, share: 1, parent: a}
`)
	// Siblings keep the order of the file, so x and y change places.
	if got, want := paths(flat), "/ a a/y a/x b b/v"; got != want {
		t.Errorf("flat form is %s, want %s", got, want)
	}
	for i := range nested.Nodes {
		n := &nested.Nodes[i]
		j, ok := flat.Find(n.Path)
		if !ok || flat.Nodes[j].num != n.num || flat.Nodes[j].den != n.den || flat.Nodes[j].Person != n.Person || flat.Nodes[j].Depth != n.Depth {
			t.Errorf("%s is %+v in the flat form, %+v in the tree", n.Path, flat.Nodes[j], *n)
		}
	}
}

func paths(t *Tree) string {
	var all []string
	for i := range t.Nodes {
		all = append(all, t.Nodes[i].Path)
	}
	return strings.Join(all, " ")
}

func TestReportedByDefault(t *testing.T) {
	for text, want := range map[string]string{
		"children: [{name: a, share: 1}, {name: b, share: 1}]":                                                              "a b",
		"children: [{name: a, share: 1, children: [{user: u, share: 1}]}, {name: b, share: 1}]":                             "a b",
		"reportLevel: 0\nchildren: [{name: a, share: 1}]":                                                                   "/",
		"reportLevel: 2\nchildren: [{name: a, share: 1}, {name: b, share: 1, children: [{name: c, share: 1}]}]":             "a b/c",
		"reportLevel: 1\nchildren: [{name: a, share: 1}, {name: b, share: 1, children: [{name: c, share: 1}]}]":             "a b",
		"children: [{user: u, share: 1}, {user: v, share: 1}]":                                                              "/",
		"children: [{name: a, share: 1, children: [{name: x, share: 1}, {name: y, share: 1}]}, {name: b, share: 1}]":        "a/x a/y b",
		"children: [{name: a, share: 1, children: [{user: u, share: 1}, {name: o, share: 1}]}, {name: b, share: 1}]":        "a b",
		"accounts: [{name: x, share: 1, parent: a}, {name: a, share: 1}, {name: y, share: 1, parent: a, users: [u, v, w]}]": "a/x a/y",
	} {
		tree := parse(t, text)
		var got []string
		for _, i := range tree.Reported {
			got = append(got, tree.Nodes[i].Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\nreports %q, want %q", text, got, want)
		}
	}
}

func TestLeaf(t *testing.T) {
	lab := parse(t, labFile)
	for _, tc := range []struct{ team, user, want string }{
		{"pretraining", "eve", "language/pretraining/eve"},
		{"pretraining", "nobody", "language/pretraining/others"},
		{"language/pretraining", "fay", "language/pretraining/fay"},
		{"/language/pretraining", "fay", "language/pretraining/fay"},
		{"language", "eve", "language/pretraining/eve"},
		{"alignment", "gus", "language/alignment"},
		{"alignment", "eve", "!no leaf of language/alignment lists the user"},
		{"vision", "gus", "vision"},
		{"language", "gus", "language/alignment"},
		{"", "hal", "language/alignment"},
		{"", "gus", "!the user is listed in both language/alignment and vision"},
		{"lab", "gus", "!the user is listed in both language/alignment and vision"},
		{"", "nobody", "language/pretraining/others"},
		{"visio", "ida", "!no account has that name; did you mean vision?"},
		{"eve", "eve", "!no account has that name; want the name or the path of one, such as vision"},
		{"others", "zoe", "language/pretraining/others"}, // no person's, so a team of its own
	} {
		leaf, why := lab.leaf(tc.team, tc.user)
		got := "!" + why
		if why == "" {
			got = lab.Nodes[leaf].Path
		}
		if got != tc.want {
			t.Errorf("team %q, user %q: %s, want %s", tc.team, tc.user, got, tc.want)
		}
		if _, ok := lab.Leaf(tc.team, tc.user); ok != (why == "") {
			t.Errorf("team %q, user %q: Leaf and its reason disagree", tc.team, tc.user)
		}
	}
	open := parse(t, "children: [{name: a, share: 1}, {name: b, share: 1, children: [{name: a, share: 1, children: [{name: c, share: 1}]}, {name: d, share: 1}]}]")
	if i, ok := open.Find("a"); !ok || open.Nodes[i].Path != "a" {
		t.Error("the team a is not found by its name")
	}
	if _, why := open.leaf("b", "u"); why != "no leaf of b lists the user, and several list nobody" {
		t.Errorf("two open leaves: %q", why)
	}
	if i, ok := open.Leaf("b/a", "u"); !ok || open.Nodes[i].Name != "c" {
		t.Error("the only open leaf below a path is not found")
	}
}

func TestCheckWorkload(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{
		{ID: "1", Team: "vision", User: "ida"}, {ID: "2", Team: "visoin", User: "ida"}, {ID: "3", Team: "vision", User: "zoe"},
		{ID: "4", Team: "visoin", User: "bob"}, {ID: "5", User: "gus"}, {ID: "6", Team: "vision", User: "yan"},
	}}
	want := []Unmatched{
		{Team: "visoin", Jobs: 2, First: "2", User: "ida", Why: "no account has that name; did you mean vision?"},
		{Team: "vision", Jobs: 2, First: "3", User: "zoe", Why: "no leaf of vision lists the user"},
		{Team: "", Jobs: 1, First: "5", User: "gus", Why: "the user is listed in both language/alignment and vision"},
	}
	if diff := cmp.Diff(want, parse(t, labFile).CheckWorkload(w)); diff != "" {
		t.Errorf("unmatched jobs (-want,+got):\n%s", diff)
	}
}

// R55: a share of 0 beside one of 100, and a level of one account.
func TestProductShareOfLevelsWithZero(t *testing.T) {
	tree := parse(t, "children: [{name: best-effort, share: 0}, {name: inner, share: 100, children: [{name: g, share: 1}]}]")
	for i, want := range [][2]uint64{{1, 1}, {0, 1}, {1, 1}, {1, 1}} {
		if num, den := tree.ProductShare(int32(i)); [2]uint64{num, den} != want {
			t.Errorf("%s has %d/%d, want %d/%d", tree.Nodes[i].Path, num, den, want[0], want[1])
		}
	}
}

func TestProductShareTooLongIsRounded(t *testing.T) {
	text, indent := "", ""
	for i := range 8 {
		text += fmt.Sprintf("%[1]schildren:\n%[1]s  - {name: z%[2]d, share: 99991.337}\n%[1]s  - name: y\n%[1]s    share: 12.347\n", indent, i)
		indent += "    "
	}
	text += indent + "users: [u]\n"
	tree, err := Parse("b.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(tree.Notes, "\n"), "rounded down to a multiple of 2^-62") {
		t.Error("no note about rounding")
	}
	for i := range tree.Nodes {
		if num, den := tree.ProductShare(int32(i)); den == 0 || den > 1<<62 || num > den {
			t.Errorf("%s has %d/%d", tree.Nodes[i].Path, num, den)
		}
	}
}

func TestCompare(t *testing.T) {
	tree := parse(t, "children: [{name: a, share: 1}, {name: b, share: 2}, {name: c, share: 0}]")
	const whole = 3 * (1 << 60)
	for _, tc := range []struct {
		node int32
		used int64
		want int
	}{{1, 1<<60 - 1, -1}, {1, 1 << 60, 0}, {1, 1<<60 + 1, 1}, {2, 1<<61 - 1, -1}, {2, 1 << 61, 0}, {3, 0, 0}, {3, 1, 1}, {1, -5, -1}} {
		if got := tree.CompareShare(tc.node, tc.used, whole); got != tc.want {
			t.Errorf("node %d, used %d: %d, want %d", tc.node, tc.used, got, tc.want)
		}
	}
	for _, tc := range []struct {
		ua, sa, ub, sb int64
		want           int
	}{{1, 1, 2, 2, 0}, {1, 1, 1, 2, 1}, {1 << 62, 3, 1<<62 - 1, 3, 1}, {9, 0, 10, 0, -1}, {0, 0, 1 << 62, 1, 1}, {1 << 62, 1, 0, 0, -1}} {
		if got := CompareRatio(tc.ua, tc.sa, tc.ub, tc.sb); got != tc.want {
			t.Errorf("%d/%d against %d/%d: %d, want %d", tc.ua, tc.sa, tc.ub, tc.sb, got, tc.want)
		}
		if got := CompareRatio(tc.ub, tc.sb, tc.ua, tc.sa); got != -tc.want {
			t.Errorf("%d/%d against %d/%d turned round: %d, want %d", tc.ub, tc.sb, tc.ua, tc.sa, got, -tc.want)
		}
	}
}

// Every broken file begins with a line "# want: " and the error it must give.
func TestBadFiles(t *testing.T) {
	yamlxtest.BadFiles(t, func(name string, data []byte) error {
		_, err := Parse(name, data)
		return err
	})
}

func TestLoad(t *testing.T) {
	if _, err := Load("testdata/none.yaml"); err == nil || !strings.Contains(err.Error(), "testdata/none.yaml") {
		t.Errorf("error of a missing file: %v", err)
	}
}
