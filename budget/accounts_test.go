package budget

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/workload"
)

const hour = workload.Hour

// R52: a team has 100 GPU-hours a month and no carry-over. J1 (10 GPUs, 8 h) takes 80
// at 0; at 8 h J2 (10 GPUs, 4 h) needs 40.
func TestExhaustion(t *testing.T) {
	for _, tc := range []struct {
		rule, credit string
		want         Answer
		left         int64 // GPU-hours when J2 has ended
	}{
		{rule: "refuse", want: Answer{Rule: Refuse, Account: 1, Need: 40, Left: 20}, left: 20},
		{rule: "unallocated", want: Answer{Rule: RunUnallocated, Account: 1, Need: 40, Left: 20}, left: 20},
		{rule: "unallocated", credit: "7h", want: Answer{OK: true, Account: none, Need: 40, MinRuntime: 4 * hour}, left: 30},
		{rule: "truncate", want: Answer{Rule: Truncate, Account: 1, Need: 40, Left: 20, MinRuntime: 2 * hour}, left: 0},
	} {
		t.Run(tc.rule+tc.credit, func(t *testing.T) {
			text := "children: [{name: team, share: 1, budget: {gpuHours: 100, per: month, onExhaustion: " + tc.rule + "}}]\n"
			if tc.credit != "" {
				text += "credits: [{at: " + tc.credit + ", account: team, gpuHours: 50, by: ana}]\n"
			}
			// 1 March 2026 is time 0.
			a, err := NewAccounts(parse(t, text), 1_772_323_200_000, 0)
			if err != nil {
				t.Fatal(err)
			}
			const milli = 10_000
			j1 := a.Ask(1, 0, milli, 8*hour)
			if !j1.OK || j1.Need != 80*GPUHour {
				t.Fatalf("J1: %+v", j1)
			}
			a.Commit(1, 0, j1.Need)
			got := a.Ask(1, 8*hour, milli, 4*hour)
			tc.want.Need, tc.want.Left = tc.want.Need*GPUHour, tc.want.Left*GPUHour
			if got != tc.want {
				t.Errorf("J2: %+v, want %+v", got, tc.want)
			}
			a.Commit(1, 8*hour, milli*got.MinRuntime)
			if !got.OK && got.MinRuntime > 0 {
				end := 8*hour + got.MinRuntime
				a.Draw(1, end, milli)
				if !a.Exhausted(1, end) {
					t.Error("J2 does not become unallocated when its paid time ends")
				}
				a.Draw(1, end, -milli)
			}
			left, _ := a.Left(1, 12*hour)
			if left != tc.left*GPUHour {
				t.Errorf("%d milli-GPU x ms are left, want %d GPU-h", left, tc.left)
			}
			april := 31 * workload.Day
			if left, _ := a.Left(1, april-1); left != tc.left*GPUHour {
				t.Errorf("at the end of the month %d are left", left)
			}
			if left, _ := a.Left(1, april); left != 100*GPUHour {
				t.Errorf("the next month begins with %d, want 100 GPU-h", left)
			}
		})
	}
}

// Without a calendar a month is 30 days from time 0.
func TestPeriodsWithoutCalendar(t *testing.T) {
	for _, tc := range []struct {
		p              Period
		at, start, end workload.Time
	}{
		{Daily, 0, 0, 1}, {Daily, workload.Day - 1, 0, 1}, {Daily, workload.Day, 1, 2}, {Daily, -1, -1, 0},
		{Weekly, 8 * workload.Day, 7, 14}, {Monthly, 30 * workload.Day, 30, 60}, {Quarterly, 89 * workload.Day, 0, 90}, {Yearly, -1, -360, 0},
	} {
		start, end := tc.p.Bounds(workload.Unknown, tc.at)
		if start != tc.start*workload.Day || end != tc.end*workload.Day {
			t.Errorf("%s of %d is %d..%d, want day %d..%d", tc.p, tc.at, start, end, tc.start, tc.end)
		}
	}
}

func TestPeriodsOfTheCalendar(t *testing.T) {
	const epoch = 1_709_208_000_000 // 29 February 2024, 12:00, a Thursday
	noon := -12 * hour
	for _, tc := range []struct {
		p          Period
		start, end int64 // days from that day
	}{{Daily, 0, 1}, {Weekly, -3, 4}, {Monthly, -28, 1}, {Quarterly, -59, 32}, {Yearly, -59, 307}} {
		for _, at := range []workload.Time{tc.start*workload.Day + noon, 0, tc.end*workload.Day + noon - 1} {
			start, end := tc.p.Bounds(epoch, at)
			if start != tc.start*workload.Day+noon || end != tc.end*workload.Day+noon {
				t.Errorf("%s of %d is %d..%d, want day %d..%d", tc.p, at, start, end, tc.start, tc.end)
			}
		}
	}
}

