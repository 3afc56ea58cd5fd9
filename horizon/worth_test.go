package horizon_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/legal"
)

// TestWorthDoesNotOverflow: at the limits of priorities, penalties, GPUs and steps a plan is worth
// what floating point says as well.
func TestWorthDoesNotOverflow(t *testing.T) {
	for _, size := range [][2]int{{1024, 96}, {1 << 16, 1 << 8}, {1 << 12, 1 << 12}} {
		gpus, steps := size[0], size[1]
		p := &horizon.Problem{GPUs: gpus, Steps: steps, Decay: 0.999, Jobs: []horizon.Job{{ID: "all", GPUs: gpus, Steps: steps / 2, Priority: 1 << 20}},
			Apps: []horizon.App{{ID: "a", Min: flat(steps, 0), Demand: flat(steps, gpus), Max: flat(steps, gpus), SwapCap: 0, Penalty: 1 << 20}}}
		s, err := horizon.NewSearch(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		score := s.Plan().Score()
		if got := score.Exact(); got != s.Best() {
			t.Errorf("%v: the search says %d, the plan is worth %d", size, s.Best(), got)
		}
		value := float64(gpus) * (1 << 20) * (1 - math.Pow(0.999, float64(steps/2))) / (1 - 0.999)
		penalty := float64(gpus) * (1 << 20) * float64(steps)
		if math.Abs(score.Value/value-1) > 1e-4 || math.Abs(score.Penalty/penalty-1) > 1e-12 {
			t.Errorf("%v: value %v, penalty %v; want %v, %v", size, score.Value, score.Penalty, value, penalty)
		}
	}
}

// TestLateInFull: a job that is worth as much when it is late is worth no less.
func TestLateInFull(t *testing.T) {
	p := &horizon.Problem{GPUs: 3, Steps: 2, Decay: 0.97, Jobs: []horizon.Job{{ID: "a", GPUs: 1, Steps: 2, Priority: 7}}}
	onTime, err := horizon.Fast(p, horizon.Options{Work: 1})
	if err != nil {
		t.Fatal(err)
	}
	p.Jobs[0].Deadline, p.Jobs[0].Late = 1, 1000
	late, err := horizon.Fast(p, horizon.Options{Work: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := onTime.Score, late.Score; a.Exact() != b.Exact() || b.Late != 1 {
		t.Errorf("%+v late, %+v in time", b, a)
	}
}

// crowd is a large problem in which there is more work than room.
func crowd(gpus, steps, jobs int) *horizon.Problem {
	p := &horizon.Problem{GPUs: gpus, Steps: steps, Decay: 0.99}
	x := uint64(1)
	draw := func(n int) int { // a linear congruential generator (Knuth)
		x = x*6364136223846793005 + 1442695040888963407
		return int(x>>33) % n
	}
	for i := range jobs {
		p.Jobs = append(p.Jobs, horizon.Job{ID: strconv.Itoa(i), GPUs: 1 << draw(6), Steps: 1 + draw(24), Priority: int64(1 + draw(1<<20)), Release: draw(2) * draw(steps)})
	}
	demand, least, most := make([]int, steps), make([]int, steps), make([]int, steps)
	for t := range steps {
		demand[t] = gpus/16 + gpus/32*(t%24)/24
		least[t], most[t] = demand[t]/2, demand[t]+gpus/64
	}
	for i := range 3 {
		p.Apps = append(p.Apps, horizon.App{ID: "a" + strconv.Itoa(i), Min: least, Demand: demand, Max: most, SwapCap: gpus / 16, Penalty: 1 << 20})
	}
	return p
}

// TestLargeProblem: 1,024 GPUs, four days of hours, 2,000 jobs.
func TestLargeProblem(t *testing.T) {
	p := crowd(1024, 96, 2000)
	s, err := horizon.NewSearch(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Run(3, nil)
	plan := s.Plan()
	if v := legal.Check(plan); len(v) > 0 {
		t.Fatal(v)
	}
	score := plan.Score()
	if score.Exact() != s.Best() || score.Started < 500 {
		t.Errorf("the search says %d, the plan is worth %d; %d started", s.Best(), score.Exact(), score.Started)
	}
	if u := horizon.Bound(p, score.Objective, 3); u < score.Objective {
		t.Errorf("a bound of %v for %v", u, score.Objective)
	}
}
