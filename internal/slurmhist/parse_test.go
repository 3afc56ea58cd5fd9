package slurmhist

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/reference"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

func lab(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "lab", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestNodesAreTheSame: however Slurm's tools are asked, the nodes are the same.
func TestNodesAreTheSame(t *testing.T) {
	var want []Node
	for _, name := range []string{"nodes.txt", "sinfo.txt", "sinfo.json"} {
		s := &Site{}
		if err := s.AddNodes(name, lab(t, name)); err != nil {
			t.Fatal(err)
		}
		for i := range s.Nodes {
			slices.Sort(s.Nodes[i].Partitions)
		}
		if want == nil {
			want = s.Nodes
		}
		if diff := cmp.Diff(want, s.Nodes); diff != "" {
			t.Errorf("%s (-nodes.txt +%s):\n%s", name, name, diff)
		}
	}
	if len(want) != 4 || want[3].gpus() != 4 || len(want[3].GPUs) != 2 || want[0].CPUs != 64 || want[0].Memory != 512000 || !slices.Equal(want[0].Features, []string{"rack0"}) {
		t.Errorf("nodes are %+v", want)
	}
}

// TestNodeSpellings reads GPUs of nodes in the ways that Slurm writes them.
func TestNodeSpellings(t *testing.T) {
	a100 := func(n int64) []trace.GPUType { return []trace.GPUType{{Name: "a100", Count: n}} }
	tests := map[string]struct {
		gres, cfg string
		want      []trace.GPUType
		bad       bool
	}{
		"typed":             {gres: "gpu:a100:8", want: a100(8)},
		"sockets":           {gres: "gpu:a100:4(S:0-1)", want: a100(4)},
		"two types":         {gres: "gpu:a100:2,gpu:h100:2", want: []trace.GPUType{{Name: "a100", Count: 2}, {Name: "h100", Count: 2}}},
		"untyped":           {gres: "gpu:4", want: []trace.GPUType{{Count: 4}}},
		"none":              {gres: "(null)"},
		"other":             {gres: "tmp:844G"},
		"only configured":   {cfg: "cpu=64,mem=500G,billing=64,gres/gpu=8,gres/gpu:a100=8", want: a100(8)},
		"nothing":           {},
		"cut, and told":     {gres: "gpu:a100:3(IDX:0,4-5", cfg: "cpu=64,gres/gpu=8,gres/gpu:a100=8", want: a100(8)},
		"cut, and not told": {gres: "gpu:a100:3(IDX:0,4-5", bad: true},
	}
	for name, tc := range tests {
		got, err := gpusOf(tc.gres, tc.cfg)
		if (err != nil) != tc.bad || !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, tc.want)
		}
	}
}

// TestNewerSinfo: from 23.02 on sinfo writes groups of nodes.
func TestNewerSinfo(t *testing.T) {
	const text = `{"sinfo": [
	 {"nodes": {"nodes": ["n1", "n2"], "total": 2}, "gres": {"total": "gpu:a100:8", "used": ""}, "cpus": {"minimum": 64, "maximum": 64, "total": 128}, "memory": {"maximum": 512000},
	  "features": {"total": "rack0,big"}, "partition": {"name": "train"}},
	 {"nodes": {"nodes": ["n1"]}, "gres": {"total": "gpu:a100:8"}, "cpus": {"maximum": 64}, "memory": {"maximum": 512000}, "features": {"total": ""}, "partition": {"name": "debug"}}]}`
	s := &Site{}
	if err := s.AddNodes("sinfo.json", []byte(text)); err != nil {
		t.Fatal(err)
	}
	want := []Node{{Name: "n1", GPUs: []trace.GPUType{{Name: "a100", Count: 8}}, CPUs: 64, Memory: 512000, Features: []string{"rack0", "big"}, Partitions: []string{"train", "debug"}},
		{Name: "n2", GPUs: []trace.GPUType{{Name: "a100", Count: 8}}, CPUs: 64, Memory: 512000, Features: []string{"rack0", "big"}, Partitions: []string{"train"}}}
	if diff := cmp.Diff(want, s.Nodes); diff != "" {
		t.Error(diff)
	}
	const scontrol = `{"nodes": [{"name": "n1", "gres": "gpu:h100:4(S:0)", "cpus": {"set": true, "number": 32}, "effective_cpus": 30, "real_memory": 1000, "features": ["x"], "partitions": ["p"]}]}`
	s = &Site{}
	if err := s.AddNodes("nodes.json", []byte(scontrol)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Node{{Name: "n1", GPUs: []trace.GPUType{{Name: "h100", Count: 4}}, CPUs: 30, Memory: 1000, Features: []string{"x"}, Partitions: []string{"p"}}}, s.Nodes); diff != "" {
		t.Error(diff)
	}
}

