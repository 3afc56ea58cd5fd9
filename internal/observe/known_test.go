package observe

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// play shows hand-written facts to metrics without a daemon, by a clock that follows them.
type play struct {
	t     testing.TB
	m     *Metrics
	now   time.Time
	gauge sim.Gauge
}

func newPlay(t testing.TB, cfg Config, spec *cluster.Spec) *play {
	p := &play{t: t, now: time.UnixMilli(0)}
	cfg.Now = func() time.Time { return p.now }
	p.m = New(cfg)
	p.m.c = metrics.NewCollector(metrics.Config{Cluster: spec, Window: metrics.Window{To: workload.Never}, Endless: true})
	n := spec.GPUs() * 1000
	p.gauge = sim.Gauge{Installed: n, Available: n}
	p.m.Instant(&p.gauge)
	return p
}

// at shows an instant.
func (p *play) at(t workload.Time, assigned int64, list ...any) {
	if now := time.UnixMilli(t); now.After(p.now) {
		p.now = now
	}
	for _, x := range list {
		switch x := x.(type) {
		case fact.Fact:
			x.At = t
			p.m.Fact(&x)
		case fact.Action:
			x.At = t
			p.m.Action(&x)
		}
	}
	p.gauge.At, p.gauge.Assigned = t, assigned*1000
	p.m.Instant(&p.gauge)
}

// sum adds up all series of a metric, or the samples of a histogram.
func sum(t testing.TB, m *Metrics, name string) (v float64, samples uint64) {
	t.Helper()
	for series, x := range read(t, m.registry) {
		switch base, _, _ := strings.Cut(series, "{"); base {
		case name, name + "_sum":
			v += x
		case name + "_count":
			samples += uint64(x)
		}
	}
	return v, samples
}

// read returns all series of a registry with their values.
func read(t testing.TB, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(g, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	out := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		i := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		if err != nil {
			t.Fatal(err)
		}
		out[line[:i]] = v
	}
	return out
}

// these are metrics as a collector.
type these []prometheus.Metric

func (l these) Describe(chan<- *prometheus.Desc) {}
func (l these) Collect(ch chan<- prometheus.Metric) {
	for _, x := range l {
		ch <- x
	}
}

func values(t testing.TB, list []prometheus.Metric) map[string]float64 {
	r := prometheus.NewRegistry()
	r.MustRegister(these(list))
	return read(t, r)
}

// TestLifeOfAJob is a job of eight GPUs whose every wait is known (in minutes): submitted 0, GPUs
// assigned 10, checks done 20, running 30, evicted 40, assigned and running again 50, its node
// fails 60 and is back 65, and it ends 100. The job stays assigned all the while of the failure.
func TestLifeOfAJob(t *testing.T) {
	const min = workload.Minute
	p := newPlay(t, Config{}, cluster.Uniform("1x8", 1, 8))
	spec := &workload.Job{ID: "a", Team: "vision", Need: workload.Need{GPUs: 8}}
	pending := func(jobs, gpus float64) {
		t.Helper()
		if n, _ := sum(t, p.m, "escala_waiting_jobs"); n != jobs {
			t.Errorf("at %v %v jobs wait, want %v", p.now, n, jobs)
		}
		if n, _ := sum(t, p.m, "escala_waiting_gpus"); n != gpus {
			t.Errorf("at %v %v GPUs are waited for, want %v", p.now, n, gpus)
		}
	}
	start := fact.Action{Do: fact.Start, Count: 8, Milli: 8000, Place: []fact.Grant{{GPUs: 0xff, Milli: 1000}}}
	p.at(0, 0, fact.Fact{Kind: fact.JobSubmitted, Submitted: spec})
	pending(1, 8)
	start.Attempt = 1
	p.at(10*min, 8, start)
	pending(0, 0)
	p.now = time.UnixMilli(20 * min)
	p.m.Checked(0, 20*min)
	pending(0, 0)
	p.at(30*min, 8, fact.Fact{Kind: fact.JobStarted, Attempt: 1})
	pending(0, 0)
	p.at(40*min, 0, fact.Fact{Kind: fact.JobStopped, Attempt: 1, Cause: fact.CausePreempted})
	pending(1, 8)
	start.Attempt = 2
	p.at(50*min, 8, start, fact.Fact{Kind: fact.JobStarted, Attempt: 2})
	pending(0, 0)
	p.gauge.Available = 0
	p.at(60*min, 8, fact.Fact{Kind: fact.NodeDown}, fact.Fact{Kind: fact.LostSight, Attempt: 2})
	pending(0, 0)
	p.gauge.Available = 8000
	p.at(65*min, 8, fact.Fact{Kind: fact.NodeUp}, fact.Fact{Kind: fact.Found, Attempt: 2})
	pending(0, 0)
	p.at(100*min, 0, fact.Fact{Kind: fact.JobFinished, Attempt: 2})
	pending(0, 0)
	for _, want := range []struct {
		name    string
		minutes float64
	}{
		{"escala_job_quota_wait_seconds", 10}, {"escala_job_admission_wait_seconds", 20}, {"escala_job_ready_wait_seconds", 30},
		{"escala_job_requeue_wait_seconds", 10}, {"escala_job_queue_time_seconds", 40}, {"escala_job_completion_seconds", 100},
	} {
		if v, n := sum(t, p.m, want.name); v != want.minutes*60 || n != 1 {
			t.Errorf("%s: %d samples of %v minutes, want one of %v", want.name, n, v/60, want.minutes)
		}
	}
	if v, _ := sum(t, p.m, "escala_assigned_gpu_seconds_total"); math.Abs(v-640*60) > 1e-6 {
		t.Errorf("%v GPU-minutes were assigned, want 640", v/60)
	}
	if v, _ := sum(t, p.m, "escala_preemptions_total"); v != 1 {
		t.Errorf("%v preemptions, want 1", v)
	}
	if v, _ := sum(t, p.m, "escala_node_failure_stops_total"); v != 0 {
		t.Errorf("%v runs ended by the failure, want none", v)
	}
}

