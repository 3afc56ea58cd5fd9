package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/escala-sched/escala/internal/splitmix"
	"github.com/escala-sched/escala/workload"
)

// LabOptions describe a research lab: who shares a cluster, and how much they ask
// of it. A field that is 0 has its default.
type LabOptions struct {
	// Seed: the same options and seed give the same bytes.
	Seed uint64
	// Days that jobs are submitted in, from a Monday's midnight on (35).
	Days int
	// GPUs of the cluster (1024) and of each of its nodes (8).
	GPUs, GPUsPerNode int
	// Allocated is the GPU-time that work charged to a budget asks for over the
	// GPU-time there (1.0), Offered that of all work (2.5). The rest is sweeps.
	Allocated, Offered float64
	// Teams (15) in Programs (4), of Researchers (150) in all.
	Teams, Programs, Researchers int
	// BurstyTeams are quiet for days and then want everything (5); below 0 = none.
	BurstyTeams int
	// CheckpointOnStop: trainings and sweeps save their state when asked to stop.
	// Else they save it each hour.
	CheckpointOnStop bool
	// Squat adds parked jobs that do nothing, of that part of the GPU-time there: what
	// priorities and limits bring forth. They are no part of Offered.
	Squat float64
}

// Shape of the lab; docs/lab.md says where each figure comes from.
const (
	labDebugRate   = 45000. / (1024 * 35) // jobs per GPU and day
	labSessionRate = 900. / (1024 * 35)
	labTeamGPUs    = 6.0          // a training takes at most that many times its team's part of the GPUs
	labTeamTime    = 0.2          // and that part of its team's GPU-time
	labTail        = 0.9          // exponent of Zipf's law over people and over experiments
	labCap         = 8.0          // hours: the longest minimum runtime
	labFortnight   = 14 * 86400.0 // seconds: the longest training
	labShortest    = 1800         // seconds: the shortest training
	labMostGPUDays = 10_000_000   // of work; bounds what is asked for by mistake
)

var (
	labDebugSizes    = weights{{1, .50}, {2, .15}, {4, .10}, {8, .25}}
	labDebugMinimum  = weights{{300, .2}, {600, .3}, {900, .5}} // seconds
	labSessionSizes  = weights{{1, .7}, {2, .2}, {4, .1}}
	labTrainingSizes = weights{{1, .14}, {2, .10}, {4, .12}, {8, .27}, {16, .14}, {32, .11}, {64, .08}, {128, .025}, {256, .010}, {512, .005}}
	labTrainingHours = weights{{labCap, .40}, {1, .15}, {2, .20}, {4, .20}, {6, .05}}
	labSweepSizes    = weights{{1, .55}, {2, .20}, {4, .13}, {8, .12}}
	labSquatSizes    = weights{{8, .5}, {16, .3}, {32, .15}, {64, .05}}
	labFactors       = weights{{1, .15}, {1.3, .25}, {2, .30}, {4, .20}, {10, .10}}
	// What people claim where priority is free: LOW, NORMAL, HIGH.
	labClaims = [...]weights{
		labDebug:    {{1, .2}, {2, .8}},
		labSession:  {{2, 1}},
		labTraining: {{0, .05}, {1, .35}, {2, .60}},
		labSweep:    {{0, .55}, {1, .35}, {2, .10}},
		labSquat:    {{2, 1}},
	}
	labClaimNames = [...]string{"LOW", "NORMAL", "HIGH"}
)

// labKind is a class of work. Each has a stream of chance of its own in each team.
type labKind uint8

const (
	labDebug labKind = iota
	labSession
	labTraining
	labSweep
	labSquat
	labTraits // a team's own traits
)

var labKindNames = [...]string{"debug", "session", "training", "sweep", "squat"}

// GenerateLab makes up what a research lab submits, and the budgets file of its
// teams. Each team draws each kind of work from a stream of its own: a lab that asks
// for more has the jobs of one that asks for less, with the same IDs, and more (only
// the last training and sweep of each team is cut so that the load comes out).
func GenerateLab(o LabOptions) (w *workload.Workload, budgets []byte, err error) {
	o.fill()
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	l := newLab(o)
	l.submit()
	l.w.Sort()
	l.w.Rows = len(l.w.Jobs)
	l.w.Notes = []string{l.summary()}
	return l.w, l.budgets(), nil
}