// TestBadSites: what cannot be used says where, what, and what would be right.
func TestBadSites(t *testing.T) {
	add := map[string]func(s *Site, data []byte) error{
		"nodes":  func(s *Site, d []byte) error { return s.AddNodes("f", d) },
		"config": func(s *Site, d []byte) error { return s.AddConfig("f", d) },
		"qos":    func(s *Site, d []byte) error { return s.AddQOS("f", d) },
		"events": func(s *Site, d []byte) error { return s.AddEvents("f", d, nil) },
		"assoc":  func(_ *Site, d []byte) error { _, _, err := ImportBudgets("f", d, "", nil); return err },
	}
	tests := []struct{ what, in, want string }{
		{"nodes", "", "f: the file is empty; want " + nodesWanted},
		{"nodes", "Dear diary", "f:1: this describes no nodes; want " + nodesWanted},
		{"nodes", "{", "f: broken JSON: unexpected end of JSON input; want " + nodesWanted},
		{"nodes", `{"jobs": []}`, `f: the JSON has no list "nodes" or "sinfo"; want ` + nodesWanted},
		{"nodes", "NODELIST|STATE\nn1|idle", "f:1: column GRES is missing: nothing tells GPUs; want " + nodesWanted},
		{"nodes", "x\nNodeName=n1 Gres=gpu:x:y:z\n", `f:2: node n1: GPUs "gpu:x:y:z" cannot be read; want GPUs such as gpu:a100:8`},
		{"config", "a = b", "f: there is neither PriorityType nor SchedulerType in it; want the text of scontrol show config"},
		{"qos", "Name|X\n", "f:1: column Priority is missing; want the text of sacctmgr -P show qos"},
		{"qos", "Name|Priority\nhigh|much\n", `f:2: priority "much" of QOS high; want a whole number`},
		{"events", "NodeName|TimeStart|TimeEnd|State\nn1|yesterday|Unknown|DOWN\n", `f:2: TimeStart "yesterday"; want a time such as 2026-11-30T12:03:23`},
		{"events", "", "f: the file is empty; want " + eventsWanted},
		{"assoc", "Account|User|Share\n|x|1\n", "f:2: an association without an account; want " + assocWanted},
		{"assoc", "Account|User|Share\na||many\n", `f: share "many" of account a; want a whole number, or parent`},
		{"assoc", "Account|ParentName|User|Share\na|b||1\nb|a||1\n", "f: account a is below itself; want " + assocWanted},
		{"assoc", "Cluster|Account|User|Share\nx|a||1\ny|a||1\n", "f: associations of 2 clusters; want --slurm-cluster with one of x, y"},
		{"assoc", "Account|User|Share\n", `f: no association of cluster ""; want ` + assocWanted},
	}
	for _, tc := range tests {
		err := add[tc.what](&Site{}, []byte(tc.in))
		var e *InputError
		if !errors.As(err, &e) || e.Error() != tc.want {
			t.Errorf("%s %q: %v\nwant %s", tc.what, tc.in, err, tc.want)
		}
	}
}

