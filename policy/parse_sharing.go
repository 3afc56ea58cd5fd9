package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// fileSharing is the block "sharing". Every key may be absent.
type fileSharing struct {
	Window         *yamlx.Duration   `yaml:"window"`
	Interval       *yamlx.Duration   `yaml:"interval"`
	CreditCap      *creditCap        `yaml:"creditCap"`
	Guard          *guardWord        `yaml:"guard"`
	Hysteresis     *yamlx.Milli      `yaml:"hysteresis"`
	MinRuntime     fileMinRuntime    `yaml:"minRuntime"`
	BackOff        *bool             `yaml:"backOff"`
	Grace          fileGrace         `yaml:"grace"`
	CheckpointWait *yamlx.Duration   `yaml:"checkpointWait"`
	OverKill       *fileOverKill     `yaml:"overKill"`
	Evictions      *fileEvictions    `yaml:"evictions"`
	InTeam         bool              `yaml:"inTeam"`
	Reservations   *fileReservations `yaml:"reservations"`
	Debug          *fileDebug        `yaml:"debug"`
	Weights        fileCharges       `yaml:"weights"`
	Sessions       fileSessions      `yaml:"sessions"`
}

type fileMinRuntime struct {
	Cap     *yamlx.Duration `yaml:"cap"`
	Default *yamlx.Duration `yaml:"default"`
}

type fileGrace struct {
	Allocated   *yamlx.Duration `yaml:"allocated"`
	Unallocated *yamlx.Duration `yaml:"unallocated"`
}

// fileOverKill and the three below it are a word, or a map.
type fileOverKill struct {
	word  string
	Times *int32 `yaml:"times"`
	UpTo  *int32 `yaml:"upTo"`
}

type fileEvictions struct {
	word  string
	Every *yamlx.Duration `yaml:"every"`
	After *yamlx.Duration `yaml:"after"`
}

type fileReservations struct {
	word       string
	Count      *int32         `yaml:"count"`
	Above      *int32         `yaml:"above"`
	Nodes      *yamlx.Percent `yaml:"nodes"`
	AnyAccount *bool          `yaml:"anyAccount"`
}

type fileDebug struct {
	word       string
	Nodes      *yamlx.Percent  `yaml:"nodes"`
	GPUs       *int32          `yaml:"gpus"`
	MinRuntime *yamlx.Duration `yaml:"minRuntime"`
}

type fileCharges struct {
	GPUs map[string]yamlx.Milli `yaml:"gpus"`
	CPU  yamlx.Milli            `yaml:"cpu"`
}

type fileSessions struct {
	Idle *yamlx.Duration `yaml:"idle"`
	Max  *yamlx.Duration `yaml:"max"`
}

const (
	wordNone      = "none"
	wordUnlimited = "unlimited"
)

func (o *fileOverKill) UnmarshalNode(n *yamlx.Node) error {
	type plain fileOverKill
	return aWordOr(n, &o.word, (*plain)(o), wordNone)
}

func (v *fileEvictions) UnmarshalNode(n *yamlx.Node) error {
	type plain fileEvictions
	return aWordOr(n, &v.word, (*plain)(v), wordUnlimited, wordNone)
}

func (r *fileReservations) UnmarshalNode(n *yamlx.Node) error {
	type plain fileReservations
	return aWordOr(n, &r.word, (*plain)(r), wordNone)
}

func (d *fileDebug) UnmarshalNode(n *yamlx.Node) error {
	type plain fileDebug
	return aWordOr(n, &d.word, (*plain)(d), wordNone)
}

// aWordOr reads one of the words, or the keys of a map. whole has no UnmarshalNode,
// so that it is read key by key.
func aWordOr(n *yamlx.Node, word *string, whole any, words ...string) error {
	if n.Kind == yamlx.Map {
		return n.Decode(whole)
	}
	if n.Kind == yamlx.Text && slices.Contains(words, n.Text) {
		*word = n.Text
		return nil
	}
	what := n.Kind.String() + " here"
	if n.Kind == yamlx.Text {
		what = `"` + n.Text + `" is not known`
	}
	return n.Errorf("want "+strings.Join(words, ", ")+" or a map with "+strings.Join(yamlx.Keys(whole), ", "), "%s", what)
}

// creditCap is a part in thousandths, < 0 = none.
type creditCap int64

// UnmarshalNode reads the word none, or a percentage.
func (c *creditCap) UnmarshalNode(n *yamlx.Node) error {
	if n.Kind == yamlx.Text && n.Text == wordNone {
		*c = -1
		return nil
	}
	if n.Kind == yamlx.Text && !strings.HasSuffix(n.Text, "%") {
		return n.Errorf("want none, or a percentage such as 25%", "%q is not known", n.Text)
	}
	var p yamlx.Percent
	err := n.Decode(&p)
	*c = creditCap(p)
	return err
}

