package budget

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/workload"
)

// tree of three levels whose leaves are 2, 3, 5 and 6.
const smallFile = `
children:
  - {name: p, share: 50, children: [{name: a, share: 70}, {name: b, share: 30}]}
  - {name: q, share: 50, children: [{name: c, share: 0}, {name: d, share: 100}]}
`

var smallLeaves = []int32{2, 3, 5, 6}

// stretch is a charged run of one leaf, protected up to a time.
type stretch struct {
	leaf         int32
	milli        int64
	from, to     workload.Time
	until, taken workload.Time // protection, and when it was taken back
}

// overlap is the length of (a,b] that lies in (c,d].
func overlap(a, b, c, d int64) int64 { return max(0, min(b, d)-max(a, c)) }

// The ledger equals the sum of its intervals, recomputed naively, at any time.
func TestLedgerEqualsSumOfIntervals(t *testing.T) {
	tree := parse(t, smallFile)
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.Int64Range(1, 60).Draw(t, "window") * 1000
		l := NewLedger(tree, window)
		now := rapid.Int64Range(-1000, 1000).Draw(t, "start")
		l.Advance(now)
		var all, offers []stretch
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			// Some pauses are longer than window and look-back, so that all is forgotten.
			now += rapid.SampledFrom([]int64{0, 0, 1, 7, 400, 1000, 5000, 61_000, Lookback, 5 * Lookback}).Draw(t, "pause")
			switch open := openStretches(all, now); {
			case rapid.IntRange(0, 4).Draw(t, "usable") == 0:
				if n := len(offers); n > 0 {
					offers[n-1].to = now
				}
				offers = append(offers, stretch{milli: rapid.Int64Range(-5, 9000).Draw(t, "milli"), from: now, to: workload.Never})
				l.SetUsable(now, offers[len(offers)-1].milli)
			case len(open) > 0 && rapid.Bool().Draw(t, "end"):
				s := rapid.SampledFrom(open).Draw(t, "which")
				all[s].to = now
				l.Change(all[s].leaf, now, -all[s].milli)
				if rapid.IntRange(0, 3).Draw(t, "keep") > 0 {
					l.Unprotect(all[s].leaf, all[s].milli, all[s].until)
					all[s].taken = now
				}
			default:
				s := stretch{leaf: rapid.SampledFrom(smallLeaves).Draw(t, "leaf"), milli: rapid.Int64Range(1, 9000).Draw(t, "milli"),
					from: now, to: workload.Never, until: now + rapid.SampledFrom([]int64{0, 1, 500, 3000, Lookback}).Draw(t, "min"), taken: workload.Never}
				l.Change(s.leaf, now, s.milli)
				l.Protect(s.leaf, s.milli, s.until)
				all = append(all, s)
			}
			for range 3 {
				at := now + rapid.SampledFrom([]int64{0, 0, -1, -Lookback, 1, 900, 70_000}).Draw(t, "asked")
				checkLedger(t, l, all, now, at)
				var offered int64
				for _, o := range offers {
					offered += max(o.milli, 0) * overlap(o.from, o.to, at-window, at)
				}
				if got := l.Offered(at); got != offered {
					t.Fatalf("at %d (now %d): offered %d, want %d", at, now, got, offered)
				}
			}
			for _, s := range all[max(0, len(all)-2):] { // around the ends of protections to come
				for at := max(s.until-1, now); at <= s.until+1; at++ {
					checkLedger(t, l, all, now, at)
				}
			}
		}
	})
}

func openStretches(all []stretch, now int64) (open []int) {
	for i := range all {
		if all[i].to == workload.Never && all[i].from <= now {
			open = append(open, i)
		}
	}
	return open
}

func checkLedger(t *rapid.T, l *Ledger, all []stretch, now, at int64) {
	charged, outstanding := make([]int64, len(l.tree.Nodes)), make([]int64, len(l.tree.Nodes))
	for _, s := range all {
		c := s.milli * overlap(s.from, s.to, at-l.window, at)
		var o int64
		if s.taken > now && s.until > max(now, at) {
			o = s.milli * (s.until - at)
		}
		for n := s.leaf; n >= 0; n = l.tree.Nodes[n].Parent {
			charged[n] += c
			outstanding[n] += o
		}
	}
	for n := range charged {
		if got := l.Charged(int32(n), at); got != charged[n] {
			t.Fatalf("node %d at %d (now %d): charged %d, want %d", n, at, now, got, charged[n])
		}
		if got := l.Outstanding(int32(n), at); got != outstanding[n] {
			t.Fatalf("node %d at %d (now %d): outstanding %d, want %d", n, at, now, got, outstanding[n])
		}
		if got := l.Usage(int32(n), at); got != charged[n]+outstanding[n] {
			t.Fatalf("node %d at %d: usage %d", n, at, got)
		}
	}
}