// TestHeldIsNotWaiting: half of the time before the first start, and before the second, the job is held.
func TestHeldIsNotWaiting(t *testing.T) {
	const min = workload.Minute
	p := newPlay(t, Config{}, cluster.Uniform("1x8", 1, 8))
	spec := &workload.Job{ID: "a", Team: "vision", Need: workload.Need{GPUs: 8}}
	hold, release := fact.Fact{Kind: fact.JobHeld, Hold: fact.HoldOperator}, fact.Fact{Kind: fact.JobReleased, Hold: fact.HoldOperator}
	start := fact.Action{Do: fact.Start, Count: 8, Milli: 8000, Place: []fact.Grant{{GPUs: 0xff, Milli: 1000}}}
	p.at(0, 0, fact.Fact{Kind: fact.JobSubmitted, Submitted: spec}, hold)
	if v, _ := sum(t, p.m, "escala_waiting_jobs"); v != 0 {
		t.Errorf("%v jobs wait, want none", v)
	}
	if v, _ := sum(t, p.m, "escala_kept_jobs"); v != 1 {
		t.Errorf("%v jobs are held, want 1", v)
	}
	p.at(10*min, 0, release)
	p.at(20*min, 8, start, fact.Fact{Kind: fact.JobStarted})
	p.at(25*min, 8, hold)
	p.at(30*min, 0, fact.Fact{Kind: fact.JobStopped, Cause: fact.CauseOperator})
	p.at(40*min, 0, release)
	p.at(45*min, 8, start, fact.Fact{Kind: fact.JobStarted})
	p.at(60*min, 0, fact.Fact{Kind: fact.JobFinished})
	for name, minutes := range map[string]float64{"escala_job_quota_wait_seconds": 10, "escala_job_ready_wait_seconds": 10, "escala_job_requeue_wait_seconds": 5,
		"escala_job_queue_time_seconds": 15, "escala_job_completion_seconds": 60} {
		if v, n := sum(t, p.m, name); v != minutes*60 || n != 1 {
			t.Errorf("%s: %d samples of %v minutes, want one of %v", name, n, v/60, minutes)
		}
	}
}

// TestActivityIsWeighted: a whole GPU that is half busy, a slice of three sevenths that is busy, and
// one that was not measured.
func TestActivityIsWeighted(t *testing.T) {
	var s world.Sample
	p := newPlay(t, Config{Activity: func() world.Sample { return s }}, cluster.Uniform("1x8", 1, 8))
	s = world.Sample{At: p.now, GPUs: []world.GPUSample{{Busy: 500, Part: 1000}, {GPU: 1, Busy: 1000, Part: 429}, {GPU: 2, Busy: -1, Part: 1000, MemoryUsed: 1, MemoryTotal: 2}}}
	got := values(t, p.m.activityValues())
	if v, want := got[activityRatio.name], (0.5+0.429)/1.429; math.Abs(v-want) > 1e-12 {
		t.Errorf("activity %v, want %v", v, want)
	}
	if v := got[activityGPUs.name]; math.Abs(v-1.429) > 1e-12 {
		t.Errorf("%v GPUs were measured, want 1.429", v)
	}
	s.GPUs = s.GPUs[2:]
	if _, ok := values(t, p.m.activityValues())[activityRatio.name]; ok {
		t.Error("what was not measured has an activity")
	}
	s.At = p.now.Add(-stale - 1)
	if len(p.m.activityValues()) != 0 {
		t.Error("a stale measurement is shown")
	}
}

