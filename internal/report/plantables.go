package report

import (
	"fmt"
	"strconv"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/view"
	"github.com/escala-sched/escala/workload"
)

// placement is where and when a job runs in one plan.
type placement struct {
	start, end, where string
	placed, late      bool
}

// placements finds the place of each job.
func placements(p *Planned) []placement {
	q := p.Plan.Problem
	c := planClock{q}
	out := make([]placement, len(q.Jobs))
	parts, done := make([]int, len(q.Jobs)), make([]int, len(q.Jobs))
	for _, s := range byStart(p.Plan) {
		x := &out[s.Job]
		if parts[s.Job]++; parts[s.Job] == 1 {
			x.placed, x.start, x.where = true, c.at(s.Start), where(q, s.Offset, s.Size)
			if q.Jobs[s.Job].Running != nil && s.Start == 0 && s.Offset == q.Jobs[s.Job].Running.Offset {
				x.start = "running"
			}
		} else {
			x.where += ", " + where(q, s.Offset, s.Size)
		}
		x.end = c.at(s.End())
		done[s.Job] += s.Steps - s.Restart
		if left := q.Jobs[s.Job].Steps - done[s.Job]; left > 0 && s.End() < q.Steps {
			x.end += fmt.Sprintf(" (%d left)", left)
		}
		x.late = q.Jobs[s.Job].Deadline > 0 && s.End() > q.Jobs[s.Job].Deadline
	}
	return out
}

// jobsTable lists the placed jobs in order of their labels.
func (r *PlanReport) jobsTable(l *planLabels, labels bool) *textTable {
	q := r.Problem
	t := &textTable{}
	kinds := false
	for i := range q.Jobs {
		kinds = kinds || q.Jobs[i].Kind != workload.KindUnspecified
	}
	if labels {
		t.Head = append(t.Head, "")
	}
	t.Head = append(t.Head, "Job")
	if kinds {
		t.Head = append(t.Head, "Kind")
	}
	t.Head = append(t.Head, "GPUs", "Steps", "Priority", "Start", "End")
	if r.deadlines() {
		t.Head = append(t.Head, "Due")
	}
	t.Head = append(t.Head, onGPU(r.Problem))
	places := [][]placement{placements(r.Plans[0])}
	if len(r.Plans) == 2 {
		t.Head = append(t.Head, "Under "+r.Plans[1].Name())
		places = append(places, placements(r.Plans[1]))
	}
	for _, i := range l.order {
		j := &q.Jobs[i]
		var row []string
		if labels {
			row = append(row, l.job[i])
		}
		row = append(row, visible(j.ID))
		if kinds {
			row = append(row, j.Kind.String())
		}
		row = append(row, gpusWanted(q, j), strconv.Itoa(j.Steps), strconv.FormatInt(j.Priority, 10))
		x := places[0][i]
		if !x.placed {
			x = placement{start: "-", end: "-", where: "-"}
		}
		row = append(row, x.start, x.end)
		if r.deadlines() {
			due := "-"
			if j.Deadline > 0 {
				due = planClock{q}.at(j.Deadline)
				if x.late {
					due += ", late"
				}
			}
			row = append(row, due)
		}
		row = append(row, x.where)
		if len(places) == 2 {
			under := "not placed"
			if y := places[1][i]; y.placed {
				under = y.start + " to " + y.end
			}
			row = append(row, under)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// gpusWanted writes what a job asks for, and its block where that is larger.
func gpusWanted(q *horizon.Problem, j *horizon.Job) string {
	if size, _ := q.Reading.Block(j); size != j.GPUs {
		return fmt.Sprintf("%d in %d", j.GPUs, size)
	}
	return strconv.Itoa(j.GPUs)
}

// leftOutTable lists jobs without a place.
func leftOutTable(p *Planned) *textTable {
	q := p.Plan.Problem
	t := &textTable{Head: []string{"Job", "GPUs", "Steps", "Priority", "Why"}}
	for i := range p.LeftOut {
		u := &p.LeftOut[i]
		j := &q.Jobs[u.Job]
		t.Rows = append(t.Rows, []string{visible(j.ID), gpusWanted(q, j), strconv.Itoa(j.Steps), strconv.FormatInt(j.Priority, 10), whyLeftOut(q, u)})
	}
	return t
}

// coverageTable lists the stretches in which real-time work is at risk, by application.
func coverageTable(p *Planned) *textTable {
	q := p.Plan.Problem
	c := planClock{q}
	t := &textTable{Head: []string{"Application", "Risk", "From", "To", "Steps", "GPU-steps short", "Worst"}}
	for i := range p.Coverage {
		a := &p.Coverage[i]
		for k := range a.Risks {
			r := &a.Risks[k]
			kind := "no margin"
			if r.Kind == view.Short {
				kind = "SHORT"
			}
			t.Rows = append(t.Rows, []string{visible(q.Apps[a.App].ID), kind, c.at(r.From), c.at(r.To), strconv.Itoa(r.To - r.From), dash(r.Short), worstText(q, a, r)})
		}
	}
	return t
}

// idleTable lists the largest idle windows, and returns the GPU-hours of the others.
func idleTable(p *Planned, most int) (t *textTable, rest float64) {
	q := p.Plan.Problem
	c := planClock{q}
	t = &textTable{Head: []string{"From", "To", "Lasts", "GPUs", onGPU(q), "Largest block", "Idle GPU-hours"}}
	rest = p.idleGPUHours()
	for i := range p.Windows {
		if i == most {
			break
		}
		w := &p.Windows[i]
		rest -= gpuHoursOf(q, w.GPUSteps())
		t.Rows = append(t.Rows, []string{c.at(w.From), c.at(w.To), c.lasting(w.To - w.From), strconv.Itoa(w.Count), where(q, w.First, w.Count), strconv.Itoa(w.Block), significant(gpuHoursOf(q, w.GPUSteps()))})
	}
	return t, rest
}

// demandTable says for each step what applications want and hold: the picture of
// real-time work in numbers.
func demandTable(p *Planned) *textTable {
	q := p.Plan.Problem
	t := &textTable{Head: []string{"From"}}
	for i := range q.Apps {
		t.Head = append(t.Head, visible(q.Apps[i].ID)+": held of wanted")
	}
	t.Head = append(t.Head, "Idle GPUs", "Largest block")
	for s := range q.Steps {
		row := []string{planClock{q}.at(s)}
		for i := range p.Coverage {
			a := &p.Coverage[i]
			text := fmt.Sprintf("%d of %d", a.Held[s], a.Demand[s])
			switch a.At(s) {
			case view.Short:
				text += ", short"
			case view.NoMargin:
				text += ", no margin"
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, append(row, strconv.Itoa(p.Idle[s].GPUs), strconv.Itoa(p.Idle[s].Block)))
	}
	return t
}

func dash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}
