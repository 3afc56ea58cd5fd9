package legal_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
	"github.com/escala-sched/escala/internal/horizontest"
)

// TestCheckerNotices: a legal plan in which one thing is made wrong breaks that rule, and who
// breaks it is named.
func TestCheckerNotices(t *testing.T) {
	for name, tc := range map[string]struct {
		rule   int
		damage func(*rapid.T, *horizon.Plan) (who string) // "" where it cannot be done
	}{
		"a job on the GPUs of another":                {1, jobOnJob},
		"a job on closed GPUs":                        {1, jobOnClosed},
		"an application on the GPU of a job":          {1, appOnJob},
		"an application below its minimum":            {2, tooFew},
		"an application above its maximum":            {2, tooMany},
		"an application on GPUs of another type":      {2, appOnType},
		"a job before its release":                    {2, early},
		"a running job elsewhere":                     {2, moved},
		"a running job left out":                      {2, leftOut},
		"a block of a wrong size":                     {3, wrongSize},
		"a block that begins anywhere":                {3, unaligned},
		"a block in two types":                        {3, twoTypes},
		"more swaps than there may be":                {4, swaps},
		"more swaps than are left in step 0":          {4, swapsUsed},
		"a job cut short":                             {5, short},
		"a job longer than it is":                     {5, long},
		"a job in two pieces":                         {5, pieces},
		"a job in two places at once":                 {5, twice},
		"an interruptible job stopped early":          {5, stopped},
		"a restart left out":                          {5, noRestart},
		"a restart of what was never stopped":         {5, restart},
		"a job past a horizon in which it has to end": {5, past},
		"a stretch outside the row":                   {0, outside},
		"a stretch before the horizon":                {0, before},
		"a stretch of no job":                         {0, noJob},
		"an application without a step":               {0, noStep},
		"an application beyond the row":               {0, beyond},
	} {
		t.Run(name, func(t *testing.T) {
			done := 0
			rapid.Check(t, func(t *rapid.T) {
				p := drawPlan(t)
				if v := legal.Check(p); len(v) > 0 {
					t.Fatalf("not legal to begin with: %v", v)
				}
				who := tc.damage(t, p)
				if who == "" {
					return
				}
				done++
				found := legal.Check(p)
				if !slices.ContainsFunc(found, func(v legal.Violation) bool { return v.Rule == tc.rule && v.Who == who }) {
					t.Fatalf("found %v, want rule %d: %s\n%s%+v", found, tc.rule, who, horizontest.Text(p.Problem), p.Placed)
				}
			})
			if done == 0 && !testing.Short() { // short runs draw few plans
				t.Error("no plan could be damaged so")
			}
		})
	}
}

func drawPlan(t *rapid.T) *horizon.Plan {
	s, err := horizon.NewSearch(horizontest.Draw(t, horizontest.Small), 0)
	if err != nil {
		t.Skip(err)
	}
	s.Run(60, nil)
	return s.Plan()
}

// pick returns one of the plan's stretches for which ok holds, nil for none, and its job.
func pick(t *rapid.T, p *horizon.Plan, ok func(*horizon.Stretch, *horizon.Job) bool) (*horizon.Stretch, *horizon.Job) {
	from := rapid.IntRange(0, len(p.Placed)).Draw(t, "stretch")
	for i := range p.Placed {
		s := &p.Placed[(i+from)%len(p.Placed)]
		if j := &p.Problem.Jobs[s.Job]; ok(s, j) {
			return s, j
		}
	}
	return nil, nil
}

// waited: a job that does not run yet.
func waited(_ *horizon.Stretch, j *horizon.Job) bool { return j.Running == nil }

// pinned: a job that has to stay where it runs.
func pinned(s *horizon.Stretch, j *horizon.Job) bool {
	return j.Running != nil && s.Start == 0 && (j.MinSteps == 0 || j.Running.Elapsed < j.MinSteps)
}

// holding returns an application and a step for which ok holds of what it holds then, -1 for none.
func holding(t *rapid.T, p *horizon.Plan, ok func(a *horizon.App, step int, held horizon.Set) bool) (app, step int) {
	from := rapid.IntRange(0, p.Problem.Steps-1).Draw(t, "step")
	for a := range p.Held {
		for i := range p.Held[a] {
			step := (i + from) % p.Problem.Steps
			if ok(&p.Problem.Apps[a], step, p.Held[a][step]) {
				return a, step
			}
		}
	}
	return -1, -1
}

