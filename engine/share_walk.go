package engine

import "github.com/escala-sched/escala/budget"

// walk is the order of hierarchical fair share (SEMANTICS 19): from the root by
// usage / share over children with something to try, down to a leaf; then the
// leaf's own order. It holds the classes of one pass in heaps, one a node: the
// next is at the top of each, so a step costs O(depth x log children).
type walk struct {
	tree *budget.Tree
	// heaps are the children of a node with something below, classes those of a leaf.
	heaps   [][]int32
	classes [][]int32
	// first is the job that would be next below a node, the tie-break.
	first []int32
	// more is usage that started in this decision, in milli-GPU x ms.
	more    []int64
	nodes   []int32
	started []int32
}

func (w *walk) init(t *budget.Tree) {
	n := len(t.Nodes) + 1
	*w = walk{tree: t, heaps: make([][]int32, n), classes: make([][]int32, n), first: make([]int32, n), more: make([]int64, n)}
}

// begin empties the walk.
func (w *walk) begin() {
	for _, n := range w.nodes {
		w.heaps[n], w.classes[n] = w.heaps[n][:0], w.classes[n][:0]
	}
	w.nodes = w.nodes[:0]
}

// forget takes back what started in a decision.
func (w *walk) forget() {
	for _, n := range w.started {
		w.more[n] = 0
	}
	w.started = w.started[:0]
}

// add puts a class under its leaf; build follows.
func (w *walk) add(leaf, ci int32) {
	if len(w.classes[leaf]) == 0 {
		for n := leaf; ; n = w.tree.Nodes[n].Parent {
			w.nodes = append(w.nodes, n)
			if n == 0 || int(n) == len(w.tree.Nodes) {
				break
			}
			up := w.tree.Nodes[n].Parent
			w.heaps[up] = append(w.heaps[up], n)
			if len(w.heaps[up]) > 1 {
				break // the rest of the way is there
			}
		}
	}
	w.classes[leaf] = append(w.classes[leaf], ci)
}

// ratio says how a node is served; it is asked for siblings only.
type ratio func(node int32) int64

// build orders the heaps from the leaves up.
func (e *Engine) build(w *walk, used ratio) {
	e.buildNode(w, 0, used)
	out := int32(len(w.tree.Nodes))
	e.heapify(w.classes[out])
}

func (e *Engine) heapify(h []int32) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		e.sift(h, i)
	}
}

func (e *Engine) buildNode(w *walk, n int32, used ratio) {
	if c := w.classes[n]; len(c) > 0 {
		e.heapify(c)
		w.first[n] = e.classes[c[0]].cur
		return
	}
	h := w.heaps[n]
	for _, c := range h {
		e.buildNode(w, c, used)
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		e.siftNode(w, h, i, used)
	}
	if len(h) > 0 {
		w.first[n] = w.first[h[0]]
	}
}

// comesFirst tells whether sibling a goes before sibling b.
func (e *Engine) comesFirst(w *walk, a, b int32, used ratio) bool {
	na, nb := &w.tree.Nodes[a], &w.tree.Nodes[b]
	if c := budget.CompareRatio(used(a)+w.more[a], na.Share, used(b)+w.more[b], nb.Share); c != 0 {
		return c < 0
	}
	x, y := w.first[a], w.first[b]
	if e.q.submit[x] != e.q.submit[y] {
		return e.q.submit[x] < e.q.submit[y]
	}
	return x < y
}

func (e *Engine) siftNode(w *walk, h []int32, i int, used ratio) {
	for {
		l := 2*i + 1
		if l >= len(h) {
			return
		}
		if r := l + 1; r < len(h) && e.comesFirst(w, h[r], h[l], used) {
			l = r
		}
		if !e.comesFirst(w, h[l], h[i], used) {
			return
		}
		h[i], h[l] = h[l], h[i]
		i = l
	}
}

// next is the leaf whose turn it is and its first class; ok is false when nothing is left.
func (w *walk) next() (leaf, ci int32, ok bool) {
	n := int32(0)
	for len(w.heaps[n]) > 0 {
		n = w.heaps[n][0]
	}
	if len(w.classes[n]) == 0 {
		if n = int32(len(w.tree.Nodes)); len(w.classes[n]) == 0 {
			return none, none, false
		}
	}
	return n, w.classes[n][0], true
}

// step goes on behind the class that next named: it has another job to try, or is
// done with; started is the usage that came of it.
func (e *Engine) step(w *walk, leaf int32, again bool, started int64, used ratio) {
	c := w.classes[leaf]
	if again {
		e.sift(c, 0)
	} else {
		w.classes[leaf] = e.pop(c)
		c = w.classes[leaf]
	}
	if len(c) > 0 {
		w.first[leaf] = e.classes[c[0]].cur
	}
	if int(leaf) == len(w.tree.Nodes) {
		return
	}
	empty := len(c) == 0
	for n := leaf; ; {
		if started > 0 {
			w.more[n] += started
			w.started = append(w.started, n)
		}
		if n == 0 {
			return
		}
		up := w.tree.Nodes[n].Parent
		h := w.heaps[up]
		if empty {
			last := len(h) - 1
			h[0] = h[last]
			h = h[:last]
			w.heaps[up] = h
		}
		e.siftNode(w, h, 0, used)
		empty = len(h) == 0
		if !empty {
			w.first[up] = w.first[h[0]]
		}
		n = up
	}
}