func TestCarryOver(t *testing.T) {
	for rule, want := range map[string][]int64{ // GPU-hours left on days 0, 1, 2, 3; 40 are taken on day 0, 250 on day 2
		"none":  {60, 100, -150, 100},
		"all":   {60, 160, 10, 110},
		`"50%"`: {60, 130, -85, 57}, // 65 + 100 - 250, half of the debt is kept: 57.5
	} {
		tree := parse(t, "children: [{name: x, share: 1, budget: {gpuHours: 100, per: day, carryOver: "+rule+"}}]")
		a, err := NewAccounts(tree, workload.Unknown, 0)
		if err != nil {
			t.Fatal(err)
		}
		a.Commit(1, 0, 40*GPUHour)
		var got []int64
		for day := range int64(4) {
			if day == 2 {
				a.Commit(1, day*workload.Day, 250*GPUHour)
			}
			left, _ := a.Left(1, day*workload.Day+1)
			if rest := left % GPUHour; rest != 0 && rest != GPUHour/2 {
				t.Errorf("%s: a rest of %d", rule, rest)
			}
			got = append(got, left/GPUHour)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: left %v, want %v", rule, got, want)
		}
	}
}

const budgetsFile = `
budget: {gpuHours: 1000, per: year, onExhaustion: truncate}
children:
  - name: p
    share: 1
    budget: {gpuHours: 100, per: month, carryOver: 50%, onExhaustion: unallocated}
    children: [{name: a, share: 1, budget: {gpuHours: 50, per: day, carryOver: all, onExhaustion: refuse}}, {name: b, share: 1}]
  - {name: q, share: 1}
credits:
  - {at: 3d, account: p, gpuHours: -40, by: ana}
  - {at: 1h, account: p, gpuHours: 7, by: ana}
  - {at: 60d, account: p, gpuHours: 11, by: ana}
`

