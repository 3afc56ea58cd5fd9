package metrics

import "github.com/escala-sched/escala/workload"

// Grouping is what fairness is measured over.
type Grouping uint8

// Groupings.
const (
	ByTeam Grouping = iota
	ByPartition
	ByUser
)

var groupingNames = [...]string{"team", "partition", "user"}

// String returns the grouping as reports spell it.
func (g Grouping) String() string { return groupingNames[g] }

func (g Grouping) key(j *workload.Job) string {
	switch g {
	case ByPartition:
		return j.Partition
	case ByUser:
		return j.User
	}
	return j.Team
}

// GroupingOf returns the first of team, partition and user that tells the jobs
// of w apart, and ByTeam where none does.
func GroupingOf(w *workload.Workload) Grouping {
	for _, g := range []Grouping{ByTeam, ByPartition, ByUser} {
		for i := range w.Jobs {
			if g.key(&w.Jobs[i]) != g.key(&w.Jobs[0]) {
				return g
			}
		}
	}
	return ByTeam
}

// group holds the integrals of one group over the window.
type group struct {
	name string
	// assigned is GPU-time its jobs and applications had, over what these held and did
	// not serve with; waited what its waiting jobs asked for, and its applications lacked.
	assigned, over, waited area
}

// delivered is the GPU-time that was of use, and the part that it is of what was demanded.
func (g *group) delivered() (got, asked float64) {
	got = g.assigned.minus(g.over).float()
	return got, got + g.waited.float()
}

// served books the run of j that ends at the given time.
func (g *group) served(j *jobState, at, from, to workload.Time) {
	g.assigned.add(j.milli, overlap(j.start, at, from, to))
}

type groupTable struct {
	index map[string]int32
	rows  []group
}

func (t *groupTable) of(name string) int32 {
	if i, ok := t.index[name]; ok {
		return i
	}
	i := int32(len(t.rows))
	t.index[name] = i
	t.rows = append(t.rows, group{name: name})
	return i
}

// jain is Jain's index (sum x)^2 / (n sum x^2) over the groups that had any
// demand, x = delivered / demanded GPU-time (Jain, Chiu & Hawe, DEC-TR-301, 1984).
// 1 = all groups got the same part of what they asked for, 1/n = one got all.
// Nobody asked, or nobody got anything: 1, all are treated alike.
func jain(rows []group) (index float64, n int) {
	var sum, squares float64
	for i := range rows {
		got, asked := rows[i].delivered()
		if asked == 0 {
			continue
		}
		x := got / asked
		sum += x
		squares += x * x
		n++
	}
	if squares == 0 {
		return 1, n
	}
	return sum * sum / (float64(n) * squares), n
}
