package versus

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// Options say what a report is about.
type Options struct {
	// Window chooses jobs by their submission; it begins no sooner than the journal. Now is the
	// present, up to which they are followed.
	Window metrics.Window
	Now    workload.Time
	// Old finds a job that ended before the journal begins, nil if it is not known any more.
	Old func(number int32) *workload.Job
	// Differences is how many jobs are listed.
	Differences int
}

// same is by how much starts may differ and still be the same.
const same = workload.Second

// Of reads the journal of a shadow, and reports.
func Of(r *journal.Reader, o Options) (*api.Shadow, error) {
	p := newTape()
	spec := r.Header().Cluster
	epoch := r.Header().Workload.Epoch
	c := metrics.NewCollector(metrics.Config{Cluster: spec, Window: o.Window, Endless: true})
	x, err := journal.Observe(r, p, c)
	if err == nil {
		err = p.err
	}
	if err != nil {
		return nil, err
	}
	o.Now = max(o.Now, x.Now)
	w := &o.Window
	w.To = min(w.To, o.Now)
	out := &api.Shadow{Policy: r.Header().Policy.Name, Teams: []api.ShadowTeam{}, List: []api.ShadowJob{}}
	if p.opened != workload.Unknown && w.From <= p.opened {
		w.From = p.opened + 1
		out.Incomplete = "The journal begins later than the window, and so does the report. "
	}
	wall := func(t workload.Time) time.Time { return time.UnixMilli(epoch + t).UTC() }
	out.From, out.To = wall(w.From), wall(max(w.To, w.From))
	b := &builder{o: &o, out: out, wall: wall}
	for _, j := range p.order {
		if w.From <= j.spec.Submit && j.spec.Submit < w.To {
			b.jobs = append(b.jobs, j)
		}
	}
	b.counts()
	b.waits()
	b.starts()
	b.order()
	b.guesses()
	parts := b.parts(p)
	shadow, real := c.Tally(o.Now), collect(spec, *w, parts, p.levels, o.Now)
	b.use(&shadow, &real)
	b.teams()
	b.list()
	out.Incomplete = strings.TrimSpace(out.Incomplete)
	return out, nil
}

type builder struct {
	o    *Options
	out  *api.Shadow
	wall func(workload.Time) time.Time
	// jobs of the window; both are those that have started in both.
	jobs, both []*job
}

func (b *builder) counts() {
	n := &b.out.Jobs
	for _, j := range b.jobs {
		n.Submitted++
		if j.real == nil {
			n.Untold++
		}
		if j.refused {
			n.Refused++
		}
		switch shadow, real := j.start != workload.Unknown, j.realStart() != workload.Unknown; {
		case shadow && real:
			n.Both++
			b.both = append(b.both, j)
		case shadow:
			n.OnlyShadow++
		case real:
			n.OnlyReal++
		default:
			n.Neither++
		}
	}
}

// waits of all jobs of the window: those that still wait enter with their time so far, those
// that will never start in none.
func (b *builder) waits() {
	type values struct{ done, open []workload.Span }
	var real, shadow, realDebug, shadowDebug values
	add := func(v *values, j *job, start workload.Time) {
		if start == workload.Unknown {
			v.open = append(v.open, j.wait(b.o.Now))
		} else {
			v.done = append(v.done, j.wait(start))
		}
	}
	debug := false
	for _, j := range b.jobs {
		if j.spec.Service != nil {
			continue
		}
		is := metrics.IsDebug(j.spec)
		debug = debug || is
		if start := j.realStart(); start != workload.Unknown || j.realEnd() == workload.Unknown {
			add(&real, j, start)
			if is {
				add(&realDebug, j, start)
			}
		}
		if j.start != workload.Unknown || !j.withdrawn && !j.refused {
			add(&shadow, j, j.start)
			if is {
				add(&shadowDebug, j, j.start)
			}
		}
	}
	b.out.Wait = api.ShadowWaits{Real: metrics.DistOf(real.done, real.open), Shadow: metrics.DistOf(shadow.done, shadow.open)}
	if debug {
		b.out.DebugWait = &api.ShadowWaits{Real: metrics.DistOf(realDebug.done, realDebug.open), Shadow: metrics.DistOf(shadowDebug.done, shadowDebug.open)}
	}
}

// saved is by how much a job waited less in shadow.
func (j *job) saved() workload.Span { return j.wait(j.realStart()) - j.wait(j.start) }

func (b *builder) starts() {
	s := &b.out.Starts
	var earlier, later []workload.Span
	sum := 0.0
	for _, j := range b.both {
		d := j.saved()
		sum += seconds(d)
		switch {
		case d > same:
			earlier = append(earlier, d)
		case d < -same:
			later = append(later, -d)
		default:
			s.Same++
		}
	}
	s.Earlier, s.Later = len(earlier), len(later)
	s.EarlierBy, s.LaterBy = metrics.DistOf(earlier, nil), metrics.DistOf(later, nil)
	if len(b.both) > 0 {
		s.MeanSaved = sum / float64(len(b.both))
	}
}

func (b *builder) order() {
	groups := map[likes][]pair{}
	for _, j := range b.both {
		k := likes{j.spec.Team, j.spec.Partition, j.spec.Need, j.spec.Priority}
		groups[k] = append(groups[k], pair{j.realStart() / 1000, j.start / 1000})
	}
	for _, g := range groups {
		pairs, swapped := disorder(g)
		b.out.Order.Pairs += pairs
		b.out.Order.Swapped += swapped
	}
}

