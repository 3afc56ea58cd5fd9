package trace

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// labTeam is one of those who share the cluster.
type labTeam struct {
	number, program int
	name            string
	permille        int // of the cluster
	share           float64
	// appetite and curiosity: allocated and unallocated work asked for over what the
	// share is of it.
	appetite, curiosity float64
	users, experiments  []string
	userCum, projectCum []float64
	office, evening     labClock
	night               labClock
	sweeps              int
	jobs                [len(labKindNames)]int
	asked               [len(labKindNames)]int64
	labels              map[labLabel]map[string]string
}

// found makes the teams, largest first, with their people.
func (l *lab) found() {
	o := &l.o
	shares := labShares(o.Teams)
	weight := make([]float64, o.Teams)
	for i, s := range shares {
		weight[i] = float64(s)
	}
	people := deal(o.Researchers, weight)
	width, wide := len(strconv.Itoa(o.Teams)), len(strconv.Itoa(o.Researchers))
	// The teams that are bursty come first in one order of all, so that one more
	// bursty team leaves the others as they are.
	bursty := l.stream(o.Teams, labTraits).Perm(o.Teams)[:o.BurstyTeams]
	var hunger, curiosity float64
	person := 0
	for i := range o.Teams {
		rng := l.stream(i, labTraits)
		t := labTeam{
			number: i, program: i % o.Programs, name: fmt.Sprintf("team-%0*d", width, i+1),
			permille: shares[i], share: float64(shares[i]) / 1000,
			appetite: trait(rng), curiosity: trait(rng), labels: map[labLabel]map[string]string{},
		}
		for range people[i] {
			person++
			t.users = append(t.users, fmt.Sprintf("r%0*d", wide, person))
		}
		for n := range 3 + people[i]/2 {
			t.experiments = append(t.experiments, t.name+"-x"+itoa(n+1))
		}
		t.userCum, t.projectCum = zipf(len(t.users)), zipf(len(t.experiments))
		even := slices.Repeat([]float64{1}, o.Days)
		days := burstyDays(rng, o.Days)
		if !slices.Contains(bursty, i) {
			days = even
		}
		t.office, t.evening, t.night = newLabClock(days, 14, 0.85, 0.3), newLabClock(days, 18, 0.5, 0.6), newLabClock(even, 20, 0.4, 0.7)
		hunger += t.share * t.appetite
		curiosity += t.share * t.curiosity
		l.teams = append(l.teams, t)
	}
	for i := range l.teams {
		l.teams[i].appetite /= hunger
		l.teams[i].curiosity /= curiosity
	}
}

// trait is how much more or less than its share a team asks for.
func trait(rng *rand.Rand) float64 { return logNormal(rng, 1, 0.25, 0.7, 1.4) }

// labShares are shares in thousandths that fall from 14 % to 2 % among 15 teams, and
// on the same curve among others.
func labShares(n int) []int {
	curve := make([]float64, n)
	for i := range curve {
		curve[i] = 2 + 12*math.Pow(1-float64(i)/float64(max(n-1, 1)), 1.625)
	}
	return deal(1000, curve)
}

// deal cuts total into whole parts in proportion to a curve, none of them 0. The
// largest remainders are rounded up.
func deal(total int, curve []float64) []int {
	var sum, above float64
	for _, c := range curve {
		sum += c
	}
	exact, parts, order := make([]float64, len(curve)), make([]int, len(curve)), make([]int, len(curve))
	for i, c := range curve {
		exact[i] = max(float64(total)*c/sum-1, 0) // each has one already
		above += exact[i]
	}
	rest := total - len(curve)
	given := 0
	for i := range exact {
		if above > 0 {
			exact[i] *= float64(rest) / above
		}
		parts[i] = 1 + int(exact[i])
		given += parts[i] - 1
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(exact[b]-math.Floor(exact[b]), exact[a]-math.Floor(exact[a]))
	})
	for k := range rest - given {
		parts[order[k%len(order)]]++
	}
	return parts
}

