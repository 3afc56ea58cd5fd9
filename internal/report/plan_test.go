package report

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// night is a horizon with one of everything: work that runs, work that goes on after
// it, a job that takes more than it asks for, closed GPUs, demand that is not met, and
// a job that finds no place. Its plans are made by hand, so that no planner moves them.
func night() *PlanReport {
	q := &horizon.Problem{
		Name: "night", GPUs: 8, Steps: 12, StepLength: workload.Hour, StartHour: 18, Decay: 1,
		Jobs: []horizon.Job{
			{ID: "llama-ft", Kind: workload.KindTraining, GPUs: 4, Steps: 3, Priority: 5, Running: &horizon.Running{Offset: 0, Elapsed: 2}},
			{ID: "embed", Kind: workload.KindBatchInference, GPUs: 2, Steps: 2, Priority: 3},
			{ID: "quant-70b", Kind: workload.KindQuantization, GPUs: 3, Steps: 5, Priority: 4},
			{ID: "eval", Kind: workload.KindBatchInference, GPUs: 2, Steps: 6, Priority: 2},
			{ID: "pretrain", Kind: workload.KindTraining, GPUs: 8, Steps: 4, Priority: 1, Release: 2},
			{ID: "probe", GPUs: 1, Steps: 1, Priority: 1},
		},
		Apps: []horizon.App{{ID: "chat", SwapCap: 1, Penalty: 20, Current: []int{7}, Min: make([]int, 12),
			Demand: []int{1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1}, Max: []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}}},
		Closed: []horizon.Window{{Name: "fan", First: 6, Count: 1, From: 0, To: 3}},
	}
	held := func(sets ...uint64) [][]horizon.Set {
		var list []horizon.Set
		for _, s := range sets {
			list = append(list, horizon.Set{s})
		}
		return [][]horizon.Set{list}
	}
	const g7, g67 = 1 << 7, 3 << 6
	planned := Look(&horizon.Result{Work: 200, Solver: "search", Bound: 190, BoundBy: "lagrangian", Plan: &horizon.Plan{Problem: q, Placed: []horizon.Stretch{
		{Job: 0, Start: 0, Steps: 3, Offset: 0, Size: 4},
		{Job: 1, Start: 0, Steps: 2, Offset: 4, Size: 2},
		{Job: 5, Start: 2, Steps: 1, Offset: 4, Size: 1},
		{Job: 2, Start: 3, Steps: 5, Offset: 0, Size: 4},
		{Job: 3, Start: 8, Steps: 6, Offset: 0, Size: 2},
	}, Held: held(g7, g7, g7, g67, g67, g67, g7, g7, g7, g7, g7, g7)}})
	planned.Mode, planned.Seed = "fast", 1
	planned.Score = planned.Plan.Score()
	fifo := Look(&horizon.Result{Solver: "fifo-strict", Plan: &horizon.Plan{Problem: q, Reserved: true, Placed: []horizon.Stretch{
		{Job: 0, Start: 0, Steps: 3, Offset: 0, Size: 4},
		{Job: 1, Start: 3, Steps: 2, Offset: 0, Size: 2},
		{Job: 2, Start: 5, Steps: 5, Offset: 0, Size: 4},
		{Job: 3, Start: 10, Steps: 6, Offset: 0, Size: 2},
		{Job: 5, Start: 10, Steps: 1, Offset: 2, Size: 1},
	}, Held: held(1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7, 1<<5|g7)}})
	fifo.Policy = "fifo-strict"
	fifo.Score = fifo.Plan.Score()
	return &PlanReport{Version: "v0.1.0", Command: "escala plan night.json --against fifo", Source: "night.json", Problem: q, Plans: []*Planned{planned, fifo}}
}

// alone is the same without the other plan.
func alone() *PlanReport {
	r := night()
	r.Plans = r.Plans[:1]
	return r
}