func jobOnJob(t *rapid.T, p *horizon.Plan) string {
	s, _ := pick(t, p, waited)
	if s == nil {
		return ""
	}
	for i := range p.Placed {
		if o := &p.Placed[i]; o.Job > s.Job && o.Offset+s.Size <= p.Problem.GPUs {
			// Later jobs are put on the grid later.
			s.Start, s.Offset = o.Start, o.Offset
			return p.Problem.Jobs[o.Job].ID
		}
	}
	return ""
}

func jobOnClosed(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, waited)
	if s == nil {
		return ""
	}
	p.Problem.Closed = append(p.Problem.Closed, horizon.Window{First: s.Offset + s.Size - 1, Count: 1, From: s.Start, To: s.Start + 1})
	return j.ID
}

func appOnJob(t *rapid.T, p *horizon.Plan) string {
	s, _ := pick(t, p, waited)
	if s == nil || len(p.Held) == 0 {
		return ""
	}
	p.Held[0][s.Start].Add(s.Offset)
	return p.Problem.Apps[0].ID
}

func tooFew(t *rapid.T, p *horizon.Plan) string {
	a, step := holding(t, p, func(a *horizon.App, step int, held horizon.Set) bool {
		return held.Len() == a.Min[step] && a.Min[step] > 0
	})
	if a < 0 {
		return ""
	}
	slots := p.Held[a][step].Slots()
	p.Held[a][step] = horizon.NewSet(p.Problem.GPUs, slots[1:]...)
	return p.Problem.Apps[a].ID
}

func tooMany(t *rapid.T, p *horizon.Plan) string {
	a, step := holding(t, p, func(_ *horizon.App, _ int, held horizon.Set) bool { return held.Len() > 0 })
	if a < 0 {
		return ""
	}
	p.Problem.Apps[a].Max[step] = p.Held[a][step].Len() - 1
	return p.Problem.Apps[a].ID
}

// retype gives the GPUs types, of which one slot has another than all others.
func retype(p *horizon.Problem, slot int) {
	p.Types = make([]int, p.GPUs)
	p.Types[slot] = 1
	for i := range p.Jobs {
		p.Jobs[i].Types = 0
	}
	for i := range p.Apps {
		p.Apps[i].Types = 0
	}
}

func appOnType(t *rapid.T, p *horizon.Plan) string {
	a, step := holding(t, p, func(_ *horizon.App, _ int, held horizon.Set) bool { return held.Len() > 0 })
	if a < 0 {
		return ""
	}
	retype(p.Problem, p.Held[a][step].Slots()[0])
	p.Problem.Apps[a].Types = 1
	return p.Problem.Apps[a].ID
}

func early(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, waited)
	if s == nil {
		return ""
	}
	j.Release = s.Start + 1
	return j.ID
}

func moved(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, pinned)
	if s == nil {
		return ""
	}
	if s.Offset > 0 {
		s.Offset--
	} else {
		s.Start++
	}
	if s.Start == p.Problem.Steps {
		return ""
	}
	return j.ID
}

func leftOut(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, pinned)
	if s == nil {
		return ""
	}
	n := s.Job
	p.Placed = slices.DeleteFunc(p.Placed, func(s horizon.Stretch) bool { return s.Job == n })
	return j.ID
}

func wrongSize(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, _ *horizon.Job) bool { return s.Size > 1 })
	if s == nil {
		return ""
	}
	s.Size--
	return j.ID
}

func unaligned(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool { return s.Offset > 0 && waited(s, j) })
	if s == nil {
		return ""
	}
	j.Align = s.Offset + 1
	return j.ID
}

func twoTypes(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool { return s.Size > 1 && waited(s, j) })
	if s == nil {
		return ""
	}
	retype(p.Problem, s.Offset)
	j.Types = 3
	return j.ID
}

// changed is how many GPUs an application changes at a step.
func changed(p *horizon.Plan, a *horizon.App, step int, held horizon.Set) int {
	before := horizon.NewSet(p.Problem.GPUs, a.Current...)
	if step > 0 {
		before = p.Held[slices.IndexFunc(p.Problem.Apps, func(b horizon.App) bool { return b.ID == a.ID })][step-1]
	}
	if p.Problem.Reading.CountSwaps {
		return max(before.Len()-held.Len(), held.Len()-before.Len())
	}
	n := 0
	for g := range p.Problem.GPUs {
		if before.Has(g) != held.Has(g) {
			n++
		}
	}
	return n
}

