package report

import (
	"testing"

	"github.com/escala-sched/escala/horizon"
)

func TestWhere(t *testing.T) {
	q := &horizon.Problem{GPUs: 16, Nodes: []horizon.Node{{Name: "a", First: 0, Count: 4}, {Name: "b", First: 4, Count: 3}, {Name: "c", First: 8, Count: 4}}}
	for _, c := range []struct {
		first, n int
		want     string
	}{{0, 4, "a"}, {0, 1, "a:0"}, {1, 2, "a:1-2"}, {4, 4, "b"}, {4, 2, "b:0-1"}, {0, 12, "a to c"}, {7, 1, "-"}, {12, 4, "-"}} {
		if got := where(q, c.first, c.n); got != c.want {
			t.Errorf("slots %d to %d are %q; want %q", c.first, c.first+c.n-1, got, c.want)
		}
	}
	if got := rowOf(&horizon.Problem{GPUs: 8}, 2, 2); got != "GPU 2-3" {
		t.Errorf("a row without machines is called %q", got)
	}
}
