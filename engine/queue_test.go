package engine

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueueEqualsSortedList compares the treap with a sorted slice under random
// insertions, removals and searches.
func TestQueueEqualsSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := queue{terms: 1}
		root := none
		var list []int32
		next := int32(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(list) == 0 || rapid.IntRange(0, 2).Draw(t, "step") > 0 {
				n := next
				next++
				q.grow(int(next))
				q.keys[n] = int64(rapid.IntRange(0, 3).Draw(t, "key"))
				q.submit[n] = int64(rapid.IntRange(0, 3).Draw(t, "submit"))
				q.est[n] = int64(rapid.IntRange(1, 9).Draw(t, "estimate"))
				root = q.insert(root, n)
				list = append(list, n)
				slices.SortFunc(list, func(a, b int32) int {
					if q.less(a, b) {
						return -1
					}
					return 1
				})
			} else {
				k := rapid.IntRange(0, len(list)-1).Draw(t, "remove")
				root = q.remove(root, list[k])
				list = slices.Delete(list, k, k+1)
			}
			var walk []int32
			for n := q.first(root); n != none; n = q.after(root, n, 1<<62) {
				walk = append(walk, n)
			}
			if !slices.Equal(walk, list) {
				t.Fatalf("walk %v, want %v", walk, list)
			}
			longest := int64(rapid.IntRange(0, 9).Draw(t, "longest"))
			from := -1
			if len(list) > 0 {
				from = rapid.IntRange(-1, len(list)-1).Draw(t, "from")
			}
			want := none
			for _, n := range list[from+1:] {
				if q.est[n] <= longest {
					want = n
					break
				}
			}
			behind := none
			if from >= 0 {
				behind = list[from]
			}
			if got := q.after(root, behind, longest); got != want {
				t.Fatalf("after %d up to %d: %d, want %d", behind, longest, got, want)
			}
		}
	})
}
