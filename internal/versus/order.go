package versus

import (
	"cmp"
	"slices"

	"github.com/escala-sched/escala/workload"
)

// pair is when a job started in reality and in shadow, in whole seconds.
type pair struct{ real, shadow int64 }

// likes are jobs that a fair scheduler tells apart by time alone.
type likes struct {
	team, partition string
	need            workload.Need
	priority        int64
}

// disorder counts pairs of jobs that start one after the other in both, and those of them that do
// so in another order.
func disorder(list []pair) (pairs, swapped int64) {
	n := int64(len(list))
	slices.SortFunc(list, func(a, b pair) int { return cmp.Or(cmp.Compare(a.real, b.real), cmp.Compare(a.shadow, b.shadow)) })
	pairs = n*(n-1)/2 - ties(list, func(a, b pair) bool { return a.real == b.real }) + ties(list, func(a, b pair) bool { return a == b })
	shadow := make([]int64, n)
	for i, p := range list {
		shadow[i] = p.shadow
	}
	swapped = inversions(shadow, make([]int64, n)) // which sorts
	for from := 0; from < len(shadow); {
		to := from
		for to < len(shadow) && shadow[to] == shadow[from] {
			to++
		}
		k := int64(to - from)
		pairs -= k * (k - 1) / 2
		from = to
	}
	return pairs, swapped
}

// ties counts the pairs of neighbours in a row that are the same.
func ties(list []pair, same func(a, b pair) bool) (n int64) {
	run := int64(1)
	for i := 1; i <= len(list); i++ {
		if i < len(list) && same(list[i-1], list[i]) {
			run++
			continue
		}
		n += run * (run - 1) / 2
		run = 1
	}
	return n
}

// inversions sorts, and counts the pairs that stood the wrong way round.
func inversions(v, tmp []int64) (n int64) {
	if len(v) < 2 {
		return 0
	}
	m := len(v) / 2
	n = inversions(v[:m], tmp[:m]) + inversions(v[m:], tmp[m:])
	copy(tmp, v)
	a, b := tmp[:m], tmp[m:]
	for i := range v {
		if len(b) == 0 || len(a) > 0 && a[0] <= b[0] {
			v[i], a = a[0], a[1:]
			continue
		}
		v[i], b = b[0], b[1:]
		n += int64(len(a))
	}
	return n
}