type guardWord Guard

func (w *guardWord) UnmarshalNode(n *yamlx.Node) error { return word(w, n, guardNames[:]) }

// sharable are the order terms that sort the jobs of one account: those that
// neither change while a job waits nor depend on what it has had. An account's
// place is then a matter of its usage alone.
var sharable = []TermKind{ByPriority, BySubmit, ByGPUs, ByEstimate, ByArea, ByDeadline}

// longest is the longest time that sharing takes: GPU-time of 100,000 GPUs over it
// fits 64 bits.
const longest = 366 * workload.Day

// heaviest is the largest weight, in thousandths.
const heaviest = 100_000

func takeSharing(p *Policy, f *file, root *yamlx.Node) error {
	if f.Sharing == nil {
		return nil
	}
	if err := checkBeside("sharing", p, f, root); err != nil {
		return err
	}
	s := DefaultSharing()
	f.Sharing.fill(&s)
	if err := s.check(root.At("sharing")); err != nil {
		return err
	}
	p.Blocking, p.Sharing = Skip, &s
	return nil
}

// checkBeside refuses what the rest of the file may not say beside sharing or horizon,
// which decide themselves who waits, who has a date and who is stopped.
func checkBeside(what string, p *Policy, f *file, root *yamlx.Node) error {
	if root.Get("blocking") != nil && p.Blocking != Skip {
		want := "use skip, or drop it"
		if what == "sharing" {
			want += "; sharing.reservations gives large jobs their dates"
		}
		return root.At("blocking").Errorf(want, "%s and blocking %s do not go together", what, p.Blocking)
	}
	if f.Reservations != nil {
		return root.At("reservations").Errorf("drop it", "%s has dates of its own", what)
	}
	if p.PerEvent {
		return root.At("decide").Errorf("use instant, or drop it", "%s and decide event do not go together", what)
	}
	if by := f.Preemption.By; by != nil && PreemptBy(*by) != PreemptNone {
		return root.At("preemption", "by").Errorf("use none, or drop it; "+what+" itself says who may be stopped",
			"%s and preemption %s do not go together", what, PreemptBy(*by))
	}
	for i := range p.Order {
		if k := p.Order[i].Kind; !slices.Contains(sharable, k) {
			var names []string
			for _, k := range sharable {
				names = append(names, k.String())
			}
			return root.At("order", i).Errorf("use "+strings.Join(names, ", "),
				"under %s jobs cannot be sorted by %s, which may change with time or with what a job has had", what, k)
		}
	}
	return nil
}

// fill puts what the file gives in the place of defaults.
func (f *fileSharing) fill(s *Sharing) {
	give(&s.Window, f.Window)
	give(&s.Interval, f.Interval)
	give(&s.CreditCap, f.CreditCap)
	if f.Guard != nil {
		s.Guard = Guard(*f.Guard)
	}
	give(&s.Hysteresis, f.Hysteresis)
	give(&s.MinRuntimeCap, f.MinRuntime.Cap)
	s.MinRuntimeDefault = min(s.MinRuntimeDefault, s.MinRuntimeCap)
	give(&s.MinRuntimeDefault, f.MinRuntime.Default)
	if f.BackOff != nil {
		s.BackOff = *f.BackOff
	}
	give(&s.GraceAllocated, f.Grace.Allocated)
	give(&s.GraceUnallocated, f.Grace.Unallocated)
	give(&s.CheckpointWait, f.CheckpointWait)
	s.InTeam = f.InTeam
	if o := f.OverKill; o != nil {
		give(&s.OverKill, o.Times)
		give(&s.OverKillGPUs, o.UpTo)
		if o.word == wordNone {
			s.OverKill, s.OverKillGPUs = 0, 0
		}
	}
	if v := f.Evictions; v != nil {
		give(&s.EvictEvery, v.Every)
		give(&s.EvictAfter, v.After)
		if v.word == wordNone {
			s.EvictEvery = workload.Never
		}
	}
	if r := f.Reservations; r != nil {
		give(&s.Reservations.Count, r.Count)
		give(&s.Reservations.Above, r.Above)
		give(&s.Reservations.Nodes, r.Nodes)
		if r.AnyAccount != nil {
			s.Reservations.AnyAccount = *r.AnyAccount
		}
		if r.word == wordNone {
			s.Reservations = Reservations{}
		}
	}
	if d := f.Debug; d != nil {
		give(&s.Debug.Nodes, d.Nodes)
		give(&s.Debug.GPUs, d.GPUs)
		give(&s.Debug.MinRuntime, d.MinRuntime)
		if d.word == wordNone {
			s.Debug = Debug{}
		}
	}
	for _, t := range slices.Sorted(maps.Keys(f.Weights.GPUs)) {
		s.GPUWeights = append(s.GPUWeights, TypeWeight{GPUType: t, Weight: int64(f.Weights.GPUs[t])})
	}
	s.CPUWeight = int64(f.Weights.CPU)
	give(&s.SessionMax, f.Sessions.Max)
	s.SessionIdle = min(s.SessionIdle, s.SessionMax)
	give(&s.SessionIdle, f.Sessions.Idle)
}