// burstyDays are weights of days: 4 to 9 quiet ones, then a burst of 2 to 4.
func burstyDays(rng *rand.Rand, n int) []float64 {
	const quiet = 0.05
	skip := rng.IntN(7) // teams are not in step
	var days []float64
	for len(days) < skip+n {
		for range 4 + rng.IntN(6) {
			days = append(days, quiet)
		}
		for range 2 + rng.IntN(3) {
			days = append(days, 1)
		}
	}
	return days[skip : skip+n]
}

// labClock says when a team submits: the sum of the rate up to each hour.
type labClock []float64

// newLabClock has a rate with a peak at an hour of the day, a swing around its mean,
// and a part of it at weekends.
func newLabClock(days []float64, peak, swing, weekend float64) labClock {
	c := make(labClock, 1, len(days)*24+1)
	for d, day := range days {
		if d%7 >= 5 {
			day *= weekend
		}
		for h := range 24 {
			rate := day * (1 + swing*math.Cos((float64(h)+0.5-peak)/24*2*math.Pi))
			c = append(c, c[len(c)-1]+rate)
		}
	}
	return c
}

// at is the second at which the part u of all is submitted.
func (c labClock) at(u float64) int64 {
	x := u * c[len(c)-1]
	h := min(max(sort.SearchFloat64s(c, x), 1), len(c)-1) - 1
	return min(int64((float64(h)+(x-c[h])/(c[h+1]-c[h]))*3600), int64(h)*3600+3599)
}

// zipf sums Zipf's law: the first is drawn most often.
func zipf(n int) []float64 {
	cum := make([]float64, n)
	var sum float64
	for i := range cum {
		sum += math.Pow(float64(i+1), -labTail)
		cum[i] = sum
	}
	return cum
}

func fromCum(rng *rand.Rand, cum []float64) int {
	return min(sort.SearchFloat64s(cum, rng.Float64()*cum[len(cum)-1]), len(cum)-1)
}

func (t *labTeam) userOf(rng *rand.Rand) int       { return fromCum(rng, t.userCum) }
func (t *labTeam) experimentOf(rng *rand.Rand) int { return fromCum(rng, t.projectCum) }

// labLabel is what jobs of equal labels have in common.
type labLabel struct {
	kind       labKind
	experiment string
	claim      int
}

// label returns the labels of a job; equal ones share a map.
func (t *labTeam) label(kind labKind, experiment string, claim int) map[string]string {
	key := labLabel{kind, experiment, claim}
	m, ok := t.labels[key]
	if !ok {
		m = map[string]string{"kind": labKindNames[kind], "team": t.name, "experiment": experiment, "legacy-priority": labClaimNames[claim]}
		if kind == labSquat {
			m["squat"] = "yes"
		}
		t.labels[key] = m
	}
	return m
}

// budgets writes the tree of shares as docs/budgets.md has it.
func (l *lab) budgets() []byte {
	var b strings.Builder
	b.WriteString("name: lab\nlevels: [organisation, program, team]\nreportLevel: team\nchildren:\n")
	for p := range l.o.Programs {
		sum := 0
		for i := p; i < len(l.teams); i += l.o.Programs {
			sum += l.teams[i].permille
		}
		fmt.Fprintf(&b, "  - name: program-%d\n    share: %s\n    managers: [%s]\n    children:\n", p+1, tenths(sum), l.teams[p].users[0])
		for i := p; i < len(l.teams); i += l.o.Programs {
			t := &l.teams[i]
			fmt.Fprintf(&b, "      - name: %s\n        share: %s\n        managers: [%s]\n        users: [%s]\n", t.name, tenths(t.permille), t.users[0], strings.Join(t.users, ", "))
		}
	}
	return []byte(b.String())
}

// tenths writes thousandths as percent.
func tenths(n int) string {
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/10, 'f', 1, 64), ".0")
}
