package versus_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/versus"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/shadow"
	"github.com/escala-sched/escala/internal/world/simworld"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// labelRuns is how long a job really runs, in ms.
const labelRuns = "runs"

// reality is a scheduler that really runs jobs, and tells a shadow what happens to them.
type reality struct {
	tell chan live.Observation
	d    *live.Daemon
	ids  map[int32]string
}

func (r *reality) Fact(f *fact.Fact) {
	switch f.Kind {
	case fact.JobSubmitted:
		r.ids[f.Job] = f.Submitted.ID
	case fact.JobStarted:
		r.tell <- live.Observation{ID: r.ids[f.Job], Started: r.d.Wall(f.At)}
	case fact.JobFinished:
		r.tell <- live.Observation{ID: r.ids[f.Job], Ended: r.d.Wall(f.At), Outcome: f.Outcome, HasOutcome: true, Exit: f.Exit}
	}
}

func (r *reality) Action(*fact.Action) {}
func (r *reality) Instant(*sim.Gauge)  {}

// pairOf are a reality and its shadow.
type pairOf struct {
	t            *testing.T
	real, shadow *live.Daemon
	ids          []string
	cfg          live.Config
	stop         func()
}

// beside runs jobs really under one policy while another decides in shadow.
func beside(t *testing.T, really, inShadow string, test func(p *pairOf)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		spec := cluster.Uniform("rig", 2, 8)
		config := func(name, pol string, w world.World) live.Config {
			st, err := store.Open(t.Context(), filepath.Join(dir, name+".db"))
			if err != nil {
				t.Fatal(err)
			}
			x, err := policy.Resolve(pol)
			if err != nil {
				t.Fatal(err)
			}
			return live.Config{Store: st, World: w, Policy: x, Version: "test", Holder: "test", Now: time.Now,
				Assume: sim.Assumptions{Checkpoint: -1, Grace: 10 * workload.Second, StartLatency: 30 * workload.Second}}
		}
		m := simworld.New(spec, simworld.Options{Now: time.Now, Behave: func(o *world.Order) simworld.Behaviour {
			ms, _ := strconv.Atoi(o.Spec.Labels[labelRuns])
			return simworld.Behaviour{Duration: time.Duration(ms) * time.Millisecond, Exit: int32(ms % 2)}
		}})
		r := &reality{tell: make(chan live.Observation, 1000), ids: map[int32]string{}}
		rc, sc := config("real", really, m.Open()), config("shadow", inShadow, shadow.Over(spec, time.Now))
		rc.Observers = []live.Observer{r}
		sc.Shadow = true
		p := &pairOf{t: t, cfg: sc}
		var err error
		if p.real, err = live.Open(t.Context(), rc); err != nil {
			t.Fatal(err)
		}
		r.d = p.real
		p.open()
		stopReal := run(t, p.real)
		told := make(chan struct{})
		go func() {
			defer close(told)
			for o := range r.tell {
				if errs, err := p.shadow.Observe(t.Context(), []live.Observation{o}, "real"); err != nil || errs[0] != nil {
					t.Error(o, errs, err)
				}
			}
		}()
		test(p)
		stopReal()
		close(r.tell)
		<-told
		p.stop()
		for _, st := range []store.Store{rc.Store, sc.Store} {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// run runs a daemon until it is told to stop.
func run(t *testing.T, d *live.Daemon) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// open opens the shadow anew.
func (p *pairOf) open() {
	var err error
	p.cfg.World = shadow.Over(p.cfg.World.Cluster(), time.Now)
	if p.shadow, err = live.Open(p.t.Context(), p.cfg); err != nil {
		p.t.Fatal(err)
	}
	p.stop = run(p.t, p.shadow)
}

// submit submits a job to both.
func (p *pairOf) submit(j workload.Job, runs time.Duration) {
	p.t.Helper()
	j.Labels = map[string]string{labelRuns: strconv.FormatInt(runs.Milliseconds(), 10)}
	var id string
	for _, d := range []*live.Daemon{p.shadow, p.real} {
		done, err := d.Submit(p.t.Context(), &live.Submission{Job: j, By: j.User})
		if err != nil {
			p.t.Fatal(err)
		}
		id = done.ID
	}
	p.ids = append(p.ids, id)
	synctest.Wait()
}

// work submits jobs at random for some time, and waits until all is done.
func (p *pairOf) work(rnd *rand.Rand, jobs int, interruptible bool) {
	for range jobs {
		u := []string{"ana", "eva", "ida"}[rnd.IntN(3)]
		runs := time.Duration(1000+rnd.IntN(1_800_000)) * time.Millisecond
		j := workload.Job{User: u, Team: u, Need: workload.Need{GPUs: []int32{1, 1, 2, 4, 8, 16}[rnd.IntN(6)]}}
		j.Estimate = runs.Milliseconds() * int64(50+rnd.IntN(150)) / 100
		if interruptible {
			j.Contract = workload.Contract{HasMinRuntime: true, MinRuntime: int64(rnd.IntN(4)) * 5 * workload.Minute, CheckpointOnStop: rnd.IntN(2) == 0}
		}
		p.submit(j, runs)
		time.Sleep(time.Duration(rnd.IntN(300_000)) * time.Millisecond)
	}
}

func (p *pairOf) rest() {
	time.Sleep(100 * time.Hour)
	synctest.Wait()
}

func (p *pairOf) report(from workload.Time) *api.Shadow {
	p.t.Helper()
	out, err := versus.Report(p.t.Context(), p.shadow, versus.Options{Window: metrics.Window{From: from, To: workload.Never}, Differences: 1000})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// TestTheSameSchedulerIsItsOwnShadow: where reality is run by the same engine under the same
// policy, shadow does what it does at the same time, whatever people say of their jobs.
func TestTheSameSchedulerIsItsOwnShadow(t *testing.T) {
	for seed := range uint64(6) {
		for _, name := range []string{"fifo", "fifo-skip"} {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				beside(t, name, name, func(p *pairOf) {
					p.work(rand.New(rand.NewPCG(seed, 1)), 60, false)
					p.rest()
					for _, id := range p.ids {
						a, b := p.job(p.real, id), p.job(p.shadow, id)
						if d := b.FirstStart() - a.FirstStart(); d < -1000 || d > 1000 {
							t.Errorf("job %s: shadow is off by %d ms", id, d)
						}
						if a.Outcome != b.Outcome || a.Exit != b.Exit {
							t.Errorf("job %s ended %s (%d), in shadow %s (%d)", id, a.Outcome, a.Exit, b.Outcome, b.Exit)
						}
					}
					r := p.report(0)
					if n := len(p.ids); r.Jobs.Both != n || r.Starts.Same != n || r.Order.Swapped != 0 || r.Guesses.Finished != n || r.Guesses.Guessed != 0 || len(r.List) != 0 {
						t.Errorf("%+v", r)
					}
					if math.Abs(r.Occupancy.Real-r.Occupancy.Shadow) > 1e-3 || math.Abs(r.GPUHours.Real-r.GPUHours.Shadow) > 0.05 {
						t.Errorf("%+v %+v", r.Occupancy, r.GPUHours)
					}
				})
			})
		}
	}
}

func (p *pairOf) job(d *live.Daemon, id string) *live.Job {
	p.t.Helper()
	j, err := d.Job(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	return &j
}

// TestReportEqualsARecount: under another policy each number of the report is what comes of
// counting jobs one by one.
func TestReportEqualsARecount(t *testing.T) {
	for seed := range uint64(6) {
		name := []string{"contract", "sjf", "srtf"}[seed%3]
		t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
			beside(t, "fifo", name, func(p *pairOf) {
				rnd := rand.New(rand.NewPCG(seed, 2))
				for range 3 {
					p.work(rnd, 25, true)
					p.stop() // what the report rests on outlives restarts
					p.open()
				}
				if seed >= 3 {
					p.rest()
				}
				p.recount(p.report(0), 0)
				from := p.shadow.Time(time.Now()) / 2 // the journal is read from a snapshot on
				if seed >= 3 {
					from = workload.Hour
				}
				p.recount(p.report(from), from)
			})
		})
	}
}

