package budget

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/workload"
)

func (s Sum) big() *big.Int {
	b := new(big.Int).SetUint64(s.hi)
	return b.Or(b.Lsh(b, 64), new(big.Int).SetUint64(s.lo))
}

// Owed equals a naive sum, hour by hour, over the steps that were told.
func TestOwedEqualsHourByHour(t *testing.T) {
	tree := parse(t, smallFile)
	rapid.Check(t, func(t *rapid.T) {
		type told struct {
			what    int // 0 usable, 1 demand, 2 charged
			account int32
			at      workload.Time
			milli   int64
		}
		start := rapid.Int64Range(-3, 3).Draw(t, "start")*20*workload.Minute + rapid.Int64Range(0, 5).Draw(t, "and")
		lookback := rapid.Int64Range(0, 5).Draw(t, "look-back")
		o := NewOwed(tree, start, lookback*workload.Hour)
		now := start
		var all []told
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.SampledFrom([]int64{0, 1, 7, 20 * workload.Minute, workload.Hour, 3*workload.Hour + 1}).Draw(t, "pause")
			e := told{rapid.IntRange(0, 2).Draw(t, "what"), rapid.Int32Range(0, int32(len(tree.Reported)-1)).Draw(t, "account"), now, rapid.Int64Range(0, 9999).Draw(t, "milli")}
			all = append(all, e)
			switch e.what {
			case 0:
				o.Usable(e.at, e.milli)
			case 1:
				o.Demand(e.account, e.at, e.milli)
			case 2:
				o.Charged(e.account, e.at, e.milli)
			}
		}
		end := now + rapid.Int64Range(0, 2*workload.Hour).Draw(t, "end")
		// integral of one quantity over [from, to)
		area := func(what int, account int32, from, to workload.Time) int64 {
			var sum, value int64
			at := from
			for _, e := range all {
				if e.what != what || what > 0 && e.account != account || e.at >= to {
					continue
				}
				if e.at > at {
					sum += value * (e.at - at)
					at = e.at
				}
				value = e.milli
			}
			return sum + value*(to-at)
		}
		for account, got := range o.Results(end) {
			num, den := tree.ProductShare(tree.Reported[account])
			var demand, owed, charged, strict int64
			missed := map[int64]int64{}
			for h := floorHour(start); h*workload.Hour < end; h++ {
				from, to := max(h*workload.Hour, start), min((h+1)*workload.Hour, end)
				u, d, c := area(0, 0, from, to), area(1, int32(account), from, to), area(2, int32(account), from, to)
				w := min(u*int64(num)/int64(den), d)
				demand, owed, charged, strict = demand+d, owed+w, charged+c, strict+min(c, w)
				missed[h] = max(w-c, 0)
				for back, surplus := h-lookback, max(c-w, 0); back < h; back++ {
					n := min(surplus, missed[back])
					missed[back], surplus, strict = missed[back]-n, surplus-n, strict+n
				}
			}
			want := Due{Node: tree.Reported[account], Demand: sumOf(demand), Owed: sumOf(owed), Charged: sumOf(charged), Delivered: sumOf(min(charged, owed)), Strict: sumOf(strict)}
			if got != want {
				t.Fatalf("account %d: %+v, want %+v", account, got, want)
			}
			if got.Strict.Cmp(got.Delivered) > 0 {
				t.Fatalf("account %d: the strict form is more than delivered", account)
			}
		}
		if again := o.Results(end); again[0] != o.Results(end)[0] {
			t.Fatal("reading changes the results")
		}
	})
}

func sumOf(v int64) Sum { return Sum{lo: uint64(v)} }

// R43: in an hour with 4 of 8 GPUs usable, a team of half the share that asks for 4
// is owed 2 GPU-hours.
func TestOwedOfHalfACluster(t *testing.T) {
	tree := parse(t, "children: [{name: A, share: 1}, {name: B, share: 1}]")
	o := NewOwed(tree, 0, 168*workload.Hour)
	o.Usable(0, 8000)
	o.Demand(1, 0, 4000)
	o.Charged(1, 0, 4000)
	o.Usable(workload.Hour, 4000)
	o.Charged(1, workload.Hour, 0)
	b := o.Results(2 * workload.Hour)[1]
	if b.Owed.GPUHours() != 6 || b.Charged.GPUHours() != 4 || b.Delivered.GPUHours() != 4 || b.Demand.GPUHours() != 8 {
		t.Errorf("B: owed %g, charged %g, delivered %g, demand %g", b.Owed.GPUHours(), b.Charged.GPUHours(), b.Delivered.GPUHours(), b.Demand.GPUHours())
	}
	all := Total(o.Results(2 * workload.Hour))
	if all.Owed.GPUHours() != 6 || all.Node != -1 {
		t.Errorf("in total %+v", all)
	}
}

func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Sum {
			return Sum{rapid.Uint64Range(0, 1<<62).Draw(t, name+" high"), rapid.Uint64().Draw(t, name+" low")}
		}
		a, b := draw("a"), draw("b")
		s := a
		s.add(b)
		if s.big().Cmp(new(big.Int).Add(a.big(), b.big())) != 0 {
			t.Fatal("sum is wrong")
		}
		if a.Cmp(b) != a.big().Cmp(b.big()) || smaller(a, b).big().Cmp(a.big()) > 0 {
			t.Fatal("comparison is wrong")
		}
	})
	if !(Sum{}).Zero() || (Sum{lo: uint64(GPUHour)}).GPUHours() != 1 {
		t.Error("zero or one GPU-hour is not what it should be")
	}
}
