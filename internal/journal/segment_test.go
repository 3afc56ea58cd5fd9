package journal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// cutUp records a run with a new segment after each so many instants.
func cutUp(t testing.TB, o sim.Options, every int) []byte {
	t.Helper()
	var out bytes.Buffer
	h := HeaderOf(&o, "test")
	w, err := NewWriter(&out, h)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	o.Probe = func(now workload.Time, e *engine.Engine) {
		if n++; n%every == 0 {
			w.Segment(h, now, e.Snapshot())
		}
	}
	o.Observers = []sim.Observer{w}
	if _, err := sim.Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// segments are the places at which segments begin.
func segments(data []byte) (at []int) {
	for from := 0; ; {
		i := bytes.Index(data[from:], []byte(`{"escala":"journal"`))
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + 1
	}
}

func cutOptions(t testing.TB, p *policy.Policy) sim.Options {
	o := sim.Options{Workload: withServices(someJobs(7, 60, true)), Cluster: lab(true), Policy: p, Assume: sim.Assumptions{StartLatency: workload.Second, Grace: 20 * workload.Second}}
	if p.Name == "fifo" { // a start that is confirmed at once
		o.Assume.StartLatency = 0
	}
	return o
}

// TestSegments: a journal of several segments is decided again from its beginning and from
// each of its segments, to the same state; as a trace it is the same as one without.
func TestSegments(t *testing.T) {
	for _, name := range policy.Names() {
		t.Run(name, func(t *testing.T) {
			o := cutOptions(t, shipped(t, name))
			if !suits(o.Policy, o.Cluster) {
				t.Skip()
			}
			data, whole := cutUp(t, o, 13), func() []byte { d, _ := record(t, o); return d }()
			all, err := Replay(reader(t, data), true)
			if err != nil {
				t.Fatal(err)
			}
			end := all.Engine.Snapshot().Settled().Hash()
			at := segments(data)
			if len(at) < 4 {
				t.Fatalf("%d segments", len(at))
			}
			for _, from := range at[1:] {
				for _, verify := range []bool{true, false} {
					x, err := Replay(reader(t, data[from:]), verify)
					if err != nil {
						t.Fatalf("from byte %d: %v", from, err)
					}
					if got := x.Engine.Snapshot().Settled().Hash(); got != end {
						t.Fatalf("from byte %d (verify %t) another state is come to", from, verify)
					}
				}
			}
			for i, from := range at[:len(at)-1] {
				foldsTo(t, data[from:at[i+1]], data[at[i+1]:])
			}
			a, _, err := ToWorkload(reader(t, data))
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := ToWorkload(reader(t, whole))
			if err != nil {
				t.Fatal(err)
			}
			a.Hash, b.Hash = "", ""
			for _, w := range []*workload.Workload{a, b} {
				for i := range w.Dropped {
					w.Dropped[i].First = "" // lines are others
				}
			}
			if !reflect.DeepEqual(a, b) {
				t.Error("as a trace it is another workload")
			}
		})
	}
}

// foldsTo holds that a segment, not decided again but folded, comes to the state of the next,
// but for when to decide.
func foldsTo(t *testing.T, segment, next []byte) {
	t.Helper()
	x, err := Replay(reader(t, segment), false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := reader(t, next).Next()
	if err != nil {
		t.Fatal(err)
	}
	x.Engine.Decided(e.State.Now())
	if x.Engine.Snapshot().Settled().Hash() != e.State.Settled().Hash() {
		t.Errorf("folded to %d ms, a segment comes to another state than was written down at %d ms", x.Now, e.State.Now())
	}
}

// TestSegmentAsATrace: of a file whose past is gone, jobs that were alive count with all their
// work, and the others are as they are.
func TestSegmentAsATrace(t *testing.T) {
	o := cutOptions(t, shipped(t, "priority"))
	data := cutUp(t, o, 40)
	at := segments(data)
	full, _, err := ToWorkload(reader(t, data))
	if err != nil {
		t.Fatal(err)
	}
	part, _, err := ToWorkload(reader(t, data[at[1]:]))
	if err != nil {
		t.Fatal(err)
	}
	if len(part.Jobs) == 0 || len(part.Jobs) >= len(full.Jobs) {
		t.Fatalf("%d jobs of %d", len(part.Jobs), len(full.Jobs))
	}
	late := 0
	for i := range part.Jobs {
		k := slices.IndexFunc(full.Jobs, func(j workload.Job) bool { return j.ID == part.Jobs[i].ID })
		a, b := part.Actual[i], full.Actual[k]
		if a.Start == workload.Unknown && b.Start != workload.Unknown {
			late++
			a.Start = b.Start
		}
		if full.Jobs[k].Service != nil {
			a.Demand, b.Demand = nil, nil
		}
		if part.Jobs[i].Submit != full.Jobs[k].Submit || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %+v, want %+v", part.Jobs[i].ID, a, b)
		}
	}
	t.Logf("%d jobs of %d, %d of them with an unknown start", len(part.Jobs), len(full.Jobs), late)
}

// TestSegmentOfAnotherPolicy: the state of a segment is the one that its policy makes of the
// state above.
func TestSegmentOfAnotherPolicy(t *testing.T) {
	o := cutOptions(t, shipped(t, "priority"))
	data := cutUp(t, o, 25)
	data = data[:segments(data)[1]]
	x, err := Replay(reader(t, data), true)
	if err != nil {
		t.Fatal(err)
	}
	tree := budget.Equal("b", []string{"vision", "größe"})
	if err := x.Engine.Apply(&fact.Fact{Kind: fact.BudgetsChanged, At: x.Now, Job: -1, Node: -1, Budgets: tree, Epoch: workload.Unknown}); err != nil {
		t.Fatal(err)
	}
	data = AppendFact(data, &fact.Fact{Kind: fact.BudgetsChanged, At: x.Now, Job: -1, Node: -1, Budgets: tree, Epoch: workload.Unknown})
	for _, name := range []string{"contract", "horizon", "conservative"} {
		h := HeaderOf(&o, "test")
		h.Policy = shipped(t, name)
		e, err := engine.Restore(h.Cluster, h.Policy, h.defaults(), x.Engine.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		b, err := AppendHeader(bytes.Clone(data), h)
		if err != nil {
			t.Fatal(err)
		}
		b = AppendTimer(AppendSnapshot(b, x.Now, e.Snapshot()), x.Now+1)
		for _, a := range e.Decide(x.Now + 1).Actions {
			if b = AppendAction(b, &a); a.Do == fact.Start || a.Do == fact.Reserve {
				continue
			}
		}
		y, err := Replay(reader(t, b), true)
		if err != nil && !strings.Contains(err.Error(), "no action here") { // it goes on deciding
			t.Fatalf("%s: %v", name, err)
		}
		if err == nil && y.Now != x.Now+1 {
			t.Errorf("%s: at %d", name, y.Now)
		}
	}
}

// TestSegmentsThatDiffer: a state that the segment above does not come to is found.
func TestSegmentsThatDiffer(t *testing.T) {
	o := cutOptions(t, shipped(t, "contract"))
	data := cutUp(t, o, 13)
	lines := bytes.SplitAfter(data, []byte("\n"))
	var heads []int
	for i, l := range lines {
		if Is(l) {
			heads = append(heads, i)
		}
	}
	swapped := slices.Clone(lines)
	swapped[heads[1]+1] = bytes.Replace(lines[heads[2]+1], lines[heads[2]+1][:bytes.IndexByte(lines[heads[2]+1], ',')], lines[heads[1]+1][:bytes.IndexByte(lines[heads[1]+1], ',')], 1)
	_, err := Replay(reader(t, bytes.Join(swapped, nil)), true)
	if err == nil {
		t.Fatal("another state was taken")
	}
	// The same time and numbers, but one job less: replaying what leads there is not enough.
	short := slices.Delete(slices.Clone(lines), heads[2]-1, heads[2])
	_, err = Replay(reader(t, bytes.Join(short, nil)), true)
	var d *Difference
	if !errors.As(err, &d) {
		t.Fatalf("a line is missing: %v", err)
	}
	if !d.Snapshot && d.Decided == "" {
		t.Errorf("%v", d)
	}
}

func TestSegmentErrors(t *testing.T) {
	o := cutOptions(t, shipped(t, "fifo"))
	data := cutUp(t, o, 40)
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:len(lines)-1]
	at := slices.IndexFunc(lines[1:], Is) + 1
	join := func(edit func(l [][]byte) [][]byte) []byte { return bytes.Join(edit(slices.Clone(lines)), nil) }
	raw := string(lines[at+1])
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no snapshot":     {join(func(l [][]byte) [][]byte { return slices.Delete(l, at+1, at+2) }), "a segment without a snapshot"},
		"cut":             {join(func(l [][]byte) [][]byte { return l[:at+1] }), "stops behind a header"},
		"two headers":     {join(func(l [][]byte) [][]byte { return slices.Insert(l, at, l[at]) }), "a header below a header"},
		"in the middle":   {join(func(l [][]byte) [][]byte { return slices.Insert(l, at+2, l[at+1]) }), "in the middle of a segment"},
		"in the first":    {join(func(l [][]byte) [][]byte { return slices.Insert(l, 2, l[at+1]) }), "in the middle of a segment"},
		"another hash":    {bytes.ReplaceAll(data, []byte(`","sha256":"`), []byte(`","sha256":"0`)), "another SHA-256"},
		"no base64":       {bytes.Replace(data, []byte(`"snapshot","state":"`), []byte(`"snapshot","state":"?`), 1), "no base64"},
		"no state":        {bytes.Replace(data, []byte(raw), []byte(raw[:strings.Index(raw, `"state"`)]+`"state":"AAAA","sha256":""}`+"\n"), 1), "no state"},
		"no hash":         {bytes.Replace(data, []byte(raw), []byte(raw[:strings.Index(raw, `,"sha256"`)]+"}\n"), 1), "no field"},
		"number":          {join(func(l [][]byte) [][]byte { return slices.Delete(l, 1, 2) }), ""},
		"time goes back":  {bytes.Replace(data, []byte(raw), []byte(`{"t":-1`+raw[strings.IndexByte(raw, ','):]), 1), ""},
		"after its time":  {append([]byte(nil), append(bytes.Clone(lines[at]), []byte(`{"t":0`+raw[strings.IndexByte(raw, ','):])...)...), "the state is of"},
		"of another time": {bytes.Replace(data, []byte(raw), []byte(`{"t":99999999999`+raw[strings.IndexByte(raw, ','):]), 1), "time goes back"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader("x", bytes.NewReader(c.data))
			for err == nil {
				_, err = r.Next()
			}
			if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestSnapshotLine: the line holds the state, and more may stand in it.
func TestSnapshotLine(t *testing.T) {
	p := shipped(t, "fifo")
	o := cutOptions(t, p)
	e, err := engine.New(o.Cluster, p, engine.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := AppendHeader(nil, HeaderOf(&o, "test"))
	if err != nil {
		t.Fatal(err)
	}
	s := e.Snapshot()
	b = AppendSnapshot(b, 5, s)
	b = append(bytes.TrimSuffix(b, []byte("}\n")), `,"more":{"x":[1]}}`+"\n"...)
	if want := `{"t":5,"fact":"snapshot","state":"` + base64.StdEncoding.EncodeToString(s.AppendTo(nil)) + `","sha256":"` + s.Hash() + `"`; !strings.Contains(string(b), want) {
		t.Errorf("%s\nwant %s", b, want)
	}
	w := &told1{}
	x, err := Fold(reader(t, b), w)
	if err != nil {
		t.Fatal(err)
	}
	if x.Now != 5 || w.raw == "" || !strings.Contains(w.raw, `"more"`) || w.e != x.Engine {
		t.Errorf("at %d, %q", x.Now, w.raw)
	}
}

type told1 struct {
	e   *engine.Engine
	raw string
}

func (w *told1) Snapshot(e *engine.Engine, raw []byte) { w.e, w.raw = e, string(raw) }
func (w *told1) Fact(*fact.Fact)                       {}
func (w *told1) Action(*fact.Action)                   {}

// TestObserveASegment: who observes a file whose past is gone sees what is alive in it.
func TestObserveASegment(t *testing.T) {
	o := cutOptions(t, shipped(t, "contract"))
	data := cutUp(t, o, 40)
	part := data[segments(data)[1]:]
	seen := &alive{on: map[int32]int64{}, known: map[int32]bool{}, t: t}
	if _, err := Observe(reader(t, part), seen); err != nil {
		t.Fatal(err)
	}
	if seen.instants == 0 || len(seen.known) == 0 {
		t.Errorf("%d instants, %d jobs", seen.instants, len(seen.known))
	}
	if f, err := At(reader(t, part), workload.Never, nothing{}); err != nil || f.Engine == nil {
		t.Error(err)
	}
	out := &bytes.Buffer{}
	if err := Rewrite(reader(t, data), out, func(e *Entry) ([]byte, error) { return e.Raw, nil }); err != nil || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("rewritten it is other bytes: %v", err)
	}
}

// alive holds that no job is heard of that was not submitted, and that what is assigned adds up.
type alive struct {
	t        *testing.T
	known    map[int32]bool
	on       map[int32]int64
	instants int
}

func (a *alive) Fact(f *fact.Fact) {
	switch {
	case f.Kind == fact.JobSubmitted:
		a.known[f.Job] = true
	case f.Job >= 0 && !a.known[f.Job]:
		a.t.Errorf("%s of job %d, which nobody submitted", f.Kind, f.Job)
	case f.Kind == fact.JobFinished || f.Kind == fact.JobStopped || f.Kind == fact.StartFailed:
		delete(a.on, f.Job)
	}
}

func (a *alive) Action(x *fact.Action) {
	if x.Do == fact.Start {
		a.on[x.Job] = x.Milli
	}
}

func (a *alive) Instant(g *sim.Gauge) {
	a.instants++
	var sum int64
	for _, m := range a.on {
		sum += m
	}
	if sum != g.Assigned {
		a.t.Errorf("at %d: %d milli-GPU are assigned, %d were seen", g.At, g.Assigned, sum)
	}
}

type nothing struct{}

func (nothing) Fact(*engine.Engine, *fact.Fact)     {}
func (nothing) Before(*engine.Engine, *fact.Action) {}
func (nothing) After(*engine.Engine, *fact.Action)  {}
