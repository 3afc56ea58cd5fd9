package budget

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/workload"
)

// Trees that follow one another: leaves come, go, become inner accounts and are
// taken up by the account above them; x has always the same share of everything.
var rebaseFiles = []string{
	"children: [{name: x, share: 1}, {name: p, share: 1, children: [{name: a, share: 2}, {name: b, share: 1}]}]",
	"children: [{name: p, share: 2, children: [{name: b, share: 1}, {name: c, share: 1}]}, {name: x, share: 2}]",
	"children: [{name: x, share: 1}, {name: p, share: 1}]",
	"children: [{name: p, share: 3, children: [{name: a, share: 1, children: [{name: u, share: 1}, {name: v, share: 1}]}, {name: b, share: 1}]}, {name: x, share: 3}]",
	"children: [{name: q, share: 1, children: [{name: y, share: 5}, {name: z, share: 0}]}, {name: x, share: 1}]",
}

func TestMoved(t *testing.T) {
	var trees []*Tree
	for _, text := range rebaseFiles {
		trees = append(trees, parse(t, text))
	}
	for _, tc := range []struct {
		from, to int
		want     string // of each leaf
	}{
		{0, 1, "x:x p/a:- p/b:p/b"}, {0, 2, "x:x p/a:p p/b:p"}, {2, 0, "x:x p:-"}, {0, 3, "x:x p/a:- p/b:p/b"},
		{3, 0, "p/a/u:p/a p/a/v:p/a p/b:p/b x:x"}, {3, 2, "p/a/u:p p/a/v:p p/b:p x:x"}, {3, 4, "p/a/u:- p/a/v:- p/b:- x:x"}, {1, 1, "p/b:p/b p/c:p/c x:x"},
	} {
		from, to := trees[tc.from], trees[tc.to]
		var got []string
		for i, m := range from.Moved(to) {
			path := "-"
			if m != none {
				path = to.Nodes[m].Path
			}
			if from.Nodes[i].Leaf() {
				got = append(got, from.Nodes[i].Path+":"+path)
			} else if m != none {
				t.Errorf("%s is no leaf, and goes to %s", from.Nodes[i].Path, path)
			}
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("from %d to %d: %s, want %s", tc.from, tc.to, s, tc.want)
		}
	}
}

// told is something a ledger was told; a leaf below 0 has gone.
type told struct {
	at, until workload.Time // until 0 = a change of the rate
	milli     int64         // below 0 with until = a protection taken back
	leaf      int32
	taken     bool
}

// A ledger whose tree changes equals a fresh one of the last tree that is told everything.
func TestRebaseEqualsReplay(t *testing.T) {
	var trees []*Tree
	for _, text := range rebaseFiles {
		trees = append(trees, parse(t, text))
	}
	rapid.Check(t, func(t *rapid.T) {
		const window = 20_000
		tree := rapid.SampledFrom(trees).Draw(t, "tree")
		l := NewLedger(tree, window)
		var now, usable int64
		var all []told
		var offers []told
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 0, 1, 7, 400, 1000, 5000, Lookback, 3 * Lookback}).Draw(t, "pause")
			l.Advance(now)
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1:
				var moved []int32
				tree = rapid.SampledFrom(trees).Draw(t, "tree")
				l, moved = l.Rebase(tree, now)
				for i := range all {
					if all[i].leaf >= 0 {
						all[i].leaf = moved[all[i].leaf]
					}
				}
			case 2:
				usable = rapid.Int64Range(0, 9000).Draw(t, "usable")
				l.SetUsable(now, usable)
				offers = append(offers, told{at: now, milli: usable})
			case 3, 4: // a run ends before its protection does
				i := slices.IndexFunc(all, func(x told) bool { return x.leaf >= 0 && x.until > now && x.milli > 0 && !x.taken })
				if i >= 0 {
					l.Unprotect(all[i].leaf, all[i].milli, all[i].until)
					all[i].taken = true
					all = append(all, told{at: now, until: all[i].until, milli: -all[i].milli, leaf: all[i].leaf})
				}
			default:
				var leaves []int32
				for i := range tree.Nodes {
					if tree.Nodes[i].Leaf() {
						leaves = append(leaves, int32(i))
					}
				}
				c := told{at: now, leaf: rapid.SampledFrom(leaves).Draw(t, "leaf"), milli: rapid.Int64Range(-2000, 5000).Draw(t, "milli")}
				l.Change(c.leaf, now, c.milli)
				p := told{at: now, leaf: c.leaf, milli: rapid.Int64Range(1, 9000).Draw(t, "protected"), until: now + rapid.SampledFrom([]int64{1, 500, 3000, Lookback}).Draw(t, "min")}
				l.Protect(p.leaf, p.milli, p.until)
				all = append(all, c, p)
			}
			compareLedgers(t, l, replayed(tree, window, now, all, offers), now)
		}
	})
}

