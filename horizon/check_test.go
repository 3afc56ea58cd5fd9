package horizon_test

import (
	"math"
	"testing"

	"github.com/escala-sched/escala/horizon"
)

// TestRefusals: what makes a problem one that has no plan, where it is, and what would be right.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		spoil func(p *horizon.Problem, j *horizon.Job, a *horizon.App)
		want  string
	}{
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) {}, ``},
		// The horizon.
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.GPUs = 0 }, `gpus: 0; a horizon has 1 to 65536 GPUs`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.GPUs = 1<<16 + 1 }, `gpus: 65537; a horizon has 1 to 65536 GPUs`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Steps = 0 }, `steps: 0; a horizon has 1 to 4096 steps`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Steps = 4097 }, `steps: 4097; a horizon has 1 to 4096 steps`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.GPUs, p.Steps = 1<<16, 1<<12 },
			`gpus x steps: 65536 x 4096 are more cells than the 16777216 that a plan may have; make steps longer, or plan a part of the row`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Decay = 0 }, `decay: 0; a step is worth more than 0 and at most 1 of the one before`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Decay = 1.01 }, `decay: 1.01; a step is worth more than 0 and at most 1 of the one before`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Decay = math.NaN() }, `decay: NaN; a step is worth more than 0 and at most 1 of the one before`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.StepLength = -1 }, `step length: -1 ms is negative`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.StartHour = -1 }, `start hour: -1; it is an hour of the day, 0 to 23`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Types = []int{0} }, `types: 1 given for 8 GPUs; want one for each`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Types = []int{0, 0, 0, 0, 0, 0, 0, 64} }, `types: GPU 7 has type 64; types are numbered 0 to 63`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Closed[0].First = -1 }, `closed[0] "repair": 2 GPUs from GPU -1 on; it closes at least 1 of the 8 GPUs there are`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Closed[0].Count = 0 }, `closed[0] "repair": 0 GPUs from GPU 6 on; it closes at least 1 of the 8 GPUs there are`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Closed[0].Count = math.MaxInt }, `closed[0] "repair": 9223372036854775807 GPUs from GPU 6 on; it closes at least 1 of the 8 GPUs there are`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Closed[0].From = -1 }, `closed[0] "repair": from step -1 to before step 4; it begins in step 0 or later, and ends after that`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Closed[0].To = 3 }, `closed[0] "repair": from step 3 to before step 3; it begins in step 0 or later, and ends after that`},
		// Jobs.
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.ID = "" }, `jobs[0] "": has no id`},
		{func(p *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.ID = "runs" }, `jobs[1] "runs": that name is taken; names are unique`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.GPUs = 0 }, `jobs[0] "waits": gpus: 0; a job takes at least 1`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.GPUs = math.MaxInt }, `jobs[0] "waits": gpus: a block of 9223372036854775807 does not fit the 8 GPUs there are`},
		{func(p *horizon.Problem, j *horizon.Job, _ *horizon.App) { p.GPUs, j.GPUs = 12, 9 }, `jobs[0] "waits": gpus: 9, in a block of 16, the next power of two, do not fit the 12 GPUs there are`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Slots = -1 }, `jobs[0] "waits": slots: -1, align: 0; neither can be negative`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Slots = 9 }, `jobs[0] "waits": gpus: a block of 9 does not fit the 8 GPUs there are`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Align = -2 }, `jobs[0] "waits": slots: 0, align: -2; neither can be negative`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Steps = 0 }, `jobs[0] "waits": steps: 0; a job runs at least 1 step, and at most 1048576`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Priority = -1 }, `jobs[0] "waits": priority: -1; it lies between 0 and 1048576`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Release = -1 }, `jobs[0] "waits": release: step -1; the first step is 0`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Deadline = -1 }, `jobs[0] "waits": deadline: step -1 is before the horizon; 0 means none`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Late = 1001 }, `jobs[0] "waits": late: 1001; what a late job is worth lies between 0 and 1000 thousandths`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.MinSteps = -1 }, `jobs[0] "waits": min steps: -1; it lies between 1 and 1048576, or is 0: never interrupted`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.MinSteps, j.Restart = 1, math.MaxInt }, `jobs[0] "waits": restart: 9223372036854775807 steps; it lies between 0 and 1048576`},
		{func(_ *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.Types = 1 }, `jobs[0] "waits": types: it names some, but the GPUs have none; give the type of each GPU`},
		// Jobs that run.
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Jobs[1].Running.Offset = 7 }, `jobs[1] "runs": running: a block of 2 from GPU 7 on lies outside the 8 GPUs there are`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Jobs[1].Running.Offset = math.MaxInt }, `jobs[1] "runs": running: a block of 2 from GPU 9223372036854775807 on lies outside the 8 GPUs there are`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Jobs[1].Running.Elapsed = -1 }, `jobs[1] "runs": running: elapsed: -1 steps; it lies between 0 and 1048576`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Jobs[1].Release = 1 }, `jobs[1] "runs": running: it cannot run and be released in step 1; give release 0`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) {
			p.Reading.Complete, p.Jobs[1].Steps = true, 5
		},
			`jobs[1] "runs": running: 5 steps remain but the horizon has 4; under the reading that jobs end within the horizon that is not legal`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) { p.Jobs[1].Running.Offset = 1 }, `jobs[1] "runs": running: a block of 2 begins at GPU 1; such blocks begin at multiples of 2`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) {
			p.Jobs[1].Running.Offset, p.Jobs[1].Steps = 6, 4
		},
			`jobs[1] "runs": running: from step 3 on GPUs of its block are closed ("repair") and it must not be interrupted`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) {
			p.Jobs[1].Running.Offset, p.Jobs[1].Steps, p.Jobs[1].MinSteps = 6, 4, 5
		},
			`jobs[1] "runs": running: from step 3 on GPUs of its block are closed ("repair") and it is protected longer than that`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) {
			p.Closed[0].Absent, p.Jobs[1].Steps = true, 4
			*p.Jobs[1].Running = horizon.Running{Offset: 6, Foreign: true}
		}, `jobs[1] "runs": running: from step 3 on GPUs of its block do not exist ("repair") and it must not be interrupted`},
		{func(p *horizon.Problem, _ *horizon.Job, _ *horizon.App) {
			p.Types, p.Jobs[1].Types = []int{0, 1, 1, 1, 1, 1, 1, 1}, 3
		},
			`jobs[1] "runs": running: its block is on GPU 1 of type 1; all of it lies in one type that it may use`},
		{func(p *horizon.Problem, j *horizon.Job, _ *horizon.App) { j.GPUs, j.Running = 4, &horizon.Running{} }, `jobs[1] "runs": runs on GPU 0, which "waits" holds; a GPU serves one job at a time`},
		// Applications.
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.ID = "" }, `rt[0] "": has no id`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.ID = "runs" }, `rt[0] "runs": that name is taken; names are unique`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Min = a.Min[1:] }, `rt[0] "chat": min: 3 values for 4 steps`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Demand = append(a.Demand, 1) }, `rt[0] "chat": demand: 5 values for 4 steps`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Max = nil }, `rt[0] "chat": max: 0 values for 4 steps`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Min[2] = 3 }, `rt[0] "chat": step 2: min 3, demand 2, max 3; they must rise, between 0 and the 8 GPUs there are`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Max[3] = 9 }, `rt[0] "chat": step 3: min 1, demand 2, max 9; they must rise, between 0 and the 8 GPUs there are`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.SwapCap = -1 }, `rt[0] "chat": swap cap: -1, used up 0; neither can be negative`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Used = -1 }, `rt[0] "chat": swap cap: 1, used up -1; neither can be negative`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Penalty = 1<<20 + 1 }, `rt[0] "chat": penalty: 1048577; it lies between 0 and 1048576`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Types = 1 }, `rt[0] "chat": types: it names some, but the GPUs have none; give the type of each GPU`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Current[0] = 8 }, `rt[0] "chat": current: GPU 8 does not exist; there are 8`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Current[0] = 1 }, `rt[0] "chat": current: GPU 1 is held by "runs"; a GPU serves one job at a time`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Current = []int{4, 4} }, `rt[0] "chat": current: GPU 4 is listed twice`},
		{func(_ *horizon.Problem, _ *horizon.Job, a *horizon.App) { a.Min[0], a.Demand[0], a.Used = 3, 3, 1 },
			`rt[0] "chat": no number of GPUs keeps between min and max when at most 1 change in a step (0 in step 0), beginning from the 2 held now`},
		{func(p *horizon.Problem, _ *horizon.Job, a *horizon.App) {
			p.GPUs, p.Steps, p.Jobs, p.Apps = 1<<12, 1<<12, nil, nil
			for i := range 64 {
				p.Apps = append(p.Apps, horizon.App{ID: string(rune('A' + i)), Min: flat(p.Steps, 0), Demand: flat(p.Steps, p.GPUs), Max: flat(p.Steps, p.GPUs), Penalty: 1 << 20})
			}
		}, `priority and penalty: in all this is worth more than 2^49 GPU-steps of priority 1, which is more than can be added up exactly; divide all by the same number`},
	} {
		p := &horizon.Problem{GPUs: 8, Steps: 4, Decay: 1, Closed: []horizon.Window{{Name: "repair", First: 6, Count: 2, From: 3, To: 4}},
			Jobs: []horizon.Job{{ID: "waits", GPUs: 2, Steps: 2, Priority: 1}, {ID: "runs", GPUs: 2, Steps: 2, Priority: 1, Running: &horizon.Running{}}},
			Apps: []horizon.App{{ID: "chat", Min: flat(4, 1), Demand: flat(4, 2), Max: flat(4, 3), SwapCap: 1, Penalty: 7, Current: []int{4, 5}}}}
		tc.spoil(p, &p.Jobs[0], &p.Apps[0])
		got := ""
		if err := p.Check(); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s\nwant %s", got, tc.want)
		}
	}
}