// TestTeamsAreBounded: teams beyond the limit are one, and nothing is lost.
func TestTeamsAreBounded(t *testing.T) {
	p := newPlay(t, Config{Teams: 2}, cluster.Uniform("1x8", 1, 8))
	for i, team := range []string{"a", "b", "c", "d", others, "bad\xff"} {
		p.at(int64(i), 0, fact.Fact{Kind: fact.JobSubmitted, Job: int32(i), Submitted: &workload.Job{ID: team, Team: team, Need: workload.Need{GPUs: 1}}})
	}
	if v, _ := sum(t, p.m, "escala_waiting_jobs"); v != 6 {
		t.Errorf("%v jobs wait, want 6", v)
	}
	if n := len(p.m.jobs.teams.list); n != 3 {
		t.Errorf("%d teams have labels, want 3", n)
	}
}

// TestScrapesOnlyGrow: a scrape while an instant is under way, whose facts come later with an
// earlier time, must not make a counter go back.
func TestScrapesOnlyGrow(t *testing.T) {
	p := newPlay(t, Config{}, cluster.Uniform("1x8", 1, 8))
	start := fact.Action{Do: fact.Start, Count: 8, Milli: 8000, Place: []fact.Grant{{GPUs: 0xff, Milli: 1000}}}
	p.at(0, 8, fact.Fact{Kind: fact.JobSubmitted, Submitted: &workload.Job{ID: "a", Need: workload.Need{GPUs: 8}}}, start)
	var last float64
	for i := range int64(50) {
		p.now = time.UnixMilli(1000*i + 900) // the instant began 300 ms ago
		v, _ := sum(t, p.m, "escala_assigned_gpu_seconds_total")
		if v < last {
			t.Fatalf("%v after %v", v, last)
		}
		last = v
		p.at(1000*i+600, 8)
	}
	if last < 8*49 || last > 8*51 {
		t.Errorf("%v GPU-seconds, want about 400", last)
	}
}

func BenchmarkFacts(b *testing.B) {
	p := newPlay(b, Config{}, cluster.Uniform("1x8", 1, 8))
	spec := &workload.Job{ID: "a", Team: "vision", Need: workload.Need{GPUs: 8}}
	start := fact.Action{Do: fact.Start, Count: 8, Milli: 8000, Place: []fact.Grant{{GPUs: 0xff, Milli: 1000}}}
	b.ReportAllocs()
	var at int64
	var n int32
	for b.Loop() { // a life: submission, start, confirmation, end; four lines and three instants
		submitted := fact.Fact{Kind: fact.JobSubmitted, Job: n, Submitted: spec, At: at}
		start.Job, start.At = n, at
		p.m.Fact(&submitted)
		p.m.Action(&start)
		p.gauge.At, p.gauge.Assigned = at, 8000
		p.m.Instant(&p.gauge)
		up := fact.Fact{Kind: fact.JobStarted, Job: n, At: at + 1}
		p.m.Fact(&up)
		p.gauge.At = at + 1
		p.m.Instant(&p.gauge)
		done := fact.Fact{Kind: fact.JobFinished, Job: n, At: at + 2}
		p.m.Fact(&done)
		p.gauge.At, p.gauge.Assigned = at+2, 0
		p.m.Instant(&p.gauge)
		at, n = at+3, n+1
	}
}

func BenchmarkScrape(b *testing.B) {
	p := newPlay(b, Config{}, cluster.Uniform("1x8", 1, 8))
	for i := range int32(10_000) { // a hundred teams with a hundred jobs each
		team := strconv.Itoa(int(i % 100))
		p.at(int64(i), 0, fact.Fact{Kind: fact.JobSubmitted, Job: i, Submitted: &workload.Job{ID: strconv.Itoa(int(i)), Team: team, Need: workload.Need{GPUs: 1 + i%80}}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.m.registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