func replayed(tree *Tree, window, now int64, all, offers []told) *Ledger {
	l := NewLedger(tree, window)
	for _, x := range all {
		for len(offers) > 0 && offers[0].at <= x.at {
			l.SetUsable(offers[0].at, offers[0].milli)
			offers = offers[1:]
		}
		switch {
		case x.leaf < 0:
		case x.until != 0:
			l.Advance(x.at)
			l.Protect(x.leaf, x.milli, x.until)
		default:
			l.Change(x.leaf, x.at, x.milli)
		}
	}
	for _, o := range offers {
		l.SetUsable(o.at, o.milli)
	}
	l.Advance(now)
	return l
}

func compareLedgers(t *rapid.T, got, want *Ledger, now int64) {
	for _, at := range []int64{now, now - 1, now - Lookback, now + 1, now + 600, now + Lookback} {
		for n := range got.tree.Nodes {
			i := int32(n)
			if got.Charged(i, at) != want.Charged(i, at) || got.Outstanding(i, at) != want.Outstanding(i, at) || got.Rate(i) != want.Rate(i) {
				t.Fatalf("%s at %d (now %d): charged %d, outstanding %d, rate %d, want %d, %d, %d", got.tree.Nodes[n].Path, at, now,
					got.Charged(i, at), got.Outstanding(i, at), got.Rate(i), want.Charged(i, at), want.Outstanding(i, at), want.Rate(i))
			}
			if got.tree.Nodes[n].Leaf() && got.Standing(i, at) != want.Standing(i, at) {
				t.Fatalf("%s at %d: %s, want %s", got.tree.Nodes[n].Path, at, got.Standing(i, at), want.Standing(i, at))
			}
		}
		if got.Offered(at) != want.Offered(at) {
			t.Fatalf("offered at %d (now %d): %d, want %d", at, now, got.Offered(at), want.Offered(at))
		}
	}
}

// How far a leaf is ahead stays: whole where its share does, else within the new limit.
func TestRebaseKeepsWhoIsAhead(t *testing.T) {
	var trees []*Tree
	for _, text := range rebaseFiles {
		trees = append(trees, parse(t, text))
	}
	l := NewLedger(trees[0], 168*workload.Hour)
	l.SetUsable(0, 12_000)
	l.SetCreditCap(0, 250)
	l.Change(1, 0, 7_000) // x: one above its 6 of 12, and may be ahead by 6 x 42 GPU-h
	l.Change(3, 0, 5_000) // p/a: one above its 4
	l.Change(4, 0, 4_000) // p/b: two above its 2
	l, _ = l.Rebase(trees[3], 10*hour)
	x, _ := trees[3].Find("x")
	b, _ := trees[3].Find("p/b")
	for leaf, want := range map[int32][2]int64{x: {10, 252}, b: {20, 126}} {
		if level, limit := l.Ahead(leaf, 10*hour); level != want[0]*GPUHour || limit != want[1]*GPUHour {
			t.Errorf("%s is ahead by %d of %d, want %d of %d GPU-h", trees[3].Nodes[leaf].Path, level/GPUHour, limit/GPUHour, want[0], want[1])
		}
	}
	if level, _ := l.Ahead(x, 11*hour); level != 11*GPUHour {
		t.Errorf("x is ahead by %d an hour later, want 11 GPU-h", level/GPUHour)
	}
	l, moved := l.Rebase(parse(t, "children: [{name: x, share: 1}, {name: y, share: 99}]"), 100*hour)
	if level, limit := l.Ahead(moved[x], 100*hour); level != limit || limit != 12_000*42*hour/100 {
		t.Errorf("x is ahead by %d of %d under a smaller share", level, limit)
	}
}

