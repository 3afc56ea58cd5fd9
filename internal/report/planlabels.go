package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// planLabels are the letters and colours of jobs and applications: the same in every
// plan of a report, so that one can be found again in the other.
type planLabels struct {
	// job and app are short labels by index; "" for a job that no plan places.
	job, app []string
	// shade is the shade of a job within its kind's colours.
	shade []int
	// order lists the placed jobs as labelled.
	order []int
	// width is the length of the longest label.
	width int
}

// planShades is the number of shades of a kind's colour.
const planShades = 6

// planLetters leaves out what looks like something else: I, l, O, o.
const planLetters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz"

// labelled gives labels in order of start in the first plan, then in the second.
func (r *PlanReport) labelled() *planLabels {
	q := r.Problem
	l := &planLabels{job: make([]string, len(q.Jobs)), app: make([]string, len(q.Apps)), shade: make([]int, len(q.Jobs)), width: 1}
	seen := make([]bool, len(q.Jobs))
	for _, p := range r.Plans {
		for _, s := range byStart(p.Plan) {
			if !seen[s.Job] {
				seen[s.Job] = true
				l.order = append(l.order, s.Job)
			}
		}
	}
	letters := 1
	for n := len(planLetters); n < len(l.order); n *= len(planLetters) {
		letters++
	}
	for i, j := range l.order {
		l.job[j] = letterLabel(i, letters)
		l.width = letters
	}
	for i := range l.app {
		l.app[i] = strconv.Itoa(i + 1)
		l.width = max(l.width, len(l.app[i]))
	}
	l.paint(r)
	return l
}

func letterLabel(i, letters int) string {
	b := make([]byte, letters)
	for k := letters - 1; k >= 0; k-- {
		b[k] = planLetters[i%len(planLetters)]
		i /= len(planLetters)
	}
	return string(b)
}

func byStart(p *horizon.Plan) []horizon.Stretch {
	list := slices.Clone(p.Placed)
	slices.SortStableFunc(list, func(a, b horizon.Stretch) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Offset, b.Offset))
	})
	return list
}

// paint gives each job a shade that no neighbour of its kind has, in any plan, as far as
// the shades go.
func (l *planLabels) paint(r *PlanReport) {
	near := make([][]int, len(l.job))
	for _, p := range r.Plans {
		placed := byStart(p.Plan)
		for i := range placed {
			a := &placed[i]
			for k := i + 1; k < len(placed) && placed[k].Start <= a.End(); k++ {
				if b := &placed[k]; a.Job != b.Job && touch(a, b) {
					near[a.Job], near[b.Job] = append(near[a.Job], b.Job), append(near[b.Job], a.Job)
				}
			}
		}
	}
	done := make([]bool, len(l.job))
	next := map[workload.Kind]int{}
	for _, j := range l.order {
		kind := r.Problem.Jobs[j].Kind
		var taken [planShades]bool
		for _, n := range near[j] {
			if done[n] && r.Problem.Jobs[n].Kind == kind {
				taken[l.shade[n]] = true
			}
		}
		at := next[kind] % planShades
		for range planShades {
			if !taken[at] {
				break
			}
			at = (at + 1) % planShades
		}
		l.shade[j], done[j] = at, true
		next[kind] = at + 1
	}
}

// touch tells whether two stretches share an edge in the picture.
func touch(a, b *horizon.Stretch) bool {
	return a.Start <= b.End() && b.Start <= a.End() && a.Offset <= b.Offset+b.Size && b.Offset <= a.Offset+a.Size
}

// jobFamily numbers the kinds of jobs as page and terminal colour them.
func jobFamily(k workload.Kind) int {
	switch k {
	case workload.KindTraining:
		return 1
	case workload.KindBatchInference:
		return 2
	case workload.KindQuantization:
		return 3
	}
	return 0
}