func (o *LabOptions) fill() {
	for _, f := range []struct {
		to  *int
		def int
	}{{&o.Days, 35}, {&o.GPUs, 1024}, {&o.GPUsPerNode, 8}, {&o.Teams, 15}, {&o.Programs, 4}, {&o.Researchers, 150}, {&o.BurstyTeams, 5}} {
		if *f.to == 0 {
			*f.to = f.def
		}
	}
	if o.Allocated == 0 {
		o.Allocated = 1
	}
	if o.Offered == 0 {
		o.Offered = 2.5
	}
	o.BurstyTeams = max(o.BurstyTeams, 0)
}

func (o *LabOptions) check() error {
	switch {
	case o.Days < 1 || o.Days > 3660:
		return fmt.Errorf("lab: %d days; want 1 to 3660", o.Days)
	case o.GPUsPerNode < 1 || o.GPUs < 8 || o.GPUs%o.GPUsPerNode != 0:
		return fmt.Errorf("lab: %d GPUs in nodes of %d; want at least 8, in whole nodes", o.GPUs, o.GPUsPerNode)
	case !(o.Allocated > 0) || !(o.Offered >= o.Allocated) || o.Offered > 100:
		return fmt.Errorf("lab: allocated work of %g in %g offered; want 0 < allocated <= offered <= 100, such as 1.0 in 2.5", o.Allocated, o.Offered)
	case float64(o.Days)*float64(o.GPUs)*o.Offered > labMostGPUDays:
		return fmt.Errorf("lab: %d days on %d GPUs at %g are too much; want at most %d GPU-days of work", o.Days, o.GPUs, o.Offered, labMostGPUDays)
	case o.Teams < 1 || o.Teams > 200:
		return fmt.Errorf("lab: %d teams; want 1 to 200", o.Teams)
	case o.Programs < 1 || o.Programs > o.Teams:
		return fmt.Errorf("lab: %d programs; want 1 to the number of teams, %d", o.Programs, o.Teams)
	case o.Researchers < o.Teams || o.Researchers > 1_000_000:
		return fmt.Errorf("lab: %d researchers; want at least one for each of %d teams", o.Researchers, o.Teams)
	case o.BurstyTeams > o.Teams:
		return fmt.Errorf("lab: %d bursty teams; want at most the number of teams, %d", o.BurstyTeams, o.Teams)
	case !(o.Squat >= 0) || o.Squat > 10:
		return fmt.Errorf("lab: squatters on %g of the cluster; want 0 or more, such as 0.15", o.Squat)
	}
	return nil
}

// lab is what is being made.
type lab struct {
	o     LabOptions
	w     *workload.Workload
	teams []labTeam
	span  int64   // seconds
	area  float64 // GPU-seconds there
	// jobs and asked (GPU-seconds) by kind.
	jobs  [len(labKindNames)]int
	asked [len(labKindNames)]int64
}

func newLab(o LabOptions) *lab {
	l := &lab{o: o, span: int64(o.Days) * 86400}
	l.area = float64(l.span) * float64(o.GPUs)
	l.w = &workload.Workload{
		Name: "lab", Epoch: workload.Unknown, Format: "generated", Licence: "CC0-1.0",
		Source: fmt.Sprintf("generate lab seed=%d days=%d gpus=%d gpus_per_node=%d allocated=%g offered=%g teams=%d programs=%d researchers=%d bursty_teams=%d checkpoint_on_stop=%t squat=%g",
			o.Seed, o.Days, o.GPUs, o.GPUsPerNode, o.Allocated, o.Offered, o.Teams, o.Programs, o.Researchers, o.BurstyTeams, o.CheckpointOnStop, o.Squat),
	}
	n := int(190*l.area*o.Offered/(1024*86400*2.5))*35 + 64 // about what comes out
	l.w.Jobs, l.w.Actual = make([]workload.Job, 0, n), make([]workload.Actual, 0, n)
	l.found()
	return l
}

// stream is the source of chance of one kind of work in one team.
func (l *lab) stream(team int, kind labKind) *rand.Rand {
	return rand.New(rand.NewPCG(splitmix.Mix(l.o.Seed), splitmix.Mix(uint64(team)<<8|uint64(kind))))
}

// submit draws all work, team by team.
func (l *lab) submit() {
	for i := range l.teams {
		t := &l.teams[i]
		part := l.area * t.share
		d := l.draw(t, labDebug)
		d.times(labDebugRate*part/86400, d.debug)
		d = l.draw(t, labSession)
		d.times(labSessionRate*part/86400, d.session)
		charged := t.asked[labDebug] + t.asked[labSession]
		d = l.draw(t, labTraining)
		d.upTo(int64(l.o.Allocated*part*t.appetite)-charged, d.training)
		// Sweeps make up what the trainings of all teams leave of the offered load.
		d = l.draw(t, labSweep)
		d.upTo(int64((l.o.Offered-l.o.Allocated)*part*t.curiosity), d.sweep)
		d = l.draw(t, labSquat)
		d.upTo(int64(l.o.Squat*part), d.squat)
		for k, area := range t.asked {
			l.jobs[k] += t.jobs[k]
			l.asked[k] += area
		}
	}
}