func openBudgets(t testing.TB, start workload.Time) *Accounts {
	a, err := NewAccounts(parse(t, budgetsFile), workload.Unknown, start)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The strictest rule among the budgets that are short decides: p cannot pay 120 and
// would run it unallocated, a cannot pay 60 and refuses.
func TestAskWalksUp(t *testing.T) {
	a := openBudgets(t, 0)
	for _, tc := range []struct {
		leaf  int32
		hours int64
		want  Answer
	}{
		{2, 50, Answer{OK: true, Account: none, MinRuntime: 50 * hour}},
		{2, 60, Answer{Rule: Refuse, Account: 2, Left: 50}},
		{2, 2000, Answer{Rule: Refuse, Account: 2, Left: 50}},
		{3, 100, Answer{OK: true, Account: none, MinRuntime: 100 * hour}},
		{3, 101, Answer{Rule: RunUnallocated, Account: 1, Left: 100}},
		{3, 2000, Answer{Rule: RunUnallocated, Account: 1, Left: 100}},
		{4, 1500, Answer{Rule: Truncate, Account: 0, Left: 1000, MinRuntime: 1000 * hour}},
		{3, 0, Answer{OK: true, Account: none}},
	} {
		tc.want.Need, tc.want.Left = tc.hours*GPUHour, tc.want.Left*GPUHour
		if got := a.Ask(tc.leaf, 0, 1000, tc.hours*hour); got != tc.want {
			t.Errorf("leaf %d asks for %d GPU-h: %+v, want %+v", tc.leaf, tc.hours, got, tc.want)
		}
	}
	if _, limited := a.Left(4, 0); limited {
		t.Error("q has a budget")
	}
	a.Commit(2, 0, 10*GPUHour)
	for node, want := range map[int32]int64{0: 990, 1: 90, 2: 40} {
		if left, _ := a.Left(node, 0); left != want*GPUHour {
			t.Errorf("node %d has %d left, want %d GPU-h", node, left, want)
		}
	}
}

func TestCreditsComeAtTheirTime(t *testing.T) {
	a := openBudgets(t, 0)
	for _, tc := range []struct{ at, want int64 }{{0, 100}, {hour - 1, 100}, {hour, 107}, {3*workload.Day - 1, 107}, {3 * workload.Day, 67},
		{30*workload.Day - 1, 67}, {30 * workload.Day, 133}, {60 * workload.Day, 177}} { // 133.5, then 66.75 + 100 + 11
		if left, _ := a.Left(1, tc.at); left/GPUHour != tc.want {
			t.Errorf("at %d: %g GPU-h left, want %d", tc.at, float64(left)/float64(GPUHour), tc.want)
		}
	}
	if left, _ := openBudgets(t, 40*workload.Day).Left(1, 40*workload.Day); left != 100*GPUHour {
		t.Errorf("credits of an earlier period count: %d", left)
	}
	if left, _ := openBudgets(t, 4*workload.Day).Left(1, 4*workload.Day); left != 67*GPUHour {
		t.Errorf("earlier credits of the same period do not count: %d", left)
	}
	dated := parse(t, "children: [{name: x, share: 1, budget: {gpuHours: 1, per: day}}]\ncredits: [{at: 2026-01-01, account: x, gpuHours: 1, by: ana}]")
	if _, err := NewAccounts(dated, workload.Unknown, 0); err == nil || !strings.Contains(err.Error(), "no calendar") {
		t.Errorf("error of a date without a calendar: %v", err)
	}
}

func TestRefund(t *testing.T) {
	a := openBudgets(t, 0)
	a.Commit(2, 0, 40*GPUHour)
	a.Refund(2, 2*hour, 0, 30*GPUHour)
	for node, want := range map[int32]int64{0: 990, 1: 97, 2: 40} {
		if left, _ := a.Left(node, 2*hour); left != want*GPUHour {
			t.Errorf("same period: node %d has %d left, want %d GPU-h", node, left, want)
		}
	}
	// Given back after two months: of the 10 the year gets all, the month a quarter,
	// the day (it carries all over) all.
	before := []int64{}
	for node := range int32(3) {
		left, _ := a.Left(node, 61*workload.Day)
		before = append(before, left)
	}
	a.Refund(2, 61*workload.Day, 0, 10*GPUHour)
	for node, want := range map[int32]int64{0: 10 * GPUHour, 1: 10 * GPUHour / 4, 2: 10 * GPUHour} {
		if left, _ := a.Left(node, 61*workload.Day); left-before[node] != want {
			t.Errorf("later period: node %d got %d back, want %d", node, left-before[node], want)
		}
	}
}

func TestDrawRunsOut(t *testing.T) {
	a := openBudgets(t, 0)
	if got := a.Next(4, 5); got != 360*workload.Day {
		t.Errorf("q is looked at again at %d", got)
	}
	a.Draw(3, 2*hour, 40_000) // 107 GPU-h at 40 GPUs: 2 h 40 min 30 s
	want := 2*hour + 2*hour + 40*workload.Minute + 30*workload.Second
	if got := a.Next(3, 2*hour); got != want {
		t.Errorf("exhausted at %d, want %d", got, want)
	}
	if a.Exhausted(3, want-1) || !a.Exhausted(3, want) {
		t.Error("exhausted at another time than Next says")
	}
	if got := openBudgets(t, 0).Next(2, 0); got != hour {
		t.Errorf("the next credit is not waited for: %d", got)
	}
	if got := openBudgets(t, 0).Next(3, 30*workload.Day-1); got != 30*workload.Day {
		t.Errorf("the next period is not waited for: %d", got)
	}
	free := parse(t, "children: [{name: x, share: 1}]")
	none, err := NewAccounts(free, workload.Unknown, 0)
	if err != nil || none.Next(1, 0) != workload.Never || none.Exhausted(1, 0) {
		t.Error("an account without a budget is limited")
	}
}

// Accounts equal a naive walk through every millisecond.
func TestAccountsEqualStepping(t *testing.T) {
	const day = 50 // stretched: the naive walk uses periods of 50 ms
	lengthsBefore := lengths
	lengths[Daily] = day
	defer func() { lengths = lengthsBefore }()
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.SampledFrom([]int64{0, 50, 100}).Draw(t, "carry-over")
		hard := &Hard{GPUTime: rapid.Int64Range(0, 9999).Draw(t, "budget"), Per: Daily, CarryOver: percent}
		tree := &Tree{Nodes: []Node{{Parent: -1, Children: []int32{1}}, {Parent: 0, Budget: hard}}}
		credit := map[int64]int64{}
		for range rapid.IntRange(0, 5).Draw(t, "credits") {
			c := Credit{Account: 1, At: rapid.Int64Range(0, 300).Draw(t, "at"), GPUTime: rapid.Int64Range(-5000, 5000).Draw(t, "credit")}
			tree.Credits = append(tree.Credits, c)
			credit[c.At] += c.GPUTime
		}
		a, err := NewAccounts(tree, workload.Unknown, 0)
		if err != nil {
			t.Fatal(err)
		}
		left, rate := hard.GPUTime+credit[0], int64(0)
		for now := int64(0); now < 300; now++ {
			if now > 0 {
				left -= rate
				if now%day == 0 {
					left = hard.carry(left) + hard.GPUTime
				}
				left += credit[now]
			}
			if rapid.IntRange(0, 9).Draw(t, "what") > 0 {
				continue
			}
			if got, _ := a.Left(1, now); got != left {
				t.Fatalf("at %d: %d left, want %d", now, got, left)
			}
			if rapid.Bool().Draw(t, "draw") {
				delta := rapid.Int64Range(-rate, 100).Draw(t, "delta")
				rate += delta
				a.Draw(1, now, delta)
			} else {
				amount := rapid.Int64Range(-100, 3000).Draw(t, "amount")
				left -= amount
				a.Commit(1, now, amount)
			}
		}
	})
}

func TestSaturation(t *testing.T) {
	const top = 1<<63 - 1
	for _, tc := range []struct{ got, want int64 }{
		{satAdd(top, 1), top}, {satAdd(-top, -top), -top}, {satAdd(top, -top), 0}, {satMul(top, 2), top}, {satMul(top, -2), -top},
		{satMul(1<<32, 1<<32), top}, {satMul(3, 5), 15}, {satMul(0, top), 0},
	} {
		if tc.got != tc.want {
			t.Errorf("got %d, want %d", tc.got, tc.want)
		}
	}
}