// give sets a value where the file gives one.
func give[T, F ~int | ~int32 | ~int64](to *T, from *F) {
	if from != nil {
		*to = T(*from)
	}
}

// check refuses values that mean nothing. What is none already (a part of 0%, a
// count of 0) becomes the zero value, so that equal policies are equal values.
func (s *Sharing) check(at *yamlx.Node) error {
	r, d := &s.Reservations, &s.Debug
	for _, c := range []struct {
		path   []any
		v      workload.Span
		lo, hi workload.Span
	}{
		{[]any{"window"}, s.Window, workload.Hour, longest},
		{[]any{"interval"}, s.Interval, 1, workload.Hour}, // the ledger can be read an hour back at most
		{[]any{"minRuntime", "cap"}, s.MinRuntimeCap, 1, longest},
		{[]any{"minRuntime", "default"}, s.MinRuntimeDefault, 0, s.MinRuntimeCap},
		{[]any{"grace", "allocated"}, s.GraceAllocated, 0, longest},
		{[]any{"grace", "unallocated"}, s.GraceUnallocated, 0, longest},
		{[]any{"evictions", "after"}, s.EvictAfter, 0, longest},
		{[]any{"checkpointWait"}, s.CheckpointWait, 0, longest},
		{[]any{"debug", "minRuntime"}, d.MinRuntime, b2s(d.Nodes > 0), longest},
		{[]any{"sessions", "max"}, s.SessionMax, 1, longest},
		{[]any{"sessions", "idle"}, s.SessionIdle, 1, s.SessionMax},
	} {
		if c.v < c.lo || c.v > c.hi {
			return at.At(c.path...).Errorf(wantSpan(c.lo, c.hi), "%s is %s", pathOf(c.path), span(c.v))
		}
	}
	if v := s.EvictEvery; v > longest && v != workload.Never {
		return at.At("evictions", "every").Errorf(wantSpan(0, longest)+"; none stops no allocated work at all", "evictions.every is %s", span(v))
	}
	if h := s.Hysteresis; h < 1000 || h > 100_000 {
		return at.At("hysteresis").Errorf("want 1 to 100, such as 1.1", "hysteresis is %s", yamlx.Milli(h))
	}
	const wantWeight = "want 0 to 100"
	for _, w := range s.GPUWeights {
		switch at := at.At("weights", "gpus", w.GPUType); {
		case w.GPUType == "":
			return at.Errorf("name it as the cluster file does", "a weight without a GPU type")
		case w.Weight > heaviest:
			return at.Errorf(wantWeight, "the weight of %s is %s", w.GPUType, yamlx.Milli(w.Weight))
		}
	}
	if s.CPUWeight > heaviest {
		return at.At("weights", "cpu").Errorf(wantWeight, "the weight of cpu is %s", yamlx.Milli(s.CPUWeight))
	}
	off := s.OverKill == 0 && s.OverKillGPUs == 0
	for _, c := range []struct {
		path  []any
		v, lo int64
	}{
		{[]any{"overKill", "times"}, s.OverKill, b2s(!off)},
		{[]any{"overKill", "upTo"}, s.OverKillGPUs, b2s(!off)},
		{[]any{"reservations", "count"}, int64(r.Count), 0},
		{[]any{"reservations", "above"}, r.Above, 0},
		{[]any{"debug", "gpus"}, d.GPUs, b2s(d.Nodes > 0)},
	} {
		if c.v < c.lo {
			return at.At(c.path...).Errorf("want "+yamlx.Decimal(float64(c.lo))+" or more, or "+c.path[0].(string)+": none", "%s is %d", pathOf(c.path), c.v)
		}
	}
	if r.Count == 0 || r.Nodes == 0 {
		*r = Reservations{}
	}
	if d.Nodes == 0 {
		*d = Debug{}
	}
	return nil
}

func b2s(b bool) int64 { return int64(b2i(b)) }

func wantSpan(lo, hi workload.Span) string {
	if lo == 1 {
		return "want more than 0s, at most " + span(hi)
	}
	return "want " + span(lo) + " to " + span(hi)
}

func pathOf(path []any) string {
	var keys []string
	for _, p := range path {
		keys = append(keys, p.(string))
	}
	return strings.Join(keys, ".")
}
