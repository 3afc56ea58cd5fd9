package engine

import "github.com/escala-sched/escala/workload"

// queue keeps the waiting jobs of all classes in treaps (Seidel & Aragon, 1996)
// over job numbers: one set of arrays, one root per class. Order: the static
// order terms, then submission, then number. Each node knows the smallest
// estimate below it, so that "the first in order that is short enough" is
// O(log n). Priorities are a hash of the number: no randomness.
type queue struct {
	terms       int
	keys        []int64 // terms a job
	submit      []workload.Time
	est         []workload.Span
	minEst      []workload.Span
	left, right []int32
}

const none = int32(-1)

// expect reserves memory for n job numbers, grow makes numbers below n usable.
func (q *queue) expect(n int) {
	reserve(&q.keys, n*q.terms)
	reserve(&q.submit, n)
	reserve(&q.est, n)
	reserve(&q.minEst, n)
	reserve(&q.left, n)
	reserve(&q.right, n)
}

func (q *queue) grow(n int) {
	if n > cap(q.submit) {
		q.expect(max(n, 2*cap(q.submit)))
	}
	q.keys, q.submit, q.est, q.minEst = q.keys[:n*q.terms], q.submit[:n], q.est[:n], q.minEst[:n]
	q.left, q.right = q.left[:n], q.right[:n]
}

func reserve[T any](s *[]T, n int) {
	if cap(*s) < n {
		*s = append(make([]T, 0, n), *s...)
	}
}

// less is the total order of waiting jobs by their static terms.
func (q *queue) less(a, b int32) bool {
	if q.terms > 0 {
		ka, kb := q.keys[int(a)*q.terms:], q.keys[int(b)*q.terms:]
		for i := range q.terms {
			if ka[i] != kb[i] {
				return ka[i] < kb[i]
			}
		}
	}
	if q.submit[a] != q.submit[b] {
		return q.submit[a] < q.submit[b]
	}
	return a < b
}

// weight is the heap priority of a number: a bijective mix, so no two are equal.
func weight(n int32) uint32 {
	x := uint32(n)
	x = (x ^ x>>16) * 0x7feb352d
	x = (x ^ x>>15) * 0x846ca68b
	return x ^ x>>16
}

func (q *queue) pull(n int32) {
	m := q.est[n]
	if l := q.left[n]; l != none && q.minEst[l] < m {
		m = q.minEst[l]
	}
	if r := q.right[n]; r != none && q.minEst[r] < m {
		m = q.minEst[r]
	}
	q.minEst[n] = m
}

// insert adds job x and returns the new root.
func (q *queue) insert(root, x int32) int32 {
	if root == none {
		q.left[x], q.right[x], q.minEst[x] = none, none, q.est[x]
		return x
	}
	if weight(x) > weight(root) {
		q.left[x], q.right[x] = q.split(root, x)
		q.pull(x)
		return x
	}
	if q.less(x, root) {
		q.left[root] = q.insert(q.left[root], x)
	} else {
		q.right[root] = q.insert(q.right[root], x)
	}
	if q.est[x] < q.minEst[root] {
		q.minEst[root] = q.est[x]
	}
	return root
}

// split cuts a tree into what is before x and what is after it.
func (q *queue) split(root, x int32) (before, after int32) {
	if root == none {
		return none, none
	}
	if q.less(root, x) {
		q.right[root], after = q.split(q.right[root], x)
		before = root
	} else {
		before, q.left[root] = q.split(q.left[root], x)
		after = root
	}
	q.pull(root)
	return before, after
}

// remove takes job x out and returns the new root.
func (q *queue) remove(root, x int32) int32 {
	if root == x {
		return q.merge(q.left[x], q.right[x])
	}
	if q.less(x, root) {
		q.left[root] = q.remove(q.left[root], x)
	} else {
		q.right[root] = q.remove(q.right[root], x)
	}
	q.pull(root)
	return root
}

func (q *queue) merge(a, b int32) int32 {
	switch {
	case a == none:
		return b
	case b == none:
		return a
	case weight(a) > weight(b):
		q.right[a] = q.merge(q.right[a], b)
		q.pull(a)
		return a
	}
	q.left[b] = q.merge(a, q.left[b])
	q.pull(b)
	return b
}

// first returns the first job in order, none if the tree is empty.
func (q *queue) first(root int32) int32 {
	if root == none {
		return none
	}
	for q.left[root] != none {
		root = q.left[root]
	}
	return root
}

// after returns the first job behind x in order whose estimate is at most
// longest; x = none starts at the front.
func (q *queue) after(root, x int32, longest workload.Span) int32 {
	if root == none || q.minEst[root] > longest {
		return none
	}
	if x != none && !q.less(x, root) {
		return q.after(q.right[root], x, longest)
	}
	if r := q.after(q.left[root], x, longest); r != none {
		return r
	}
	if q.est[root] <= longest {
		return root
	}
	return q.after(q.right[root], none, longest)
}