// Changes of one time give the same ledger in any order.
func TestOrderOfEqualTimesIsIrrelevant(t *testing.T) {
	tree := parse(t, smallFile)
	rapid.Check(t, func(t *rapid.T) {
		type change struct {
			leaf  int32
			milli int64
		}
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) change {
			return change{rapid.SampledFrom(smallLeaves).Draw(t, "leaf"), rapid.Int64Range(-5000, 5000).Draw(t, "milli")}
		}), 1, 10).Draw(t, "changes")
		make := func(order []change) *Ledger {
			l := NewLedger(tree, 10_000)
			l.SetUsable(0, 8000)
			l.SetCreditCap(0, 250)
			for _, c := range order {
				l.Change(c.leaf, 100, c.milli)
				l.Protect(c.leaf, c.milli, 5000)
			}
			return l
		}
		a, b := make(list), make(rapid.Permutation(list).Draw(t, "order"))
		for n := range tree.Nodes {
			for _, at := range []int64{100, 3000, 9000, 20_000} {
				if a.Usage(int32(n), at) != b.Usage(int32(n), at) || a.Standing(int32(n), at) != b.Standing(int32(n), at) {
					t.Fatalf("node %d at %d depends on the order", n, at)
				}
			}
		}
	})
}

func TestWindowIsHalfOpen(t *testing.T) {
	tree := parse(t, smallFile)
	l := NewLedger(tree, 100)
	l.Change(2, 50, 1000) // one GPU in [50, 60)
	l.Change(2, 60, -1000)
	for at, want := range map[int64]int64{50: 0, 51: 1000, 60: 10_000, 61: 10_000, 150: 10_000, 151: 9000, 159: 1000, 160: 0} {
		if got := l.Charged(0, at); got != want {
			t.Errorf("charged in (%d,%d] is %d, want %d", at-100, at, got, want)
		}
	}
}

// R38 (b): one GPU-hour in jobs of a second is one GPU-hour, until it leaves the
// window whole. (c): a start that never came to be charges nothing.
func TestChargesDoNotDecay(t *testing.T) {
	tree := parse(t, smallFile)
	l := NewLedger(tree, 168*workload.Hour)
	for i := range int64(3600) {
		l.Change(2, i*workload.Second, 1000)
		l.Change(2, (i+1)*workload.Second, -1000)
	}
	for at, want := range map[int64]int64{3600 * workload.Second: GPUHour, 168 * workload.Hour: GPUHour, 168*workload.Hour + 1: GPUHour - 1000, 169 * workload.Hour: 0} {
		if got := l.Charged(0, at); got != want {
			t.Errorf("charged at %d is %d, want %d", at, got, want)
		}
	}
	if got := l.Charged(3, 5000); got != 0 {
		t.Errorf("another leaf was charged %d", got)
	}
}

// R45: charge weights 1 per GPU and 0.05 per core, as the caller gives them.
func TestWeightedCharges(t *testing.T) {
	l := NewLedger(parse(t, smallFile), 168*workload.Hour)
	l.Change(2, 0, 8*1000)
	l.Change(3, 0, 50)
	end := 10 * workload.Hour
	if a, b := l.Charged(2, end), l.Charged(3, end); a != 80*GPUHour || b != GPUHour/2 {
		t.Errorf("charged %d and %d, want 80 and 0.5 GPU-hours", a, b)
	}
}