func swaps(t *rapid.T, p *horizon.Plan) string {
	a, step := holding(t, p, func(a *horizon.App, step int, held horizon.Set) bool {
		return step > 0 && changed(p, a, step, held) > 0
	})
	if a < 0 {
		return ""
	}
	app := &p.Problem.Apps[a]
	app.SwapCap = changed(p, app, step, p.Held[a][step]) - 1
	return app.ID
}

func swapsUsed(t *rapid.T, p *horizon.Plan) string {
	a, _ := holding(t, p, func(a *horizon.App, step int, held horizon.Set) bool {
		return step == 0 && changed(p, a, step, held) > 0
	})
	if a < 0 {
		return ""
	}
	app := &p.Problem.Apps[a]
	app.Used = app.SwapCap - changed(p, app, 0, p.Held[a][0]) + 1
	return app.ID
}

func short(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool { return j.MinSteps == 0 && s.Steps > 1 })
	if s == nil {
		return ""
	}
	s.Steps--
	return j.ID
}

func long(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool {
		return j.MinSteps == 0 || s.Steps-s.Restart == j.Steps
	})
	if s == nil {
		return ""
	}
	s.Steps++
	return j.ID
}

func pieces(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool {
		return j.MinSteps == 0 && s.Steps > 1 && s.Start+1 < p.Problem.Steps
	})
	if s == nil {
		return ""
	}
	rest := *s
	rest.Start, rest.Steps = s.Start+1, s.Steps-1
	s.Steps = 1
	p.Placed = append(p.Placed, rest)
	return j.ID
}

func twice(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, _ *horizon.Job) bool { return s.Steps > s.Restart+1 })
	if s == nil {
		return ""
	}
	other := *s
	other.Steps = s.Restart + 1
	p.Placed = append(p.Placed, other)
	return j.ID
}

func stopped(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool {
		return waited(s, j) && s.Restart+1 < min(j.MinSteps, s.Steps) && s.Start+s.Restart+1 < p.Problem.Steps
	})
	if s == nil {
		return ""
	}
	s.Steps = s.Restart + 1
	return j.ID
}

func noRestart(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool {
		return j.MinSteps == 0 && waited(s, j) && s.Steps > 1 && s.Start+2 < p.Problem.Steps
	})
	if s == nil {
		return ""
	}
	j.MinSteps, j.Restart = 1, 1
	rest := *s
	rest.Start, rest.Steps = s.Start+2, s.Steps-1
	s.Steps = 1
	p.Placed = append(p.Placed, rest)
	return j.ID
}

func restart(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool { return waited(s, j) && s.Restart == 0 })
	if s == nil {
		return ""
	}
	s.Steps, s.Restart = s.Steps+1, 1
	return j.ID
}

func past(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, func(s *horizon.Stretch, j *horizon.Job) bool { return waited(s, j) && s.End() > p.Problem.Steps })
	if s == nil {
		return ""
	}
	p.Problem.Reading.Complete = true
	return j.ID
}

func outside(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, waited)
	if s == nil {
		return ""
	}
	s.Offset = p.Problem.GPUs - s.Size + 1
	return j.ID
}

func before(t *rapid.T, p *horizon.Plan) string {
	s, j := pick(t, p, waited)
	if s == nil {
		return ""
	}
	s.Start = -1
	return j.ID
}

func noJob(t *rapid.T, p *horizon.Plan) string {
	s, _ := pick(t, p, waited)
	if s == nil {
		return ""
	}
	s.Job = len(p.Problem.Jobs)
	return "plan"
}

func noStep(_ *rapid.T, p *horizon.Plan) string {
	if len(p.Held) == 0 {
		return ""
	}
	p.Held[0] = p.Held[0][1:]
	return p.Problem.Apps[0].ID
}

func beyond(_ *rapid.T, p *horizon.Plan) string {
	if len(p.Held) == 0 || p.Problem.GPUs%64 == 0 {
		return ""
	}
	p.Held[0][0].Add(p.Problem.GPUs)
	return p.Problem.Apps[0].ID
}