func (b *builder) guesses() {
	g := &b.out.Guesses
	for _, j := range b.jobs {
		b.out.Stops.Preemptions += j.stops
		if !j.finished {
			continue
		}
		g.Finished++
		if !j.guess {
			continue
		}
		g.Guessed++
		length, told := j.real.Length()
		if !told {
			continue
		}
		g.Told++
		milli := j.spec.Need.TotalMilli()
		switch wrong := length - j.kept; {
		case wrong > same:
			g.TooShort++
			g.TooShortGPUHours += gpuHours(milli, wrong)
		case wrong < -same:
			g.TooLong++
			g.TooLongGPUHours += gpuHours(milli, -wrong)
		}
	}
}

// parts are all runs that really were while the journal was written.
func (b *builder) parts(p *tape) []part {
	var out []part
	for _, j := range p.order {
		if s := j.realStart(); s != workload.Unknown {
			out = append(out, part{j.number, j.spec, s, j.realEnd()})
		}
	}
	lost := 0
	for n, r := range p.old {
		if r.Since == workload.Unknown {
			continue
		}
		var spec *workload.Job
		if b.o.Old != nil {
			spec = b.o.Old(n)
		}
		if spec == nil {
			lost++
			continue
		}
		out = append(out, part{n, spec, r.Since, r.Until})
	}
	if lost > 0 {
		b.out.Incomplete += fmt.Sprintf("Of %d jobs that really run nothing else is known any more. ", lost)
	}
	slices.SortFunc(out, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	return out
}

func (b *builder) use(shadow, real *metrics.Tally) {
	b.out.GPUHours = api.ShadowPair{Real: real.Assigned, Shadow: shadow.Assigned}
	if shadow.Available > 0 {
		b.out.Occupancy = api.ShadowPair{Real: real.Assigned / shadow.Available, Shadow: shadow.Assigned / shadow.Available}
	}
	s := &b.out.Stops
	s.RestartGPUHours = shadow.Restart
	for cause, v := range shadow.Lost {
		if s.LostByCause == nil {
			s.LostByCause = map[string]float64{}
		}
		s.LostByCause[cause] = v
		s.LostGPUHours += v
	}
}

func (b *builder) teams() {
	rows := map[string]*api.ShadowTeam{}
	for _, j := range b.jobs {
		t := rows[j.spec.Team]
		if t == nil {
			t = &api.ShadowTeam{Team: j.spec.Team}
			rows[j.spec.Team] = t
		}
		if length, ok := j.real.Length(); ok {
			t.GPUHours.Real += gpuHours(j.spec.Need.TotalMilli(), length)
		} else if s := j.realStart(); s != workload.Unknown {
			t.GPUHours.Real += gpuHours(j.spec.Need.TotalMilli(), b.o.Now-s)
		}
		t.GPUHours.Shadow += gpuHours(1, j.used+j.milli*(b.o.Now-j.since))
		if j.start == workload.Unknown || j.realStart() == workload.Unknown {
			continue
		}
		t.Jobs++
		t.Saved += seconds(j.saved())
		t.RealWait += seconds(j.wait(j.realStart()))
		t.ShadowWait += seconds(j.wait(j.start))
	}
	for _, t := range rows {
		if t.Jobs > 0 {
			t.RealWait /= float64(t.Jobs)
			t.ShadowWait /= float64(t.Jobs)
		}
		b.out.Teams = append(b.out.Teams, *t)
	}
	slices.SortFunc(b.out.Teams, func(x, y api.ShadowTeam) int {
		return cmp.Or(cmp.Compare(y.Saved, x.Saved), cmp.Compare(x.Team, y.Team))
	})
}

// list lists the jobs whose starts differ most.
func (b *builder) list() {
	for _, j := range b.jobs {
		s := api.ShadowJob{ID: j.spec.ID, Name: (&live.Job{Spec: j.spec}).Name(), User: j.spec.User, Team: j.spec.Team, GPUs: j.spec.Need.TotalGPUs(), Submitted: b.wall(j.spec.Submit),
			Real: b.at(j.realStart()), RealEnd: b.at(j.realEnd()), Shadow: b.at(j.start), ShadowEnd: b.at(j.end), Stops: j.stops, Guess: j.guess}
		if j.real != nil {
			s.On = j.real.Where
		}
		real, shadow := j.realStart(), j.start
		if real == workload.Unknown && shadow == workload.Unknown {
			continue
		}
		if real == workload.Unknown {
			real = b.o.Now
		}
		if shadow == workload.Unknown {
			shadow = b.o.Now
		}
		s.Saved = seconds(j.wait(real) - j.wait(shadow))
		if math.Abs(s.Saved) > seconds(same) {
			b.out.List = append(b.out.List, s)
		}
	}
	slices.SortStableFunc(b.out.List, func(x, y api.ShadowJob) int { return cmp.Compare(math.Abs(y.Saved), math.Abs(x.Saved)) })
	if n := b.o.Differences; len(b.out.List) > n {
		b.out.List = b.out.List[:n]
	}
}

func (b *builder) at(t workload.Time) *time.Time {
	if t == workload.Unknown {
		return nil
	}
	w := b.wall(t)
	return &w
}

func seconds(s workload.Span) float64 { return float64(s) / 1000 }

func gpuHours(milli int64, ms workload.Span) float64 { return float64(milli) * float64(ms) / 3.6e9 }