func (p *pairOf) recount(r *api.Shadow, from workload.Time) {
	t := p.t
	now := p.shadow.Time(time.Now())
	same := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	type row struct {
		j            *live.Job
		real, shadow int64
	}
	var both []row
	var realWaits, shadowWaits []int64
	var realUse, shadowUse, saved float64
	teams := map[string]float64{}
	var early, late, equal, stops, guessed, finished, short, long int
	n := 0
	for _, id := range p.ids {
		a, b := p.job(p.real, id), p.job(p.shadow, id)
		// What reality has told is what the shadow knows.
		since, until := workload.Unknown, workload.Unknown
		if b.Real != nil {
			since, until = b.Real.Since, b.Real.Until
		}
		if a.FirstStart() != since {
			t.Errorf("job %s really started at %d, but that is %d", id, a.FirstStart(), since)
		}
		wait := func(start int64) int64 {
			if start == workload.Unknown {
				start = now
			}
			return start - b.Spec.Submit
		}
		in := b.Spec.Submit >= from
		if in {
			n++
			realWaits, shadowWaits = append(realWaits, wait(since)), append(shadowWaits, wait(b.FirstStart()))
		}
		milli := float64(b.Spec.Need.TotalMilli())
		if since != workload.Unknown {
			end := until
			if end == workload.Unknown {
				end = now
			}
			realUse += milli * float64(max(end-max(since, from), 0)) / 3.6e9
		}
		for i := range b.Runs {
			x := &b.Runs[i]
			end := x.Left
			if end == workload.Unknown {
				end = now
			}
			shadowUse += milli * float64(max(end-max(x.Decided, from), 0)) / 3.6e9
			if in && x.End == fact.JobStopped {
				stops++
			}
			if in && x.End == fact.JobFinished {
				finished++
				if x.Text == shadow.GuessText {
					guessed++
					if until != workload.Unknown && until-since > b.Kept+1000 {
						short++
					}
					if until != workload.Unknown && until-since < b.Kept-1000 {
						long++
					}
				}
			}
		}
		if !in || since == workload.Unknown || b.FirstStart() == workload.Unknown {
			continue
		}
		d := float64(wait(since)-wait(b.FirstStart())) / 1000
		saved += d
		teams[b.Spec.Team] += d
		switch {
		case d > 1:
			early++
		case d < -1:
			late++
		default:
			equal++
		}
		both = append(both, row{b, since / 1000, b.FirstStart() / 1000})
	}
	var pairs, swapped int64
	for i := range both {
		for k := range i {
			a, b := &both[i], &both[k]
			if a.j.Spec.Team != b.j.Spec.Team || a.j.Spec.Need != b.j.Spec.Need || a.real == b.real || a.shadow == b.shadow {
				continue
			}
			pairs++
			if a.real < b.real != (a.shadow < b.shadow) {
				swapped++
			}
		}
	}
	for what, x := range map[string][2]int{"submitted": {r.Jobs.Submitted, n}, "both": {r.Jobs.Both, len(both)}, "earlier": {r.Starts.Earlier, early}, "later": {r.Starts.Later, late},
		"same": {r.Starts.Same, equal}, "pairs": {int(r.Order.Pairs), int(pairs)}, "swapped": {int(r.Order.Swapped), int(swapped)}, "stops": {r.Stops.Preemptions, stops},
		"finished": {r.Guesses.Finished, finished}, "guessed": {r.Guesses.Guessed, guessed}, "too short": {r.Guesses.TooShort, short}, "too long": {r.Guesses.TooLong, long}} {
		if x[0] != x[1] {
			t.Errorf("%s: %d, want %d", what, x[0], x[1])
		}
	}
	if len(both) > 0 {
		same("mean saved", r.Starts.MeanSaved, saved/float64(len(both)))
	}
	for _, x := range r.Teams {
		same("saved by "+x.Team, x.Saved, teams[x.Team])
	}
	for what, x := range map[string]struct {
		got  metrics.Dist
		want []int64
	}{"real": {r.Wait.Real, realWaits}, "shadow": {r.Wait.Shadow, shadowWaits}} {
		slices.Sort(x.want)
		n := len(x.want)
		sum := 0.0
		for _, w := range x.want {
			sum += float64(w) / 1000
		}
		same(what+" mean", x.got.Mean, sum/float64(n))
		same(what+" p50", x.got.P50, float64(x.want[(n*50+99)/100-1])/1000)
		same(what+" p90", x.got.P90, float64(x.want[(n*90+99)/100-1])/1000)
	}
	same("real GPU-hours", r.GPUHours.Real, realUse)
	same("shadow GPU-hours", r.GPUHours.Shadow, shadowUse)
	if r.Incomplete != "" {
		t.Error(r.Incomplete)
	}
	t.Logf("%d jobs, %d in both, %d earlier, %d later, %d of %d pairs swapped, %d stops, %d of %d guessed, occupancy %.3f and %.3f", n, len(both), early, late, swapped, pairs, stops, guessed, finished,
		r.Occupancy.Real, r.Occupancy.Shadow)
}