// hall is a horizon of more GPUs than there are rows on a terminal. Its plan swaps more
// than it may, and has no bound.
func hall() *PlanReport {
	q := &horizon.Problem{Name: "hall", GPUs: 128, Steps: 6, StepLength: 30 * workload.Minute, StartHour: 23, Decay: 1,
		Jobs:   []horizon.Job{{ID: "wide", GPUs: 64, Steps: 4}, {ID: "left", GPUs: 4, Steps: 6}, {ID: "right", GPUs: 4, Steps: 3}},
		Apps:   []horizon.App{{ID: "api", SwapCap: 9, Current: []int{}, Min: make([]int, 6), Demand: []int{2, 2, 12, 12, 2, 2}, Max: []int{12, 12, 12, 12, 12, 12}}},
		Closed: []horizon.Window{{First: 120, Count: 8, From: 0, To: 6}, {First: 116, Count: 2, From: 0, To: 6, Absent: true}}}
	var held []horizon.Set
	for t := range 6 {
		s := horizon.Set{0, 1 << 16 * (1<<2 - 1)}
		if t == 2 || t == 3 {
			s[1] = 1 << 16 * (1<<12 - 1)
		}
		held = append(held, s)
	}
	p := Look(&horizon.Result{Work: 7, Solver: "search", Plan: &horizon.Plan{Problem: q, Held: [][]horizon.Set{held}, Placed: []horizon.Stretch{
		{Job: 0, Start: 1, Steps: 4, Offset: 0, Size: 64}, {Job: 1, Start: 0, Steps: 6, Offset: 64, Size: 4}, {Job: 2, Start: 0, Steps: 3, Offset: 68, Size: 4}}}})
	p.Mode = "fast"
	p.Score = p.Plan.Score()
	return &PlanReport{Problem: q, Plans: []*Planned{p}}
}

func TestPlanGolden(t *testing.T) {
	tests := map[string]func(w io.Writer) error{
		"plan.txt":        func(w io.Writer) error { return WritePlanText(w, alone(), TableOptions{}) },
		"plan-two.txt":    func(w io.Writer) error { return WritePlanText(w, night(), TableOptions{}) },
		"plan-narrow.txt": func(w io.Writer) error { return WritePlanText(w, night(), TableOptions{Width: 40}) },
		"plan-color.txt":  func(w io.Writer) error { return WritePlanText(w, night(), TableOptions{Color: true, Width: 100}) },
		"plan-hall.txt":   func(w io.Writer) error { return WritePlanText(w, hall(), TableOptions{}) },
		"plan.json":       func(w io.Writer) error { return WritePlanJSON(w, night()) },
		"plan.html":       func(w io.Writer) error { return WritePlanHTML(w, night()) },
	}
	for name, write := range tests {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			sameAsFile(t, name, b.Bytes())
		})
	}
}

// TestPlanTextKeepsToTheWidth holds the grid to the terminal's width.
func TestPlanTextKeepsToTheWidth(t *testing.T) {
	for _, r := range []*PlanReport{night(), hall()} {
		for _, wide := range []int{20, 40, 61, 80, 120} {
			l := r.labelled()
			for _, p := range r.Plans {
				for _, line := range newPlanGrid(r, p, l, false).lines(wide) {
					if width(line) > wide {
						t.Errorf("width %d: line of %d: %q", wide, width(line), line)
					}
				}
			}
		}
	}
}

// TestPlanColors: without colour not one escape is written; with it, taking the escapes
// away leaves a picture of the same shape.
func TestPlanColors(t *testing.T) {
	r := night()
	l := r.labelled()
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	flat, colored := newPlanGrid(r, r.Plans[0], l, false).lines(0), newPlanGrid(r, r.Plans[0], l, true).lines(0)
	for i := range flat {
		if strings.Contains(flat[i], "\x1b") {
			t.Errorf("an escape without colour: %q", flat[i])
		}
		shape := func(s string) string {
			return strings.TrimRight(strings.NewReplacer("[", " ", "]", " ", "-", " ").Replace(s), " ")
		}
		if bare := escapes.ReplaceAllString(colored[i], ""); shape(flat[i]) != shape(bare) {
			t.Errorf("another picture in colour:\n%q\n%q", flat[i], bare)
		}
	}
}