func (l *lab) summary() string {
	load := func(kinds ...labKind) float64 {
		var sum int64
		for _, k := range kinds {
			sum += l.asked[k]
		}
		return float64(sum) / l.area
	}
	s := fmt.Sprintf("Asks for %.3f of %d GPUs over %d days in allocated work (%d debug jobs, %d sessions, %d trainings) and %.3f in unallocated work (%d of sweeps)",
		load(labDebug, labSession, labTraining), l.o.GPUs, l.o.Days, l.jobs[labDebug], l.jobs[labSession], l.jobs[labTraining], load(labSweep), l.jobs[labSweep])
	if l.jobs[labSquat] > 0 {
		s += fmt.Sprintf("; %d parked jobs that do nothing ask for %.3f", l.jobs[labSquat], load(labSquat))
	}
	return s + "."
}

// labDraw draws the work of one kind in one team.
type labDraw struct {
	l    *lab
	t    *labTeam
	kind labKind
	rng  *rand.Rand
	left int64 // GPU-seconds that may still be asked for, where that is the bound
}

func (l *lab) draw(t *labTeam, kind labKind) *labDraw {
	return &labDraw{l: l, t: t, kind: kind, rng: l.stream(t.number, kind), left: math.MaxInt64}
}

// times makes a number of jobs.
func (d *labDraw) times(n float64, job func()) {
	for range int(math.Round(n)) {
		job()
	}
}

// upTo makes jobs until they ask for so many GPU-seconds.
func (d *labDraw) upTo(area int64, jobs func()) {
	for d.left = area; d.left > 0; {
		jobs()
	}
}

// labJob is what the kinds differ in.
type labJob struct {
	user, experiment string
	submit           int64 // seconds
	gpus             int64
	seconds          float64
	shortest         int64
	claim            int
	factor           float64 // of the estimate
	patience         workload.Span
	contract         workload.Contract
}

// add takes a job. The one that would ask for more than is left is cut to it, or
// left out where nothing sensible would remain.
func (d *labDraw) add(j *labJob) {
	if d.left <= 0 {
		return
	}
	seconds := max(int64(math.Round(j.seconds)), j.shortest)
	if j.gpus*seconds > d.left {
		seconds = d.left / j.gpus
		d.left = 0
		if seconds < j.shortest {
			return
		}
	} else {
		d.left -= j.gpus * seconds
	}
	t, w := d.t, d.l.w
	t.asked[d.kind] += j.gpus * seconds
	t.jobs[d.kind]++
	work := workload.KindTraining
	if d.kind == labSession {
		work = workload.KindInteractive
	}
	w.Jobs = append(w.Jobs, workload.Job{
		ID: t.name + "-" + labKindNames[d.kind] + "-" + strconv.Itoa(t.jobs[d.kind]), User: j.user, Team: t.name, Kind: work,
		Submit: j.submit * workload.Second, Need: d.l.need(j.gpus), Priority: int64(j.claim),
		Estimate: int64(roundUp(float64(seconds)*j.factor)) * workload.Second,
		Contract: j.contract, Labels: t.label(d.kind, j.experiment, j.claim),
	})
	a := actual(seconds*workload.Second, workload.OutcomeCompleted)
	a.CancelAfter = j.patience
	w.Actual = append(w.Actual, a)
}

// need is a gang of whole nodes, or a part of one node.
func (l *lab) need(gpus int64) workload.Need {
	per := int64(l.o.GPUsPerNode)
	if gpus > per && gpus%per == 0 {
		return workload.Need{Tasks: int32(gpus / per), GPUs: int32(per)}
	}
	return workload.Need{GPUs: int32(gpus)}
}

// common draws what all kinds draw, in the same order.
func (d *labDraw) common(clock labClock, sizes weights, most float64) labJob {
	j := labJob{
		user: d.t.users[d.t.userOf(d.rng)], experiment: d.t.experiments[d.t.experimentOf(d.rng)],
		submit: clock.at(d.rng.Float64()), gpus: int64(sizes.upTo(most).draw(d.rng)), shortest: 20,
		claim: int(labClaims[d.kind].draw(d.rng)), factor: labFactors.draw(d.rng),
	}
	j.contract = workload.Contract{HasMinRuntime: true}
	return j
}

