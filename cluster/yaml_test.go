package cluster

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/internal/yamlx/yamlxtest"
	"github.com/escala-sched/escala/workload"
)

// everyKey is a file in which each key appears.
var everyKey = []byte(`
name: lab
levels: [rack, block]
nodes:
  - {count: 3, name: "vc-{}", gpus: 8, gpu: V100, cpus: 48, memory: 384GiB, partition: vcA, places: {rack: r1, block: b1}}
  - {count: 2, name: "h{000}", first: 9, gpus: 4, gpu: H100, cpus: 0.5, partition: [vcA, vcB], every: {rack: 1, block: 2}}
  - {name: login, cpus: 16, memory: 512MiB}
gpuTypes:
  V100: {pricePerHour: 1.2, idleWatts: 45, activeWatts: 300}
  H100: {pricePerHour: 3}
currency: USD
pue: 1.3
outages:
  - {at: 1d2h, node: login, change: up}
  - {at: 10h, node: login, change: down}
  - {at: 1d2h, node: vc-1, change: drain}
`)

func TestParseYAMLReadsEveryKey(t *testing.T) {
	data := everyKey
	got, err := ParseYAML("dir/c.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	vc := func(name string) Node {
		return Node{Name: name, GPUType: "V100", GPUs: 8, CPU: 48_000, Memory: 384 << 10, Partitions: []string{"vcA"}, Places: []string{"r1", "b1"}}
	}
	h := func(name, rack string) Node {
		return Node{Name: name, GPUType: "H100", GPUs: 4, CPU: 500, Partitions: []string{"vcA", "vcB"}, Places: []string{rack, "block1"}}
	}
	want := &Spec{
		Name: "lab", Levels: []string{"rack", "block"},
		Nodes:    []Node{vc("vc-1"), vc("vc-2"), vc("vc-3"), h("h009", "rack1"), h("h010", "rack2"), {Name: "login", CPU: 16_000, Memory: 512}},
		Types:    []Type{{Name: "V100", PricePerHour: 1.2, IdleWatts: 45, ActiveWatts: 300}, {Name: "H100", PricePerHour: 3}},
		Currency: "USD",
		PUE:      1.3,
		Outages: []Outage{
			{At: 10 * workload.Hour, Node: "login", Change: "down"},
			{At: 26 * workload.Hour, Node: "login", Change: "up"},
			{At: 26 * workload.Hour, Node: "vc-1", Change: "drain"},
		},
		Hash: fmt.Sprintf("%x", sha256.Sum256(data)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cluster (-want,+got):\n%s", diff)
	}
}

func TestEveryMakesRacksAndBlocks(t *testing.T) {
	s, err := ParseYAML("big.yaml", []byte(`
levels: [rack, block]
nodes:
  - {count: 144, name: "n{}", gpus: 4, every: {rack: 18, block: 72}}
  - {count: 20, name: "m{}", gpus: 8, every: {rack: 18, block: 72}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "big" || s.GPUs() != 736 {
		t.Errorf("cluster %s has %d GPUs, want big with 736", s.Name, s.GPUs())
	}
	for i, want := range map[int]string{0: "rack1 block1", 17: "rack1 block1", 18: "rack2 block1", 71: "rack4 block1", 72: "rack5 block2",
		143: "rack8 block2", 144: "rack9 block3", 163: "rack10 block3"} {
		if got := strings.Join(s.Nodes[i].Places, " "); got != want {
			t.Errorf("node %d lies in %s, want %s", i, got, want)
		}
	}
}

func TestPoolFile(t *testing.T) {
	s, err := ParseYAML("p.yaml", []byte("pool: 256\npue: 1.1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.GPUs() != 256 || s.Name != "p" || s.PUE != 1.1 {
		t.Errorf("pool %+v", s)
	}
}

// Every broken file begins with a line "# want: " and the error it must give.
func TestBadFiles(t *testing.T) {
	yamlxtest.BadFiles(t, func(name string, data []byte) error {
		_, err := ParseYAML(name, data)
		return err
	})
}

func TestLoadYAML(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("pool: 8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := LoadYAML(file); err != nil || s.Count != 8 {
		t.Errorf("LoadYAML = %+v, %v", s, err)
	}
	if _, err := LoadYAML(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that the file does not exist", err)
	}
}

func roundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Spec) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteYAML(&b, s); err != nil {
		t.Fatalf("not written: %v", err)
	}
	again, err := ParseYAML(s.Name+".yaml", b.Bytes())
	if err != nil {
		t.Fatalf("written form is not read back: %v\n%s", err, b.Bytes())
	}
	want := *s
	want.Hash, again.Hash = "", ""
	if diff := cmp.Diff(&want, again, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("written form is read back differently (-want,+got):\n%s\n%s", diff, b.Bytes())
	}
}

func TestWriteYAMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Spec{Name: rapid.SampledFrom([]string{"c", "true", "a b", "x: #"}).Draw(t, "name"),
			Currency: rapid.SampledFrom([]string{"", "EUR", "true", "€"}).Draw(t, "currency")}
		if rapid.Bool().Draw(t, "levels") {
			s.Levels = []string{"rack", "block"}
		}
		number := rapid.IntRange(0, 120).Draw(t, "first")
		for i := range rapid.IntRange(1, 30).Draw(t, "nodes") {
			number += rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "step")
			n := Node{Name: fmt.Sprintf(rapid.SampledFrom([]string{"n%d", "n%d", "m%03d", "%d", "1.%d"}).Draw(t, "form"), number),
				GPUs:       rapid.SampledFrom([]int32{4, 8}).Draw(t, "gpus"),
				GPUType:    rapid.SampledFrom([]string{"", "A100", "null"}).Draw(t, "type"),
				CPU:        rapid.SampledFrom([]int64{0, 500, 64_000}).Draw(t, "cpu"),
				Memory:     rapid.SampledFrom([]int64{0, 513, 1 << 20}).Draw(t, "memory"),
				Partitions: rapid.SampledFrom([][]string{nil, {"a"}, {"a", "12"}}).Draw(t, "partitions")}
			if s.Levels != nil {
				n.Places = []string{fmt.Sprint("r", i/2), fmt.Sprint("block ", i/4)}
			}
			s.Nodes = append(s.Nodes, n)
			if n.GPUType != "" && s.TypeOf(n.GPUType).PricePerHour == 0 {
				s.Types = append(s.Types, Type{Name: n.GPUType, PricePerHour: rapid.Float64Range(0.1, 1e9).Draw(t, "price")})
			}
		}
		if s.Check() != nil {
			t.Skip("names collide")
		}
		s.Outages = append(s.Outages, Outage{At: rapid.Int64Range(0, 1e12).Draw(t, "at"), Node: s.Nodes[0].Name, Change: "drain"})
		roundTrip(t, s)
	})
}

func TestWriteYAMLJoinsRuns(t *testing.T) {
	var b bytes.Buffer
	if err := WriteYAML(&b, Uniform("u", 16, 8)); err != nil {
		t.Fatal(err)
	}
	if want := "name: u\nnodes:\n  - {count: 16, name: \"n{}\", gpus: 8}\n"; b.String() != want {
		t.Errorf("written form\n%s\nwant\n%s", b.String(), want)
	}
	if err := WriteYAML(&b, &Spec{Nodes: []Node{{Name: "a{}", GPUs: 1}}}); err == nil {
		t.Error("a name with braces was written; it would be read back as another")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("pool: 8\n"))
	f.Add([]byte("levels: [rack]\nnodes: [{count: 3, name: \"n{00}\", gpus: 8, gpu: A, every: {rack: 2}}]\ngpuTypes: {A: {idleWatts: 1}}\noutages: [{at: 1h, node: n01, change: up}]\n"))
	bad, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range bad {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseYAML("f.yaml", data)
		if err != nil {
			var e *yamlx.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Col < 1 {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		if err := s.Check(); err != nil {
			t.Fatalf("a cluster that does not check: %v", err)
		}
		if len(s.Nodes) < 1000 {
			roundTrip(t, s)
		}
	})
}