// TestPlanLabels: no two jobs of a picture have one label, and neighbours of one kind
// have different shades.
func TestPlanLabels(t *testing.T) {
	q := &horizon.Problem{GPUs: 16, Steps: 40, Decay: 1, StepLength: workload.Hour}
	p := &horizon.Plan{Problem: q}
	for g := range 16 {
		for s := 0; s < 40; s += 4 {
			q.Jobs = append(q.Jobs, horizon.Job{ID: "j" + strconv.Itoa(len(q.Jobs)), GPUs: 1, Steps: 4})
			p.Placed = append(p.Placed, horizon.Stretch{Job: len(q.Jobs) - 1, Start: s, Steps: 4, Offset: g, Size: 1})
		}
	}
	l := (&PlanReport{Problem: q, Plans: []*Planned{Look(&horizon.Result{Plan: p})}}).labelled()
	seen := map[string]bool{}
	for _, text := range l.job {
		if seen[text] || len(text) != l.width {
			t.Errorf("label %q is taken, or not of width %d", text, l.width)
		}
		seen[text] = true
	}
	for i := range p.Placed {
		for k := range i {
			a, b := &p.Placed[i], &p.Placed[k]
			side := a.Offset == b.Offset && (a.Start == b.End() || b.Start == a.End())
			above := a.Start == b.Start && (a.Offset == b.Offset+1 || b.Offset == a.Offset+1)
			if (side || above) && l.shade[a.Job] == l.shade[b.Job] {
				t.Errorf("%s and %s have one shade", q.Jobs[a.Job].ID, q.Jobs[b.Job].ID)
			}
		}
	}
}

// TestPlanJSON holds the first keys to their names and order: scripts rely on them.
func TestPlanJSON(t *testing.T) {
	var b bytes.Buffer
	if err := WritePlanJSON(&b, alone()); err != nil {
		t.Fatal(err)
	}
	last := -1
	for _, key := range []string{"schemaVersion", "utilisation", "value", "objective", "bound", "gap", "shortfall", "legal", "solver", "grid"} {
		at := strings.Index(b.String(), "\n  \""+key+"\": ")
		if at <= last {
			t.Errorf("%s is not where it was", key)
		}
		last = at
	}
	var got struct {
		Utilisation, Value, Objective float64
		Bound, Gap                    *float64
		Shortfall                     int
		Legal                         bool
		Grid                          [][]*string
		Jobs                          []struct {
			ID         string
			Placed     bool
			Start, End *int
			Why        *struct{ Code string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Grid) != 8 || len(got.Grid[0]) != 12 || *got.Grid[0][0] != "llama-ft" || *got.Grid[7][0] != "chat" || got.Grid[6][0] != nil || got.Grid[5][11] != nil {
		t.Errorf("the grid is %v", got.Grid)
	}
	if !got.Legal || got.Bound == nil || *got.Bound != 190 || got.Gap == nil || got.Shortfall != 1 {
		t.Errorf("%+v", got)
	}
	if j := got.Jobs[4]; j.Placed || j.Start != nil || j.Why == nil || j.Why.Code != "no-room" {
		t.Errorf("the job without a place is %+v", j)
	}
	r := alone()
	r.Plans[0].Bound, r.Plans[0].BoundBy = 0, ""
	b.Reset()
	if err := WritePlanJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\n  \"bound\": null,\n  \"gap\": null,\n") {
		t.Error("a bound that is not known is not null")
	}
	b.Reset()
	if err := WritePlanText(&b, r, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "bound not computed") {
		t.Error("the text does not say that the bound is not known")
	}
}

func TestPlanHTML(t *testing.T) {
	const evil = `</svg></title><script>alert(1)</script><img src=x onerror=alert(2)>"'`
	for name, r := range map[string]*PlanReport{"two": night(), "one": alone(), "hall": hall()} {
		t.Run(name, func(t *testing.T) {
			r.Problem.Name, r.Command = evil, evil
			for i := range r.Problem.Jobs {
				r.Problem.Jobs[i].ID += evil
			}
			for i := range r.Problem.Apps {
				r.Problem.Apps[i].ID += evil
			}
			for i := range r.Problem.Closed {
				r.Problem.Closed[i].Name = evil
			}
			var b bytes.Buffer
			if err := WritePlanHTML(&b, r); err != nil {
				t.Fatal(err)
			}
			page := b.String()
			checkPage(t, page)
			if strings.Contains(strings.ToLower(page), "<script") || strings.Contains(page, "<img") {
				t.Error("a name of the input became markup")
			}
			if n := strings.Count(page, "<svg "); n != len(r.Plans) {
				t.Errorf("%d pictures of %d plans", n, len(r.Plans))
			}
		})
	}
	r := night()
	r.Problem.Name = "a\x1b[2Jb\nc"
	var b bytes.Buffer
	if err := WritePlanText(&b, r, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), "a?[2Jb?c") {
		t.Error("a name of the input reaches the terminal's controls")
	}
}
