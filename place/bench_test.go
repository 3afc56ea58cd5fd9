package place

import (
	"strconv"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

// tenThousand is 10,000 nodes x 8 GPUs in 625 blocks of 16, one GPU of every node busy.
func tenThousand(tb testing.TB, rule policy.Placement) (*Placer, []*cluster.Free) {
	s := &cluster.Spec{Name: "large", Levels: []string{"block"}}
	for i := range 10_000 {
		s.Nodes = append(s.Nodes, cluster.Node{Name: strconv.Itoa(i), GPUs: 8, Places: []string{strconv.Itoa(i / 16)}})
	}
	l := cluster.NewLayout(s)
	p, err := New(l, rule)
	if err != nil {
		tb.Fatal(err)
	}
	f := cluster.NewFree(l, 0)
	for i := range int32(10_000) {
		f.Take([]cluster.Grant{cluster.WholeGrant(i, 1)})
	}
	return p, []*cluster.Free{f}
}

// BenchmarkNoByCounting: a job that does not fit 10,000 nodes, nothing remembered.
func BenchmarkNoByCounting(b *testing.B) {
	p, f := tenThousand(b, policy.Placement{By: policy.BestFit})
	s := p.Shape(workload.Need{Tasks: 4, GPUs: 8}, "")
	for b.Loop() {
		if p.FitsIn(f[0], s, 0) {
			b.Fatal("fits")
		}
	}
}

// BenchmarkNoByTopology: a gang of 16 nodes that must lie in one of 625 blocks.
// BenchmarkNoByContiguity: the same as an aligned run of nodes.
func BenchmarkNoByTopology(b *testing.B) {
	benchmarkNo(b, policy.Placement{By: policy.BestFit}, workload.Need{Tasks: 20, GPUs: 7, Within: "block"})
}

func BenchmarkNoByContiguity(b *testing.B) {
	benchmarkNo(b, policy.Placement{By: policy.Contiguous}, workload.Need{Tasks: 16, GPUs: 7})
}

func benchmarkNo(b *testing.B, rule policy.Placement, need workload.Need) {
	p, f := tenThousand(b, rule)
	if rule.By == policy.Contiguous { // break every run of 16 nodes at one node
		for i := int32(0); i < 10_000; i += 16 {
			f[0].Take([]cluster.Grant{cluster.WholeGrant(i, 0b11111110)})
		}
	}
	no := func(b *testing.B, s *Shape) {
		if p.Fits(f, s) {
			b.Fatal("fits")
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := p.Shape(need, "")
			b.StartTimer()
			no(b, s)
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		s := p.Shape(need, "")
		for b.Loop() {
			no(b, s)
		}
	})
	b.Run("one-changed", func(b *testing.B) {
		s := p.Shape(need, "")
		g := []cluster.Grant{cluster.WholeGrant(5001, 0b10)}
		no(b, s)
		for b.Loop() {
			f[0].Take(g)
			f[0].Give(g)
			no(b, s)
		}
	})
}