func (d *labDraw) debug() {
	j := d.common(d.t.office, labDebugSizes, d.l.biggest())
	j.seconds = logNormal(d.rng, 300, 0.9, 20, 3600)
	j.contract.MinRuntime = workload.Span(labDebugMinimum.draw(d.rng)) * workload.Second
	j.contract.CheckpointInterval = workload.Hour // it has ended by then: a stop costs all
	j.contract.RestartCost = workload.Minute
	j.patience = 4 * workload.Hour
	d.add(&j)
}

func (d *labDraw) session() {
	j := d.common(d.t.office, labSessionSizes, d.l.biggest())
	j.seconds = logNormal(d.rng, 2.5*3600, 0.7, 900, 10*3600)
	j.contract.MinRuntime = workload.Span(1+d.rng.IntN(2)) * workload.Hour
	j.contract.CheckpointInterval = workload.Day // it has ended by then: a stop costs all
	j.contract.RestartCost = workload.Minute
	j.patience = workload.Hour
	d.add(&j)
}

func (d *labDraw) training() {
	part := d.t.share * float64(d.l.o.GPUs)
	j := d.common(d.t.evening, labTrainingSizes, min(d.l.biggest(), labTeamGPUs*part))
	j.seconds = logNormal(d.rng, 8*3600, 1.4, labShortest, labFortnight)
	j.shortest = labShortest
	// Nobody spends a team's month on one run; not all go to that limit either.
	most := labTeamTime * part * float64(d.l.span) / float64(j.gpus) * (0.5 + d.rng.Float64()/2)
	j.seconds = min(j.seconds, most)
	j.contract.MinRuntime = workload.Span(labTrainingHours.draw(d.rng)) * workload.Hour
	d.restartable(&j, 2*workload.Minute)
	if u := d.rng.Float64(); j.gpus > 64 {
		j.patience = days(3 + 5*u)
	} else {
		j.patience = days(1 + 3*u)
	}
	d.add(&j)
}

// sweep makes one experiment: trials of one size, submitted one a second.
func (d *labDraw) sweep() {
	j := d.common(d.t.night, labSweepSizes, d.l.biggest())
	trials := 4 + int(d.rng.ExpFloat64()*28)
	median := logNormal(d.rng, 2.25*3600, 0.8, 600, 12*3600)
	j.patience = days(0.5 + 1.5*d.rng.Float64())
	d.restartable(&j, 30*workload.Second)
	d.t.sweeps++
	j.experiment = d.t.name + "-s" + itoa(d.t.sweeps)
	j.shortest = 60
	begin := j.submit
	for i := range min(trials, 256) {
		j.submit = min(begin+int64(i), d.l.span-1)
		j.seconds = logNormal(d.rng, median, 0.3, 300, 86400)
		d.add(&j)
	}
}

func (d *labDraw) squat() {
	part := d.t.share * float64(d.l.o.GPUs)
	j := d.common(d.t.office, labSquatSizes, min(d.l.biggest(), 2*part))
	j.seconds = (8 + 40*d.rng.Float64()) * 3600
	j.shortest = labShortest
	j.contract.MinRuntime = labCap * workload.Hour
	j.patience = workload.Day
	d.add(&j)
}

// restartable declares how work is saved.
func (d *labDraw) restartable(j *labJob, grace workload.Span) {
	c := &j.contract
	c.CheckpointInterval = workload.Hour
	c.RestartCost = 5 * workload.Minute
	if d.l.o.CheckpointOnStop {
		c.CheckpointOnStop, c.Grace = true, grace
	}
}

// biggest is the size of the largest job: half of the cluster.
func (l *lab) biggest() float64 { return float64(l.o.GPUs) / 2 }

func days(n float64) workload.Span { return int64(math.Round(n*86400)) * workload.Second }

func logNormal(rng *rand.Rand, median, sigma, lo, hi float64) float64 {
	return min(max(median*math.Exp(sigma*rng.NormFloat64()), lo), hi)
}

// weights are values with the probability of each, the smallest value first where
// values are sizes.
type weights []struct{ value, p float64 }

// upTo leaves out what is larger, but not the first.
func (w weights) upTo(most float64) weights {
	n := len(w)
	for n > 1 && w[n-1].value > most {
		n--
	}
	return w[:n]
}

// draw takes one number from the stream, whatever the weights.
func (w weights) draw(rng *rand.Rand) float64 {
	var total float64
	for i := range w {
		total += w[i].p
	}
	x := rng.Float64() * total
	for i := range w {
		if x -= w[i].p; x < 0 {
			return w[i].value
		}
	}
	return w[len(w)-1].value
}
