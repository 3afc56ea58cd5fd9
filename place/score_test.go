package place

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

var scoring = []policy.Placer{policy.Random, policy.DotProduct, policy.Clustering, policy.Packing, policy.BestFitScore, policy.FGD}

type world struct {
	p     *Placer
	frees []*cluster.Free
}

func newWorld(t testing.TB, spec *cluster.Spec, rule policy.Placement) *world {
	t.Helper()
	if err := spec.Check(); err != nil {
		t.Fatal(err)
	}
	l := cluster.NewLayout(spec)
	p, err := New(l, rule)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{p: p}
	for i := range l.Pools {
		w.frees = append(w.frees, cluster.NewFree(l, int32(i)))
	}
	return w
}

func (w *world) place(t testing.TB, n workload.Need) []cluster.Grant {
	t.Helper()
	gs, pool, ok := w.p.Place(w.frees, w.p.Shape(n, ""), nil)
	if !ok {
		t.Fatalf("%s does not fit", &n)
	}
	w.frees[pool].Take(gs)
	return gs
}

func part(milli int32) workload.Need { return workload.Need{Tasks: 1, GPUs: 1, Milli: milli} }
func whole(gpus int32) workload.Need { return workload.Need{Tasks: 1, GPUs: gpus} }

func cores(gpus int32, cpu int64) workload.Need {
	return workload.Need{Tasks: 1, GPUs: gpus, CPU: cpu}
}

// TestScores pins which node, and which of its GPUs, each rule takes.
func TestScores(t *testing.T) {
	two := &cluster.Spec{Name: "two", Nodes: []cluster.Node{{Name: "a", GPUs: 8, CPU: 64000}, {Name: "b", GPUs: 4, CPU: 96000}}}
	three := cluster.Uniform("three", 3, 4)
	tests := []struct {
		name   string
		by     policy.Placer
		spec   *cluster.Spec
		before []workload.Need
		need   workload.Need
		node   int32
		gpus   uint64
	}{
		{"the smaller product", policy.DotProduct, two, nil, cores(4, 0), 1, 0b1111},
		{"the smaller product in cores", policy.DotProduct, two, nil, cores(1, 48000), 0, 0b1},
		{"the least left over", policy.BestFitScore, two, nil, cores(4, 32000), 1, 0b1111},
		{"the least left over, of GPUs and cores", policy.BestFitScore, two, []workload.Need{cores(5, 0)}, cores(1, 0), 0, 0b100000},
		{"the smallest idle node", policy.Packing, two, nil, whole(1), 1, 0b1},
		{"a node in use", policy.Packing, three, []workload.Need{whole(4), whole(1)}, whole(3), 1, 0b1110},
		{"the fullest shared GPU", policy.Packing, three, []workload.Need{part(600), part(700)}, part(300), 0, 0b10},
		{"next to its kind", policy.Clustering, three, []workload.Need{part(500), whole(1)}, part(600), 0, 0b10},
		{"next to its kind, whole", policy.Clustering, three, []workload.Need{part(500), whole(1)}, whole(1), 1, 0b10},
		{"idle before the other kind", policy.Clustering, three, []workload.Need{part(500)}, whole(2), 1, 0b11},
	}
	for _, tc := range tests {
		t.Run(tc.by.String()+"/"+tc.name, func(t *testing.T) {
			w := newWorld(t, tc.spec, policy.Placement{By: tc.by})
			for _, n := range tc.before {
				w.place(t, n)
			}
			g := w.place(t, tc.need)[0]
			if g.Node != tc.node || g.GPUs != tc.gpus {
				t.Errorf("node %d GPUs %b, want node %d GPUs %b", g.Node, g.GPUs, tc.node, tc.gpus)
			}
		})
	}
}

// TestGradient: a part goes where it spoils the least for what is asked for.
func TestGradient(t *testing.T) {
	rule := policy.Placement{By: policy.FGD}
	spec := cluster.Uniform("two", 2, 2)
	w := newWorld(t, spec, rule)
	w.p.SetTargets([]Target{{Need: whole(2), Weight: 1}})
	w.place(t, part(500))
	if g := w.place(t, part(500))[0]; g.Node != 0 {
		t.Errorf("the part breaks up the whole node")
	}
	w = newWorld(t, spec, rule)
	w.p.SetTargets([]Target{{Need: whole(1), Weight: 3}, {Need: part(600), Weight: 1}})
	w.place(t, part(400))
	if g := w.place(t, part(400))[0]; g.Node != 0 || g.GPUs != 1 {
		t.Errorf("node %d GPUs %b: the part takes a second GPU from those who want whole ones", g.Node, g.GPUs)
	}
	// Told nothing, it learns the same from what was asked for.
	w = newWorld(t, spec, rule)
	for range 10 {
		w.p.Asked(w.p.Shape(whole(1), ""))
	}
	w.place(t, part(400))
	if g := w.place(t, part(400))[0]; g.Node != 0 || g.GPUs != 1 {
		t.Errorf("learned: node %d GPUs %b", g.Node, g.GPUs)
	}
}