// 100,000 GPUs for years: nothing overflows, since only differences inside the
// window must fit.
func TestNoOverflow(t *testing.T) {
	const gpus, window = 100_000, 168 * workload.Hour
	l := NewLedger(parse(t, smallFile), window)
	want := int64(gpus) * 1000 * window
	var at workload.Time
	for range 20 * 366 {
		l.Change(2, at, gpus*1000)
		l.Protect(2, gpus*1000, at+8*workload.Hour)
		at += workload.Day
		l.Change(2, at, -gpus*1000)
	}
	if got := l.Charged(0, at); got != want {
		t.Errorf("charged %d, want %d", got, want)
	}
	if got := l.Outstanding(0, at); got != 0 {
		t.Errorf("outstanding %d, want 0", got)
	}
	l.Protect(2, gpus*1000, at+8*workload.Hour)
	if got, want := l.Outstanding(0, at), int64(gpus)*1000*8*workload.Hour; got != want {
		t.Errorf("outstanding %d, want %d", got, want)
	}
	if n := len(l.charged[0].steps); n > 100 {
		t.Errorf("%d steps are kept of a window of 7 days with one change a day", n)
	}
	if n := len(l.protected.heap); n > 1 {
		t.Errorf("%d protections are kept", n)
	}
}

func TestLedgerRefusesThePast(t *testing.T) {
	for name, do := range map[string]func(*Ledger){
		"a change before the last": func(l *Ledger) { l.Change(2, 9, 1) },
		"a reading too far back":   func(l *Ledger) { l.Charged(0, 10-Lookback-1) },
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(parse(t, smallFile), 100)
			l.Change(2, 10, 1)
			defer func() {
				if msg := fmt.Sprint(recover()); !strings.HasPrefix(msg, "budget: ledger at 10 ms ") {
					t.Errorf("panic is %q", msg)
				}
			}()
			do(l)
		})
	}
}

// The example of docs/budgets.md.
func TestWorkedExample(t *testing.T) {
	l := NewLedger(parse(t, smallFile), 168*workload.Hour)
	at := func(h int64) workload.Time { return h * workload.Hour }
	check := func(h, charged, outstanding int64) {
		t.Helper()
		if c, o := l.Charged(2, at(h)), l.Outstanding(2, at(h)); c != charged*GPUHour || o != outstanding*GPUHour {
			t.Errorf("hour %d: charged %d, outstanding %d, want %d and %d GPU-h", h, c, o, charged, outstanding)
		}
	}
	l.Change(2, at(0), 4000)
	l.Change(2, at(10), -4000)
	check(10, 40, 0)
	l.Change(2, at(100), 2000)
	l.Protect(2, 2000, at(108))
	check(100, 40, 16)
	check(104, 48, 8)
	check(108, 56, 0)
	check(170, 172, 0)
}

// R36: ten GPUs, two equal accounts, B alone for 144 h, then both want everything.
// Without a cap A has all until both had the same (84 h later); with a quarter of a
// window it has all for a quarter of a window, and then its share.
func TestIdleCredit(t *testing.T) {
	const full = 10_000
	for _, tc := range []struct{ cap, want int64 }{{-1, 84}, {250, 42}, {0, 0}} {
		tree := parse(t, "children: [{name: A, share: 1}, {name: B, share: 1}]")
		l := NewLedger(tree, 168*workload.Hour)
		l.SetUsable(0, full)
		l.SetCreditCap(0, tc.cap)
		l.Change(2, 0, full)
		at := 144 * workload.Hour
		l.Change(2, at, -full)
		l.Change(1, at, full/2) // its share is A's in any case
		var alone int64
		for ; ; at += workload.Hour { // grant the other half by the hour, as the standings say
			if s := l.Standing(1, at); s != Entitled {
				break
			}
			l.Change(1, at, full/2)
			l.Change(1, at+workload.Hour, -full/2)
			alone++
		}
		if alone != tc.want {
			t.Errorf("cap %d: A ran alone for %d h, want %d", tc.cap, alone, tc.want)
		}
		want := Spent
		if tc.cap < 0 {
			want = Served
		}
		if got := l.Standing(1, at); got != want {
			t.Errorf("cap %d: A is %s at the end, want %s", tc.cap, got, want)
		}
		l.Change(1, at, -1000)
		if got := l.Standing(1, at); tc.cap >= 0 && got != Entitled {
			t.Errorf("cap %d: below its share A is %s", tc.cap, got)
		}
		if got := l.Standing(2, at); got != Served {
			t.Errorf("cap %d: B is %s", tc.cap, got)
		}
	}
}

