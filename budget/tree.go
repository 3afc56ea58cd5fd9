package budget

// Tree is a checked budgets file. It does not change.
type Tree struct {
	// Name of the root; Hash is the SHA-256 of the file, hex.
	Name, Hash string
	// Nodes are the accounts, the root first, each before its children and all of
	// a subtree together (depth first), siblings in the order of the file.
	Nodes []Node
	// Levels names the depths, the root's first; empty where the file names none.
	Levels []string
	// Reported are the nodes that owed is reported for, in the order of Nodes:
	// every leaf is below exactly one of them, or is one.
	Reported []int32
	// Credits are in the order of the file.
	Credits []Credit
	// Pools are the GPU types that have shares of their own, in the order of the file;
	// none = shares are of all GPUs.
	Pools []string
	// Notes say in sentences what a reader of the file may not expect.
	Notes []string

	text []byte
	// in are the trees of the pools, this one the first of them.
	in    []*Tree
	index index
	// reportedOf is the index in Reported for each node at or below one of them, -1 above.
	reportedOf []int32
}

// YAML is the text that the tree was read from: [Parse] makes the same tree of it,
// called Name+".yaml" in case the text does not say the name. It must not be changed.
func (t *Tree) YAML() []byte { return t.text }

// Node is an account: an organisation, a program, a team, a person.
type Node struct {
	Name string
	// Path is the names from below the root, joined by '/'; "/" for the root.
	Path string
	// Parent is -1 for the root, whose Depth is 0.
	Parent, Depth int32
	Children      []int32
	// Last is the last node of the subtree: it is Nodes[i..Last].
	Last int32
	// Share is the weight among the siblings, in thousandths of what the file says.
	Share    int64
	Managers []string
	// Users are the people whose jobs a leaf takes; empty = anybody's.
	Users []string
	// Person: the node is one user's, who is the only one in Users.
	Person bool
	// Budget is nil where GPU-hours are not limited.
	Budget *Hard

	// num/den is the product of the normalised shares down from the root.
	num, den uint64
}

// Leaf tells whether jobs can be charged to the node.
func (n *Node) Leaf() bool { return len(n.Children) == 0 }

// Hard is a budget of GPU-hours that ends.
type Hard struct {
	// GPUTime per period, in milli-GPU x ms.
	GPUTime int64
	Per     Period
	// CarryOver is how many percent of what is left at the end of a period are
	// added to the next: 0..100.
	CarryOver    int64
	OnExhaustion Exhaustion
}

// Exhaustion says what becomes of a start that a hard budget cannot pay.
type Exhaustion uint8

// Rules of exhaustion, the mildest first.
const (
	// Truncate cuts the minimum runtime to what is left.
	Truncate Exhaustion = iota
	// RunUnallocated starts the job unallocated: not charged, not protected.
	RunUnallocated
	// Refuse keeps the job waiting.
	Refuse
)

var exhaustionNames = []string{"truncate", "unallocated", "refuse"}

// String returns the rule as files spell it.
func (e Exhaustion) String() string { return exhaustionNames[e] }

// Below tells whether a node lies in the subtree of another, which it does of its own.
func (t *Tree) Below(node, top int32) bool { return node >= top && node <= t.Nodes[top].Last }

// Allocation returns the index in Reported of the account that a leaf is reported with.
func (t *Tree) Allocation(leaf int32) int32 { return t.reportedOf[leaf] }

// Depth is the depth of the deepest node.
func (t *Tree) Depth() int32 {
	var d int32
	for i := range t.Nodes {
		d = max(d, t.Nodes[i].Depth)
	}
	return d
}

// team tells whether jobs name the node as their team: a leaf that is not a
// person, or the parent of people.
func (t *Tree) team(i int32) bool {
	n := &t.Nodes[i]
	if n.Leaf() {
		return !n.Person
	}
	for _, c := range n.Children {
		if t.Nodes[c].Person {
			return true
		}
	}
	return false
}