// fragmentation is the definition, target by target.
func fragmentation(ts []target, gpuType string, left []int32, cpu int64) (out int64) {
	for _, t := range ts {
		var all, small int64
		var n int32
		for _, l := range left {
			all += int64(l)
			if l < t.milli {
				small += int64(l)
			} else {
				n++
			}
		}
		if t.gpus > 0 && allows(t.types, gpuType) && n >= t.gpus && cpu >= t.cpu {
			out += t.weight * small
		} else {
			out += t.weight * all
		}
	}
	return out
}

func TestFragmentation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pool := &cluster.Pool{GPUType: "T4"}
	for range 2000 {
		var ts []target
		for range rng.IntN(12) {
			n := target{cpu: 1000 * rng.Int64N(6), gpus: rng.Int32N(5), types: []string{"", "T4", "A10|T4", "A10"}[rng.IntN(4)], weight: 1 + rng.Int64N(9)}
			if n.milli = 1000; n.gpus == 1 {
				n.milli = 100 * (1 + rng.Int32N(10))
			}
			ts = append(ts, n)
		}
		left := make([]int32, 1+rng.IntN(8))
		for g := range left {
			left[g] = 100 * rng.Int32N(11)
		}
		cpu := 500 * rng.Int64N(12)
		table := newFragTable(ts, pool)
		if got, want := table.frag(left, cpu), fragmentation(ts, "T4", left, cpu); got != want {
			t.Fatalf("targets %+v, left %v, cores %d: %d, want %d", ts, left, cpu, got, want)
		}
	}
}

func TestGrowthIsTheStudysSigmoid(t *testing.T) {
	table := fragTable{weight: 997}
	for d := int64(-9_000_000); d <= 9_000_000; d += 1013 {
		x := float64(-d) / 997 / 1000
		if got, want := table.growth(d), -int64(100/(1+math.Exp(-x))); got != want {
			t.Fatalf("growth %d: %d, want %d", d, got, want)
		}
	}
}

func TestTypical(t *testing.T) {
	c := cluster.Uniform("c", 2, 8)
	for i := range c.Nodes {
		c.Nodes[i].GPUType = "Y"
	}
	w := newWorld(t, c, policy.Placement{By: policy.FGD})
	r := w.p.scorer.(*gradient)
	w.p.SetTargets([]Target{{whole(1), 60}, {part(500), 36}, {whole(8), 4}, {workload.Need{Tasks: 1, GPUs: 1, GPUTypes: "X"}, 1000}})
	if ts := r.targets.typical(); len(ts) != 2 || ts[0].weight != 60 || ts[1].milli != 500 {
		t.Errorf("typical %+v, want the two kinds that make up 95 %%, without the one that no pool may serve", ts)
	}
	w.p.SetTargets([]Target{{workload.Need{Tasks: 4, GPUs: 2}, 1 << 50}, {whole(1), 1 << 50}})
	if ts := r.targets.typical(); ts[0].gpus != 2 || ts[0].weight != 4*ts[1].weight || ts[0].weight > maxWeight {
		t.Errorf("typical %+v, want the tasks of the gang counted, in numbers that cannot overflow", ts)
	}
	w.p.SetTargets(nil)
	if len(r.targets.typical()) != 0 {
		t.Error("nil does not forget")
	}
	p, q := Targets([]workload.Job{{Need: whole(2)}, {Need: whole(1)}, {Need: whole(2)}}), []Target{{whole(2), 2}, {whole(1), 1}}
	if !slices.Equal(p, q) {
		t.Errorf("targets %v, want %v", p, q)
	}
}