func TestBudgets(t *testing.T) {
	var want string
	for _, name := range []string{"assoc.txt", "assoc_tree.txt"} {
		text, _, err := ImportBudgets(name, lab(t, name), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(text)
		}
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	golden(t, "budgets.yaml", []byte(want))
	tests := map[string]struct {
		in, want string
		notes    []string // each in some note
		ignored  []string
	}{
		"users with own shares": {"Account|ParentName|User|Share\nroot|||1\na|root||3\na||x|2\na||y|1\n",
			"  - name: a\n    share: 3\n    children:\n      - {user: x, share: 2}\n      - {user: y, share: 1}\n", nil, nil},
		"an account with fairshare=parent goes": {"Account|ParentName|User|Share\nroot|||1\na|root||parent\nb|a||2\nc|root||5\n",
			"  - {name: b, share: 2}\n  - {name: c, share: 5}\n", []string{"Account a has fairshare=parent"}, nil},
		"users with fairshare=parent share as one": {"Account|ParentName|User|Share\nroot|||1\na|root||3\na||x|parent\na||y|7\n",
			"  - {name: a, share: 3, users: [x, y]}\n", []string{"Some users of account a have fairshare=parent"}, nil},
		"shares of 0": {"Account|ParentName|User|Share\nroot|||1\na|root||0\nb|root||0\n",
			"  - {name: a, share: 1}\n  - {name: b, share: 1}\n", []string{"All shares below account root are 0"}, nil},
		"names": {"Account|ParentName|User|Share\nroot|||1\na/b|root||1\na/b||x: y|1\n",
			"  - {name: \"a%2Fb\", share: 1, users: [\"x: y\"]}\n", nil, nil},
		"beside accounts": {"Account|ParentName|User|Share\nroot|||1\na|root||1\nb|a||4\nb||x|1\na||y|2\na||z|3\n",
			"  - name: a\n    share: 1\n    children:\n      - {name: b, share: 4, users: [x]}\n      - name: a (direct)\n        share: 5\n        children:\n          - {user: y, share: 2}\n          - {user: z, share: 3}\n", nil, nil},
		"one user by partitions": {"Account|ParentName|User|Partition|Share\nroot||||1\na|root|||1\na||x|p|2\na||x|q|3\na||y||3\n",
			"  - {name: a, share: 1, users: [x, y]}\n", []string{"User x has several shares in account a"}, nil},
		"limits": {"Account|ParentName|User|Share|GrpTRES|MaxJobs\nroot|||1||\na|root||1|gres/gpu=8|\na||x|1||4\n",
			"  - {name: a, share: 1, users: [x]}\n", nil, []string{"GrpTRES=gres/gpu=8 of account a", "MaxJobs=4 of user x in a"}},
		"nothing below the root":     {"Account|ParentName|User|Share\nroot|||1\n", "  - {name: everybody, share: 1}\n", []string{"no account below the root"}, nil},
		"a parent that is not there": {"Account|ParentName|User|Share\na|gone||2\n", "  - {name: a, share: 2}\n", nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			text, r, err := ImportBudgets("f", []byte(tc.in), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(string(text), "children:\n")
			if diff := cmp.Diff(tc.want, body); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, n := range tc.notes {
				if !strings.Contains(strings.Join(r.Notes, "\n"), n) {
					t.Errorf("no note says %q: %q", n, r.Notes)
				}
			}
			if len(tc.ignored) > 0 && !slices.Equal(r.Ignored, tc.ignored) {
				t.Errorf("ignored %q, want %q", r.Ignored, tc.ignored)
			}
			if _, err := budget.Parse("f", text); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPolicy(t *testing.T) {
	s := &Site{}
	p, m, err := s.Policy()
	if err != nil || p.Estimates.Model != policy.EstimateLimit || p.Blocking != policy.EASY || p.Order[0].Multifactor.Age != 1000 || p.Order[0].Multifactor.Priority != 0 || !strings.Contains(m.Of, "shipped") {
		t.Errorf("without a configuration: %+v %+v %v", p, m, err)
	}
	for _, f := range []struct {
		take func(string, []byte) error
		name string
	}{{s.AddConfig, "config.txt"}, {s.AddQOS, "qos.txt"}} {
		if err := f.take(f.name, lab(t, f.name)); err != nil {
			t.Fatal(err)
		}
	}
	p, m, err = s.Policy()
	if err != nil {
		t.Fatal(err)
	}
	want := policy.Multifactor{Age: 1000, JobSize: 1000, Priority: 10000, FairShare: 100000, MaxAge: 7 * workload.Day, MaxPriority: 1000, HalfLife: 7 * workload.Day}
	if p.Order[0].Multifactor != want || p.Interval != workload.Minute || p.Hash == "" {
		t.Errorf("policy is %+v every %d, want %+v", p.Order[0].Multifactor, p.Interval, want)
	}
	if !slices.Contains(m.No, "PriorityWeightPartition=1000") || !slices.ContainsFunc(m.No, func(s string) bool { return strings.HasPrefix(s, "PreemptType=preempt/qos") }) {
		t.Errorf("not modelled: %q", m.No)
	}
	s.Config = map[string]string{"PriorityType": "priority/basic", "SchedulerType": "sched/builtin"}
	if p, _, err = s.Policy(); err != nil || p.Blocking != policy.Strict || p.Order[0].Kind != policy.BySubmit {
		t.Errorf("basic and builtin: %+v %v", p, err)
	}
	s.Config = map[string]string{"PriorityType": "priority/multifactor", "PriorityWeightAge": "0"}
	if p, _, err = s.Policy(); err != nil || p.Order[0].Multifactor.Age != 1 {
		t.Errorf("no weights: %+v %v", p, err)
	}
}

func TestEvents(t *testing.T) {
	s := &Site{}
	zone := time.FixedZone("", 3600)
	text := "NodeName|TimeStart|TimeEnd|State\n|2026-01-01T00:00:00|Unknown|\nn[1-2]|2026-01-01T01:00:00|2026-01-01T02:00:00|DOWN*\nn1|2026-01-01T02:00:00|Unknown|DRAIN\n"
	if err := s.AddEvents("f", []byte(text), zone); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	want := []Event{{"n1", at, at + workload.Hour, true}, {"n2", at, at + workload.Hour, true}, {"n1", at + workload.Hour, workload.Never, false}}
	if diff := cmp.Diff(want, s.Events); diff != "" {
		t.Error(diff)
	}
}

// TestSharedSites reads what real Slurms wrote.
func TestSharedSites(t *testing.T) {
	dir := reference.Path(t, "slurm", "samples")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("no %s: what a real Slurm wrote is not read", name)
		}
		return data
	}
	for _, name := range []string{"a_scontrol_node.txt", "b_scontrol_node.txt", "a_sinfo.json", "b_sinfo.json", "rest38_nodes.json", "a_sinfo_N.txt"} {
		s := &Site{}
		if err := s.AddNodes(name, read(name)); err != nil || len(s.Nodes) != 8 {
			t.Errorf("%s: %d nodes (%v), want 8", name, len(s.Nodes), err)
		}
		sum := int64(0)
		for i := range s.Nodes {
			sum += s.Nodes[i].gpus()
		}
		if sum != 64 {
			t.Errorf("%s: %d GPUs, want 64", name, sum)
		}
	}
	s := &Site{}
	for name, take := range map[string]func(string, []byte) error{"b_scontrol_config.txt": s.AddConfig, "b_sacctmgr_qos.psv": s.AddQOS, "b_scontrol_partition.txt": s.AddNodes,
		"a_sacctmgr_event.psv": func(n string, d []byte) error { return s.AddEvents(n, d, nil) }} {
		if err := take(name, read(name)); err != nil {
			t.Error(err)
		}
	}
	if len(s.Partitions) != 3 || len(s.Events) != 16 || s.QOS["high"] != 1000 {
		t.Errorf("%d partitions, %d events, QOS %v", len(s.Partitions), len(s.Events), s.QOS)
	}
	if _, _, err := ImportBudgets("assoc", read("b_sacctmgr_assoc.psv"), "", nil); err != nil {
		t.Error(err)
	}
}

func FuzzSite(f *testing.F) {
	for _, name := range []string{"nodes.txt", "partitions.txt", "sinfo.txt", "sinfo.json", "config.txt", "qos.txt", "events.txt", "assoc.txt", "assoc_tree.txt", "assoc_flat.txt"} {
		f.Add(lab(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, take := range []func(s *Site) error{
			func(s *Site) error { return s.AddNodes("f", data) },
			func(s *Site) error { return s.AddConfig("f", data) },
			func(s *Site) error { return s.AddQOS("f", data) },
			func(s *Site) error { return s.AddEvents("f", data, nil) },
			func(*Site) error { _, _, err := ImportBudgets("f", bytes.Clone(data), "", nil); return err },
		} {
			s := &Site{}
			if err := take(s); err == nil {
				if _, _, err := s.Policy(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
