package main

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/escala-sched/escala/workload"
)

// compressed is how much shorter all is than on a real day: 100 s stand for one. A job of 36 s is one of an hour.
const compressed = 100

// Teams that have budgets, and what is free: charged to nobody, first to give way.
const (
	large  = "large"
	middle = "middle"
	small  = "small"
	free   = "free"
)

var accounts = []string{large, middle, small, free}

// job is what somebody asks for, and what it does.
type job struct {
	at, length time.Duration
	account    string
	debug      bool
	// tasks of gpus each, on as many nodes; 1 = wherever there is room.
	tasks, gpus int
	// safe is the minimum runtime that is declared, limit the time limit in minutes, the least that Slurm knows.
	safe  time.Duration
	limit int
}

func (j *job) all() int { return j.tasks * j.gpus }

// drawDay draws jobs over a time, so that they ask for so much of what the cluster has in it.
func drawDay(seed uint64, day time.Duration, load float64, shorter int) []job {
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same each time
	var out []job
	at, work := 0.0, 0.0
	for want := load * nodes * perNode * day.Seconds(); work < want; at -= math.Log(1 - rnd.Float64()) {
		j := drawJob(rnd)
		j.length = max(j.length/time.Duration(shorter), time.Second)
		j.at = time.Duration(at * float64(time.Second))
		work += float64(j.all()) * j.length.Seconds()
		out = append(out, j)
	}
	for i := range out { // gaps were drawn of any length: now they fill the day
		out[i].at = time.Duration(float64(out[i].at) / (at * float64(time.Second)) * float64(day)).Round(time.Millisecond)
	}
	return out
}

func drawJob(rnd *rand.Rand) job {
	j := job{tasks: 1, length: time.Duration(10*math.Pow(12, rnd.Float64())) * time.Second}
	switch x := rnd.IntN(20); {
	case x < 8:
		j.gpus = 1
	case x < 11:
		j.gpus = 2
	case x < 14:
		j.gpus = 4
	case x < 17:
		j.gpus = 8
	case x < 19:
		j.tasks, j.gpus = 2, 4 // half of each of two nodes
	default:
		j.tasks, j.gpus = 2, 8
	}
	switch x := rnd.IntN(20); {
	case x < 10:
		j.account = large
	case x < 14:
		j.account = middle
	case x < 16:
		j.account = small
	default:
		j.account = free
	}
	j.safe = []time.Duration{15 * time.Second, 30 * time.Second, 60 * time.Second}[rnd.IntN(3)]
	if rnd.IntN(12) == 0 && j.account != free { // is the code right at all?
		j.debug, j.tasks, j.gpus = true, 1, 1+rnd.IntN(2)
		j.length, j.safe = time.Duration(3+rnd.IntN(5))*time.Second, 8*time.Second
	}
	if j.account == free {
		j.safe = 0
	}
	// People ask for up to three times what they need; 20 s more let Slurm start and end it.
	j.limit = int(math.Ceil((j.length.Seconds()*(1+2*rnd.Float64()) + 20) / 60))
	return j
}

// grace of all jobs: what Slurm takes to signal them is no hundredth of what it is on a real day.
const grace = 5 * time.Second

// contract is what a job declares, as its comment says it.
func (j *job) contract() workload.Contract {
	return workload.Contract{HasMinRuntime: true, MinRuntime: j.safe.Milliseconds(), Grace: grace.Milliseconds(), CheckpointOnStop: true}
}

func (j *job) comment() string {
	return "escala:min-runtime=" + j.safe.String() + ",grace=" + grace.String() + ",checkpoint-on-stop"
}