func mixed() *cluster.Spec {
	s := &cluster.Spec{Name: "mixed"}
	for i := range 90 {
		n := cluster.Node{Name: "n" + string(rune('A'+i/26)) + string(rune('a'+i%26)), GPUs: 2 << (i % 3), CPU: 32000 + 16000*int64(i%4), Memory: 65536, GPUType: "T4"}
		if i%5 == 0 {
			n.GPUType = "P100"
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

func randomNeed(rng *rand.Rand) workload.Need {
	n := workload.Need{Tasks: 1, CPU: 1000 * rng.Int64N(20), Memory: 1024 * rng.Int64N(8)}
	switch rng.IntN(6) {
	case 0:
		n.CPU++
	case 1, 2:
		n.GPUs, n.Milli = 1, 10*(1+rng.Int32N(99))
	case 3:
		n.GPUs = 1 << rng.IntN(4)
	case 4:
		n.GPUs, n.Tasks = 1+rng.Int32N(2), 1+rng.Int32N(12)
	case 5:
		n.GPUs, n.Milli, n.Tasks = 1, 10*(1+rng.Int32N(60)), 1+rng.Int32N(5)
	}
	if rng.IntN(4) == 0 && n.GPUs > 0 {
		n.GPUTypes = "P100"
	}
	return n
}

// TestScoresRemembered goes through random placements, releases and drains: what
// is remembered gives the same places as scoring everything anew, fits whenever
// the normal way does, and leaves what is free as it was.
func TestScoresRemembered(t *testing.T) {
	for _, by := range scoring {
		t.Run(by.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(by)))
			w := newWorld(t, mixed(), policy.Placement{By: by, Seed: 3})
			type running struct {
				pool int32
				gs   []cluster.Grant
			}
			var on []running
			needs := make([]workload.Need, 30)
			shapes := make([]*Shape, len(needs))
			for i := range needs {
				needs[i] = randomNeed(rng)
				shapes[i] = w.p.Shape(needs[i], "")
			}
			placed, refused := 0, 0
			for range 3000 {
				switch k := rng.IntN(10); {
				case k < 3 && len(on) > 0:
					i := rng.IntN(len(on))
					w.frees[on[i].pool].Give(on[i].gs)
					on[i] = on[len(on)-1]
					on = on[:len(on)-1]
					continue
				case k == 3:
					node := rng.Int32N(90)
					pool := w.p.layout.PoolOf[node]
					w.frees[pool].SetShut(node, rng.IntN(3) == 0)
					continue
				}
				s := shapes[rng.IntN(len(shapes))]
				if rng.IntN(8) == 0 {
					w.p.Asked(s)
				}
				before := w.frees[0].Milli() + w.frees[1].Milli()
				gs, pool, ok := w.p.Place(w.frees, s, nil)
				if before != w.frees[0].Milli()+w.frees[1].Milli() {
					t.Fatal("Place changed what is free")
				}
				fits := false
				for k, pl := range s.Pools {
					fits = fits || w.p.FitsIn(w.frees[pl], s, k)
				}
				if ok != fits {
					t.Fatalf("%s: placed %v, fits %v", &s.Need, ok, fits)
				}
				if !ok {
					refused++
					continue
				}
				placed++
				if len(s.Pools) == 1 || by != policy.Random { // the draw differs with the pools that it is among
					again, ok := w.p.PlaceIn(w.frees[pool], s, s.PoolIndex(pool), nil)
					if !ok || !slices.Equal(again, gs) {
						t.Fatalf("%s: %v from memory, %v anew", &s.Need, gs, again)
					}
				}
				w.check(t, s, pool, gs)
				w.frees[pool].Take(gs)
				on = append(on, running{pool, gs})
			}
			if placed < 300 || refused < 30 {
				t.Errorf("%d placed, %d refused: the test tests little", placed, refused)
			}
		})
	}
}

// check fails on grants that are not free or not what the shape asks for.
func (w *world) check(t *testing.T, s *Shape, pool int32, gs []cluster.Grant) {
	t.Helper()
	f := cluster.NewFree(w.p.layout, pool)
	f.CopyFrom(w.frees[pool])
	var gpus int32
	for _, g := range gs {
		i := w.p.layout.Local[g.Node]
		if f.Shut(i) || f.CPU(i) < g.CPU || f.Memory(i) < g.Memory || g.Milli == 1000 && g.GPUs&^f.Mask(i) != 0 {
			t.Fatalf("%s: grant %+v is not free", &s.Need, g)
		}
		for b := range 64 {
			if g.GPUs>>b&1 == 1 && f.Left(i, b) < g.Milli {
				t.Fatalf("%s: grant %+v: GPU %d has %d left", &s.Need, g, b, f.Left(i, b))
			}
		}
		f.Take([]cluster.Grant{g})
		gpus += g.Count
	}
	if gpus != s.GPUs {
		t.Fatalf("%s: %d GPUs granted", &s.Need, gpus)
	}
}

// TestRandom: equal states draw equally, seeds differ, and no node is favoured.
func TestRandom(t *testing.T) {
	spec := cluster.Uniform("c", 10, 8)
	draw := func(seed uint64) (out []int32) {
		w := newWorld(t, spec, policy.Placement{By: policy.Random, Seed: seed})
		for range 80 {
			out = append(out, w.place(t, whole(1))[0].Node)
		}
		return out
	}
	if !slices.Equal(draw(1), draw(1)) {
		t.Error("the same seed gives other choices")
	}
	if slices.Equal(draw(1), draw(2)) {
		t.Error("another seed gives the same choices")
	}
	var first [10]int
	for seed := range uint64(2000) {
		first[draw(seed)[3]]++
	}
	for node, n := range first {
		if n < 140 || n > 260 {
			t.Errorf("node %d drawn %d times of 2000, want about 200", node, n)
		}
	}
}

// TestScoreWithin: a gang that must lie in one rack is not scattered.
func TestScoreWithin(t *testing.T) {
	s := cluster.Uniform("racks", 8, 4)
	s.Levels = []string{"rack"}
	for i := range s.Nodes {
		s.Nodes[i].Places = []string{string(rune('a' + i/2))}
	}
	for _, by := range scoring {
		w := newWorld(t, s, policy.Placement{By: by})
		gs := w.place(t, workload.Need{Tasks: 8, GPUs: 1, Within: "rack"})
		for _, g := range gs {
			if g.Node/2 != gs[0].Node/2 {
				t.Errorf("%s: nodes %d and %d are not in one rack", by, g.Node, gs[0].Node)
			}
		}
	}
}
