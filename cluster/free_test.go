package cluster

import (
	"math/bits"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// naive recounts everything that Free keeps an index of.
type naive struct {
	left [][]int32
	cpu  []int64
	shut []bool
}

// TestFreeEqualsRecount moves random grants in and out, shuts and opens nodes,
// copies and intersects, and compares every number with a recount from scratch.
func TestFreeEqualsRecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Spec{Name: "random", Levels: []string{"rack"}}
		for i := range rapid.IntRange(1, 70).Draw(t, "nodes") {
			s.Nodes = append(s.Nodes, Node{Name: strconv.Itoa(i), GPUs: rapid.SampledFrom([]int32{2, 4, 8}).Draw(t, "gpus"),
				CPU: 8000, Places: []string{"r" + strconv.Itoa(i/3)}})
		}
		l := NewLayout(s)
		f := NewFree(l, 0)
		n := naive{cpu: make([]int64, len(s.Nodes)), shut: make([]bool, len(s.Nodes))}
		for i := range s.Nodes {
			row := make([]int32, s.Nodes[i].GPUs)
			for g := range row {
				row[g] = 1000
			}
			n.left = append(n.left, row)
			n.cpu[i] = 8000
		}
		var out []Grant
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := int32(rapid.IntRange(0, len(s.Nodes)-1).Draw(t, "node"))
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0: // whole GPUs
				var set uint64
				for g, left := range n.left[i] {
					if left == 1000 && rapid.Bool().Draw(t, "take") {
						set |= 1 << g
						n.left[i][g] = 0
					}
				}
				gr := WholeGrant(i, set)
				gr.CPU = 100
				n.cpu[i] -= 100
				f.Take([]Grant{gr})
				out = append(out, gr)
			case 1: // a part
				g := rapid.IntRange(0, len(n.left[i])-1).Draw(t, "gpu")
				if m := int32(rapid.SampledFrom([]int{100, 300, 500}).Draw(t, "milli")); n.left[i][g] >= m {
					n.left[i][g] -= m
					gr := Grant{Node: i, Milli: m, GPUs: 1 << g, Count: 1}
					f.Take([]Grant{gr})
					out = append(out, gr)
				}
			case 2:
				if len(out) > 0 {
					k := rapid.IntRange(0, len(out)-1).Draw(t, "give")
					gr := out[k]
					out = append(out[:k], out[k+1:]...)
					f.Give([]Grant{gr})
					n.cpu[gr.Node] += gr.CPU
					for g := range n.left[gr.Node] {
						if gr.GPUs>>g&1 == 1 {
							n.left[gr.Node][g] += gr.Milli
						}
					}
				}
			case 3:
				n.shut[i] = !n.shut[i]
				f.SetShut(i, n.shut[i])
			case 4:
				c := NewFree(l, 0)
				c.CopyFrom(f)
				if rapid.Bool().Draw(t, "both") {
					c.Intersect(f) // what is free in both is the same again
				}
				f = c
			}
			n.compare(t, l, f)
		}
	})
}

func (n *naive) compare(t *rapid.T, l *Layout, f *Free) {
	p := f.Pool()
	var milli, whole int64
	count := map[int32]int32{}
	for i, row := range n.left {
		var set uint64
		for g, left := range row {
			if left == 1000 {
				set |= 1 << g
			}
			if !n.shut[i] {
				milli += int64(left)
			}
			if got := f.Left(int32(i), g); got != left {
				t.Fatalf("node %d GPU %d: %d left, want %d", i, g, got, left)
			}
		}
		if f.Mask(int32(i)) != set || f.CPU(int32(i)) != n.cpu[i] {
			t.Fatalf("node %d: mask %b cpu %d, want %b %d", i, f.Mask(int32(i)), f.CPU(int32(i)), set, n.cpu[i])
		}
		if !n.shut[i] {
			free := int32(bits.OnesCount64(set))
			whole += int64(free)
			count[free]++
		}
	}
	if f.Milli() != milli || f.Whole() != whole {
		t.Fatalf("free %d milli, %d whole; want %d, %d", f.Milli(), f.Whole(), milli, whole)
	}
	for k := int32(0); k <= p.MaxGPUs; k++ {
		if f.CountWith(k) != count[k] {
			t.Fatalf("%d nodes with %d free, want %d", f.CountWith(k), k, count[k])
		}
		seen := int32(0)
		for i := f.NextWith(k, 0); i >= 0; i = f.NextWith(k, i+1) {
			seen++
		}
		if seen != count[k] {
			t.Fatalf("the bucket of %d free has %d nodes, want %d", k, seen, count[k])
		}
	}
	for g := int32(1); g <= p.MaxGPUs; g++ {
		var want int64
		places := make([]int64, p.BlockCount[0])
		for i := range n.left {
			if n.shut[i] {
				continue
			}
			k := int64(int32(bits.OnesCount64(f.Mask(int32(i)))) / g)
			want += k
			places[p.Blocks[0][i]] += k
		}
		if got := f.Slots(g, Unbounded, 1<<40); got != want {
			t.Fatalf("%d slots of %d, want %d", got, g, want)
		}
		for b, want := range places {
			if got := f.PlaceSlots(0, int32(b), g, Unbounded, 1<<40); got != want {
				t.Fatalf("place %d: %d slots of %d, want %d", b, got, g, want)
			}
		}
	}
	for i := f.NextPartial(0); i >= 0; i = f.NextPartial(i + 1) {
		some := false
		for _, left := range n.left[i] {
			some = some || left > 0 && left < 1000
		}
		if !some || n.shut[i] {
			t.Fatalf("node %d is filed as partial", i)
		}
	}
}

func TestBitsetAcrossWords(t *testing.T) {
	b := newBitset(10_000)
	want := []int32{0, 63, 64, 4095, 4096, 8191, 9999}
	for _, i := range want {
		b.set(i)
	}
	var got []int32
	for i := b.next(0); i >= 0; i = b.next(i + 1) {
		got = append(got, i)
	}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for _, i := range want {
		b.clear(i)
	}
	if b.next(0) != -1 {
		t.Fatalf("not empty: %d", b.next(0))
	}
}

func TestParseShort(t *testing.T) {
	for _, tc := range []struct {
		in   string
		gpus int64
		ok   bool
		bad  bool
	}{
		{"16x8", 128, true, false}, {"pool:256", 256, true, false}, {"c.yaml", 0, false, false},
		{"0x8", 0, true, true}, {"4x65", 0, true, true}, {"pool:0", 0, true, true}, {"pool:x", 0, true, true}, {"x8", 0, true, true},
		{"exotic.yaml", 0, false, false}, {"4x", 0, true, true},
	} {
		s, ok, err := ParseShort(tc.in)
		if ok != tc.ok || (err != nil) != tc.bad || s != nil && s.GPUs() != tc.gpus {
			t.Errorf("%q: %+v %v %v", tc.in, s, ok, err)
		}
	}
}
