package report

import (
	_ "embed"
	"html/template"
	"io"
)

// planAppColors is the number of colours that plan.css has for applications.
const planAppColors = 5

var (
	//go:embed plan.html
	planPageHTML string
	//go:embed plan.css
	planPageCSS string

	planPage = template.Must(template.New("plan").Funcs(template.FuncMap{
		"minus": func(a, b float64) float64 { return tenth(a - b) },
		"plus":  func(a, b float64) float64 { return tenth(a + b) },
	}).Parse(planPageHTML))
)

// WritePlanHTML writes a plan as one page that needs nothing else: it has no script and
// makes no request, and a content security policy holds it to that. Names from the input
// are escaped.
func WritePlanHTML(w io.Writer, r *PlanReport) error {
	l := r.labelled()
	v := planView{Title: r.Problem.Name, Version: r.Version, CSS: template.CSS(pageCSS + planPageCSS), Finding: planFinding(r), Figures: r.planFigures(),
		Chips: []string{some(r.Problem.GPUs, "GPU"), stepsText(r.Problem), some(len(r.Problem.Jobs), "job"), some(len(r.Problem.Apps), "real-time application")},
		Jobs:  r.jobsTable(l, false), RealTime: len(r.Problem.Apps) > 0, Closed: len(r.Problem.Closed) > 0, Command: r.Command, Source: r.Source,
		End: planClock{r.Problem}.at(r.Problem.Steps)}
	if v.Title == "" {
		v.Title = r.Source
	}
	for _, line := range r.planHead() {
		v.Head = append(v.Head, [2]string{line.name, line.value})
	}
	var seen [4]bool
	for _, i := range l.order {
		seen[jobFamily(r.Problem.Jobs[i].Kind)] = true
	}
	for f, name := range []string{"jobs of no kind", "training", "batch inference", "quantization"} {
		if seen[f] {
			v.Kinds = append(v.Kinds, planKind{f, name})
		}
	}
	for _, p := range r.Plans {
		x := planSeen{Name: p.Name(), Picture: drawPlan(r, p, l), Demand: demandTable(p)}
		if len(r.Plans) > 1 {
			x.Under = " under " + p.Name()
		}
		if len(p.LeftOut) > 0 {
			x.LeftOut = leftOutTable(p)
		}
		if t := coverageTable(p); len(t.Rows) > 0 {
			x.Coverage = t
		}
		if t, _ := idleTable(p, len(p.Windows)); len(t.Rows) > 0 {
			x.Idle = t
		}
		for i := range p.Coverage {
			for t, n := range p.Coverage[i].Held {
				v.Over = v.Over || n > p.Coverage[i].Demand[t]
			}
		}
		x.IdleHours = significant(p.idleGPUHours())
		for _, b := range p.Broken {
			x.Broken = append(x.Broken, b.String())
		}
		v.Plans = append(v.Plans, x)
	}
	return planPage.Execute(w, &v)
}

// planView is what the template reads.
type planView struct {
	Title, Version, Command, Source, End string
	CSS                                  template.CSS
	Chips, Finding                       []string
	Figures                              []planRow
	Head                                 [][2]string
	Kinds                                []planKind
	Jobs                                 *textTable
	RealTime, Closed, Over               bool
	Plans                                []planSeen
}

type planKind struct {
	Family int
	Name   string
}

// planSeen is one plan on the page.
type planSeen struct {
	Name, Under, IdleHours          string
	Picture                         *planPicture
	LeftOut, Coverage, Idle, Demand *textTable
	Broken                          []string
}

// Label, Definition and Cells give the template what a row holds.
func (r planRow) Label() string { return r.label }

// Definition says what the figure means.
func (r planRow) Definition() string { return r.definition }

// Cells are the figure of each plan.
func (r planRow) Cells() []string {
	var out []string
	for _, c := range r.cells {
		out = append(out, c.text)
	}
	return out
}

// Diff is the difference of the plan to the one it is compared with, "" for none.
func (r planRow) Diff() string { return r.cells[0].diff }

// Mark is better, worse or "".
func (r planRow) Mark() string {
	switch {
	case r.cells[0].good > 0:
		return "better"
	case r.cells[0].good < 0:
		return "worse"
	}
	return ""
}