// A leaf is compared with its share of what was offered: by a cluster that half
// failed, and by one that has only just begun.
func TestStandingCountsWhatWasOffered(t *testing.T) {
	l := NewLedger(parse(t, "children: [{name: A, share: 1}, {name: B, share: 1}]"), 100*workload.Hour)
	check := func(h, offered int64, want Standing) {
		t.Helper()
		if o, s := l.Offered(h*workload.Hour), l.Standing(1, h*workload.Hour); o != offered*GPUHour || s != want {
			t.Errorf("hour %d: %d GPU-h offered, A is %s, want %d and %s", h, o/GPUHour, s, offered, want)
		}
	}
	check(0, 0, Served) // of nothing
	l.SetUsable(0, 10_000)
	l.Change(1, 0, 6000)
	check(10, 100, Served) // 60 of 50
	l.Change(1, 10*workload.Hour, -6000)
	check(12, 120, Served)   // 60 of 60
	check(13, 130, Entitled) // 60 of 65
	l.SetUsable(20*workload.Hour, 2000)
	check(100, 360, Entitled) // 60 of 180
	check(110, 280, Entitled) // the busy hours have left the window
	l.Change(1, 110*workload.Hour, 2000)
	check(180, 200, Served) // 140 of 100
	l.SetUsable(180*workload.Hour, 0)
	check(279, 2, Served) // 200 of 1: the run goes on until told otherwise
}

// The bucket equals one that is stepped millisecond by millisecond.
func TestAheadEqualsStepping(t *testing.T) {
	tree := parse(t, smallFile)
	rapid.Check(t, func(t *rapid.T) {
		l := NewLedger(tree, 100)
		l.SetCreditCap(0, 250)
		var now, rate, usable, level int64
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			for range rapid.IntRange(0, 40).Draw(t, "pause") {
				now++
				fair := usable * 35 / 100
				level = min(max(level+rate-fair, 0), fair*100/4)
			}
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				usable = rapid.Int64Range(0, 8000).Draw(t, "usable")
				l.SetUsable(now, usable)
				level = min(level, usable*35/100*100/4)
			} else {
				delta := rapid.Int64Range(-rate, 5000).Draw(t, "delta")
				rate += delta
				l.Change(2, now, delta)
			}
			if got, limit := l.Ahead(2, now); got != level || limit != usable*35/100*100/4 {
				t.Fatalf("at %d: ahead by %d of %d, want %d of %d", now, got, limit, level, usable*35/100*100/4)
			}
		}
	})
}

func TestMulDiv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, c := rapid.Uint64().Draw(t, "a"), rapid.Uint64Min(1).Draw(t, "c")
		b := rapid.Uint64Range(0, c).Draw(t, "b")
		want := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
		want.Div(want, new(big.Int).SetUint64(c))
		if b == c && a == 1<<64-1 { // the quotient is a itself
			want.SetUint64(a)
		}
		if got := mulDiv(a, b, c); got != want.Uint64() {
			t.Fatalf("%d x %d / %d = %d, want %s", a, b, c, got, want)
		}
	})
}

func BenchmarkChangeAndCharged(b *testing.B) {
	// 64 leaves at depth 4; at each change one leaf and its three ancestors are read.
	var text strings.Builder
	for i := range 4 {
		fmt.Fprintf(&text, "  - name: p%d\n    share: 1\n    children:\n", i)
		for j := range 4 {
			fmt.Fprintf(&text, "      - name: g%d%d\n        share: 1\n        children:\n", i, j)
			for k := range 4 {
				fmt.Fprintf(&text, "          - {name: t%d%d%d, share: 1, children: [{user: u, share: 1}]}\n", i, j, k)
			}
		}
	}
	tree := parse(b, "children:\n"+text.String())
	var leaves []int32
	for i := range tree.Nodes {
		if tree.Nodes[i].Leaf() {
			leaves = append(leaves, int32(i))
		}
	}
	run := func(b *testing.B, read bool) {
		l := NewLedger(tree, 168*workload.Hour)
		var sum int64
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			at := int64(i) * 7000 // 217,000 jobs in 35 days are a change in 7 s
			leaf := leaves[i*31%len(leaves)]
			l.Change(leaf, at, int64(1000-2000*(i/len(leaves)%2)))
			if read {
				sum += l.Charged(leaf, at)
			}
		}
		if sum == 1 {
			b.Log(sum)
		}
	}
	b.Run("change", func(b *testing.B) { run(b, false) })
	b.Run("both", func(b *testing.B) { run(b, true) })
}