// paid is something budgets were told.
type paid struct {
	at, committed workload.Time // committed: of a refund
	kind          int
	amount        int64
	leaf          string
}

func (p *paid) tell(t *rapid.T, a *Accounts) {
	leaf, ok := a.tree.Find(p.leaf)
	switch {
	case !ok:
		t.Fatalf("no leaf %q", p.leaf)
	case p.kind == 0:
		a.Commit(leaf, p.at, p.amount)
	case p.kind == 1:
		a.Refund(leaf, p.at, p.committed, p.amount)
	default:
		a.Draw(leaf, p.at, p.amount)
	}
}

// Budgets whose file changes equal fresh ones of the last file that are told
// everything, as long as what an earlier period carried over was the same.
func TestAccountsRebaseEqualsReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Amounts may change where all happens in one period, or nothing is carried over.
		carry := rapid.SampledFrom([]string{"none", "all", "50%"}).Draw(t, "carry-over")
		length := rapid.SampledFrom([]int64{20, 100}).Draw(t, "hours")
		free := length == 20 // the first of several periods of a day
		amount, credits := map[string]int64{"root": 500, "p": 200, "a": 100}, []string{}
		file := func() *Tree {
			if free {
				for _, k := range []string{"root", "p", "a"} {
					amount[k] = rapid.Int64Range(0, 1000).Draw(t, k)
				}
			}
			text := fmt.Sprintf("budget: {gpuHours: %d, per: day, carryOver: %s}\nchildren:\n  - name: p\n    share: 1\n    budget: {gpuHours: %d, per: week, carryOver: %s}\n    children:\n"+
				"      - {name: a, share: %d, budget: {gpuHours: %d, per: day, carryOver: %s}}\n      - {name: b, share: 1}\n  - {name: q, share: 1}\n",
				amount["root"], carry, amount["p"], carry, rapid.IntRange(1, 3).Draw(t, "share"), amount["a"], carry)
			if len(credits) > 0 {
				text += "credits:\n" + strings.Join(credits, "")
			}
			tree, err := Parse("b.yaml", []byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			return tree
		}
		open := func(tree *Tree) *Accounts {
			a, err := NewAccounts(tree, workload.Unknown, 0)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		a := open(file())
		var all []paid
		for now := int64(0); now < length*hour; now += rapid.Int64Range(0, 10).Draw(t, "pause") * hour {
			switch kind := rapid.IntRange(0, 4).Draw(t, "what"); kind {
			case 3, 4: // a credit: backdated within the day, at once or to come; the amounts are even, so that halves are whole
				at := max(now+rapid.Int64Range(-3, 30).Draw(t, "when")*hour, now/workload.Day*workload.Day)
				credits = append(credits, fmt.Sprintf("  - {at: %dh, account: %s, gpuHours: %d, by: ana}\n", at/hour, rapid.SampledFrom([]string{"/", "p", "a"}).Draw(t, "account"), rapid.Int64Range(-9, 9).Draw(t, "hours")*10+1))
				if kind == 4 && free {
					credits = slices.Delete(credits, 0, 1)
				}
				var err error
				if a, err = a.Rebase(file(), now); err != nil {
					t.Fatal(err)
				}
			default:
				p := paid{at: now, committed: now, kind: kind, amount: rapid.Int64Range(-20, 90).Draw(t, "amount") * GPUHour, leaf: rapid.SampledFrom([]string{"a", "b", "q"}).Draw(t, "leaf")}
				switch kind {
				case 1:
					p.committed = rapid.Int64Range(0, now).Draw(t, "committed")
				case 2:
					p.amount /= hour
				}
				p.tell(t, a)
				all = append(all, p)
			}
			fresh := open(a.tree)
			for i := range all {
				all[i].tell(t, fresh)
			}
			for _, at := range []int64{now, now + hour, now + 2*workload.Day} {
				for n := range a.tree.Nodes {
					got, limited := a.Left(int32(n), at)
					want, _ := fresh.Left(int32(n), at)
					if off := got - want; limited && (off < -8 || off > 8 || free && off != 0) { // carried over one by one, rounded each
						t.Fatalf("%s at %d (now %d): %d left, want %d", a.tree.Nodes[n].Path, at, now, got, want)
					}
				}
			}
		}
	})
}

