package policy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/internal/yamlx/yamlxtest"
	"github.com/escala-sched/escala/workload"
)

func TestParseReadsEveryKey(t *testing.T) {
	got, err := Parse("dir/x.yaml", []byte(`
name: full
description: Everything that a file may say.
source: none
order:
  - priority
  - {by: estimate, descending: true}
  - {by: attained, thresholds: [3250, 7200.5], promote: 2}
  - by: multifactor
    weights: {age: 1, jobSize: 2.5, priority: 3, fairShare: 4}
    maxAge: 1d
    maxPriority: 50
    favorSmall: true
    halfLife: 12h
    usageBy: user
blocking: conservative
decide: event
reservations: 4
placement: {by: topology, level: rack}
interval: 90s
estimates: {model: helios, seed: 7}
defaultEstimate: 1h30m
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Hash) != 64 {
		t.Errorf("hash %q, want 64 hex digits", got.Hash)
	}
	got.Hash = ""
	want := &Policy{
		Name: "full", Description: "Everything that a file may say.", Source: "none",
		Order: []Term{
			{Kind: ByPriority},
			{Kind: ByEstimate, Descending: true},
			{Kind: ByAttained, Thresholds: []int64{3_250_000, 7_200_500}, Promote: 2000},
			{Kind: ByMultifactor, Multifactor: Multifactor{Age: 1, JobSize: 2.5, Priority: 3, FairShare: 4,
				MaxAge: workload.Day, MaxPriority: 50, FavorSmall: true, HalfLife: 12 * workload.Hour, ByUser: true}},
		},
		Blocking: Conservative, PerEvent: true, Depth: 4,
		Placement: Placement{By: Topology, Level: "rack"},
		Interval:  90 * workload.Second,
		Estimates: Estimates{Model: EstimateHelios, Seed: 7}, DefaultEstimate: 90 * workload.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want,+got):\n%s", diff)
	}
}

func TestPreemption(t *testing.T) {
	for text, want := range map[string]Preemption{
		"preemption: none":                             {},
		"preemption: priority":                         {By: PreemptPriority, CrossTeam: true},
		"preemption: {by: priority, crossTeam: false}": {By: PreemptPriority},
		"order: [area]\npreemption: order":             {By: PreemptOrder, CrossTeam: true},
	} {
		p, err := Parse("p.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if p.Preemption != want {
			t.Errorf("%s: %+v, want %+v", text, p.Preemption, want)
		}
		roundTrip(t, p)
	}
}

func TestDefaults(t *testing.T) {
	got, err := Parse("dir/mine.yaml", []byte("blocking: easy\n"))
	if err != nil {
		t.Fatal(err)
	}
	got.Hash = ""
	want := &Policy{Name: "mine", Order: []Term{{Kind: BySubmit}}, Blocking: EASY, Depth: 1, DefaultEstimate: workload.Hour}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want,+got):\n%s", diff)
	}
	mf, err := Parse("m.yaml", []byte("order: [{by: multifactor, weights: {age: 1}}]\nplacement: random\n"))
	if err != nil {
		t.Fatal(err)
	}
	if mf.Interval != 5*workload.Minute || mf.Order[0].Multifactor.MaxAge != 7*workload.Day || mf.Placement.Seed != 1 {
		t.Errorf("defaults of multifactor and random are %+v", mf)
	}
}

// Every broken file begins with a line "# want: " and the error it must give.
func TestBadFiles(t *testing.T) {
	yamlxtest.BadFiles(t, func(name string, data []byte) error {
		_, err := Parse(name, data)
		return err
	})
}

func TestShippedPolicies(t *testing.T) {
	want := []string{"conservative", "contract", "contract-no-dates", "easy", "easy-per-event", "f1", "fifo", "fifo-consolidate", "fifo-skip", "horizon", "las", "legacy-priority", "multifactor",
		"place-best-fit", "place-clustering", "place-contiguous", "place-dot-product", "place-fgd", "place-packing", "place-random",
		"place-topology", "priority", "sjf", "sjf-consolidate", "sjf-skip", "srsf", "srtf", "unicep", "wfp3"}
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Errorf("names (-want,+got):\n%s", diff)
	}
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			source, _ := ShippedSource(name)
			p, err := Parse("shipped/"+name+".yaml", source)
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != name {
				t.Errorf("the file of %s names itself %s", name, p.Name)
			}
			if p.Description == "" || p.Source == "" {
				t.Error("a shipped policy needs description and source")
			}
			if !strings.HasPrefix(string(source), "# ") {
				t.Error("a shipped policy begins with a comment that says what it is")
			}
			roundTrip(t, p)
		})
	}
}

func roundTrip(t *testing.T, p *Policy) {
	t.Helper()
	again, err := Parse("again.yaml", p.YAML())
	if err != nil {
		t.Fatalf("written form is not read back: %v\n%s", err, p.YAML())
	}
	want := *p
	want.Hash, again.Hash = "", ""
	if diff := cmp.Diff(&want, again); diff != "" {
		t.Errorf("written form is read back differently (-want,+got):\n%s\n%s", diff, p.YAML())
	}
}

func TestShippedGivesFreshValues(t *testing.T) {
	a, ok := Shipped("fifo")
	if !ok {
		t.Fatal("no fifo")
	}
	a.Order[0].Kind = ByArea
	if b, _ := Shipped("fifo"); b.Order[0].Kind != BySubmit {
		t.Error("a caller's change shows in the next caller's policy")
	}
	if _, ok := Shipped("../shipped/fifo"); ok {
		t.Error("a path is taken for a name")
	}
}

func TestResolve(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a@b.yaml")
	if err := os.WriteFile(file, []byte("name: mine\nestimates: {model: helios, seed: 9}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]struct {
		name string
		est  Estimates
	}{
		"sjf":             {"sjf", Estimates{}},
		"sjf@helios":      {"sjf@helios", Estimates{EstimateHelios, 1}},
		"srtf@given":      {"srtf@given", Estimates{}},
		"easy@limit":      {"easy@limit", Estimates{Model: EstimateLimit}},
		file:              {"mine", Estimates{EstimateHelios, 9}},
		file + "@helios":  {"mine@helios", Estimates{EstimateHelios, 9}},
		file + "@perfect": {"mine@perfect", Estimates{Model: EstimatePerfect}},
	} {
		p, err := Resolve(ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		if p.Name != want.name || p.Estimates != want.est {
			t.Errorf("%s is %s with %+v, want %+v", ref, p.Name, p.Estimates, want)
		}
	}
	for ref, want := range map[string]string{
		"esy":            `no policy "esy" is shipped; did you mean easy? want the path of a .yaml file or one of conservative, contract, contract-no-dates, easy, `,
		"tetris":         `no policy "tetris" is shipped; want the path`,
		"sjf@helio":      `policy "sjf@helio": "helio" is no estimates model; did you mean helios? want given, perfect, limit or helios`,
		"no/such.yaml":   `policy: open no/such.yaml`,
		"":               `no policy "" is shipped; want the path`,
		"sjf@helios@now": `policy "sjf@helios@now": "now" is no estimates model`,
	} {
		if _, err := Resolve(ref); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Resolve(%q) error\n got %v\nwant %s...", ref, err, want)
		}
	}
}

func TestHashIsThatOfTheBytes(t *testing.T) {
	for _, text := range []string{"order: [submit]\n", "order: [submit]\n# a comment\n", "order: [submit]\r\n"} {
		p, err := Parse("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); p.Hash != want {
			t.Errorf("hash of %q is %s, want %s", text, p.Hash, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		source, _ := ShippedSource(name)
		f.Add(source)
	}
	bad, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range bad {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("f.yaml", data)
		if err != nil {
			var e *yamlx.Error
			if !errors.As(err, &e) || e.Line < 1 || e.Col < 1 {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		if len(p.Order) == 0 || p.Name == "" || p.DefaultEstimate < 1 {
			t.Fatalf("a policy without defaults: %+v", p)
		}
		roundTrip(t, p)
	})
}
