package report

import "github.com/escala-sched/escala/horizon/view"

// jobJSON is a job and its place; Start and the rest are null without one.
type jobJSON struct {
	ID       string `json:"id"`
	Kind     string `json:"kind,omitempty"`
	GPUs     int    `json:"gpus"`
	Steps    int    `json:"steps"`
	Priority int64  `json:"priority"`
	Placed   bool   `json:"placed"`
	Start    *int   `json:"start"`
	End      *int   `json:"end"`
	Offset   *int   `json:"offset"`
	Size     *int   `json:"size"`
	Running  bool   `json:"running"`
	Deadline int    `json:"deadline,omitempty"`
	// Stretches, where it is interrupted.
	Stretches []stretchJSON `json:"stretches,omitempty"`
	Why       *whyJSON      `json:"why,omitempty"`
}

type stretchJSON struct {
	Start   int `json:"start"`
	End     int `json:"end"`
	Offset  int `json:"offset"`
	Size    int `json:"size"`
	Restart int `json:"restart"`
}

type whyJSON struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func jobsJSON(p *Planned) []jobJSON {
	q := p.Plan.Problem
	out := make([]jobJSON, len(q.Jobs))
	for i := range q.Jobs {
		j := &q.Jobs[i]
		out[i] = jobJSON{ID: j.ID, Kind: j.Kind.String(), GPUs: j.GPUs, Steps: j.Steps, Priority: j.Priority, Running: j.Running != nil, Deadline: j.Deadline}
	}
	for _, s := range byStart(p.Plan) {
		x := &out[s.Job]
		end := s.End()
		if !x.Placed {
			x.Placed, x.Start, x.Offset, x.Size = true, &s.Start, &s.Offset, &s.Size
		}
		x.End = &end
		x.Stretches = append(x.Stretches, stretchJSON{s.Start, end, s.Offset, s.Size, s.Restart})
	}
	for i := range out {
		if len(out[i].Stretches) == 1 {
			out[i].Stretches = nil
		}
	}
	for i := range p.LeftOut {
		u := &p.LeftOut[i]
		out[u.Job].Why = &whyJSON{u.Why.String(), whyLeftOut(q, u)}
	}
	return out
}

type appJSON struct {
	ID      string `json:"id"`
	Min     []int  `json:"min"`
	Demand  []int  `json:"demand"`
	Max     []int  `json:"max"`
	Held    []int  `json:"held"`
	Spare   []int  `json:"spare"`
	SwapCap int    `json:"swapCap"`
	Penalty int64  `json:"penalty"`
}

func appsJSON(p *Planned) []appJSON {
	out := []appJSON{}
	for i := range p.Coverage {
		a, c := &p.Plan.Problem.Apps[i], &p.Coverage[i]
		out = append(out, appJSON{a.ID, a.Min, a.Demand, a.Max, c.Held, c.Spare, a.SwapCap, a.Penalty})
	}
	return out
}

type coverageAppJSON struct {
	ID            string     `json:"id"`
	ShortSteps    int        `json:"shortSteps"`
	NoMarginSteps int        `json:"noMarginSteps"`
	Risks         []riskJSON `json:"risks"`
}

type riskJSON struct {
	Kind  string `json:"kind"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	Short int    `json:"short"`
}

func coverageJSON(p *Planned) []coverageAppJSON {
	out := []coverageAppJSON{}
	for i := range p.Coverage {
		a := &p.Coverage[i]
		x := coverageAppJSON{ID: p.Plan.Problem.Apps[i].ID, ShortSteps: a.Steps(view.Short), NoMarginSteps: a.Steps(view.NoMargin), Risks: []riskJSON{}}
		for _, r := range a.Risks {
			x.Risks = append(x.Risks, riskJSON{r.Kind.String(), r.From, r.To, r.Short})
		}
		out = append(out, x)
	}
	return out
}