func TestAccountsRebase(t *testing.T) {
	before := parse(t, `
children:
  - name: p
    share: 1
    budget: {gpuHours: 100, per: day, carryOver: 50%}
    children: [{name: a, share: 1}, {name: b, share: 1, budget: {gpuHours: 10, per: day}}]
  - {name: q, share: 1}
`)
	a, err := NewAccounts(before, workload.Unknown, 0)
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(tree *Tree, name string) int32 {
		i, ok := tree.Find(name)
		if !ok {
			t.Fatal(name)
		}
		return i
	}
	a.Draw(leaf(before, "a"), 0, 1000)
	a.Draw(leaf(before, "b"), 0, 2000)
	a.Commit(leaf(before, "q"), hour, 9*GPUHour) // nothing limits it yet
	// p takes its accounts' work over, at 30 h: 100 - 72 = 28 left, of which 14 are
	// carried over, then 6 h at 3 GPUs. q is limited from now on.
	after := parse(t, `
children:
  - {name: p, share: 1, budget: {gpuHours: 120, per: week, carryOver: 50%}}
  - {name: q, share: 1, budget: {gpuHours: 50, per: day}}
credits:
  - {at: 29h, account: p, gpuHours: 7, by: ana}
  - {at: 31h, account: p, gpuHours: 1, by: ana}
  - {at: 1h, account: q, gpuHours: 3, by: ana}
  - {at: 25h, account: q, gpuHours: 4, by: ana}
`)
	a, err = a.Rebase(after, 30*hour)
	if err != nil {
		t.Fatal(err)
	}
	left := func(name string, at workload.Time) int64 {
		l, limited := a.Left(leaf(a.tree, name), at)
		if !limited {
			t.Errorf("%s is not limited", name)
		}
		return l
	}
	for _, tc := range []struct {
		name string
		at   workload.Time
		want int64
	}{{"p", 30 * hour, 100 + 14 - 18 + 20 + 7}, {"p", 32 * hour, 100 + 14 - 24 + 20 + 8}, {"q", 30 * hour, 54}} {
		if got := left(tc.name, tc.at); got != tc.want*GPUHour {
			t.Errorf("%s has %g left at %d h, want %d", tc.name, float64(got)/float64(GPUHour), tc.at/hour, tc.want)
		}
	}
	a.Refund(leaf(after, "q"), 30*hour, hour, 5*GPUHour)
	if got := left("q", 30*hour); got != 54*GPUHour {
		t.Errorf("what was not taken from q is given back to it: %g", float64(got)/float64(GPUHour))
	}
	// A credit that is dated in an earlier day counts with what that day carried over.
	daily := "children: [{name: x, share: 1, budget: {gpuHours: 100, per: day, carryOver: 50%}}]\n"
	a, err = NewAccounts(parse(t, daily), workload.Unknown, 0)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = a.Rebase(parse(t, daily+"credits: [{at: 1h, account: x, gpuHours: 40, by: ana}]"), 50*hour); err != nil {
		t.Fatal(err)
	}
	if got := left("x", 50*hour); got != (100+50+25+10)*GPUHour {
		t.Errorf("%g left, want 185", float64(got)/float64(GPUHour))
	}
	if a, err = a.Rebase(parse(t, daily), 51*hour); err != nil {
		t.Fatal(err)
	}
	if got := left("x", 51*hour); got != 175*GPUHour {
		t.Errorf("%g left without the credit, want 175", float64(got)/float64(GPUHour))
	}
	if _, err := a.Rebase(parse(t, daily+"credits: [{at: 2026-01-01, account: x, gpuHours: 1, by: ana}]"), 52*hour); err == nil {
		t.Error("a date is taken without a calendar")
	}
}
