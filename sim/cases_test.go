package sim_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
	"golang.org/x/tools/txtar"
)

// TestCases runs the scenario files of testdata/cases: small stories with one
// right answer. Their language is described in testdata/cases/README.md.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			c := readCase(t, f)
			for _, p := range c.policies {
				t.Run(p.Name, func(t *testing.T) { c.run(t, p) })
			}
		})
	}
}

type scenario struct {
	unit     workload.Span
	cluster  *cluster.Spec
	policies []*policy.Policy
	work     workload.Workload
	budgets  *budget.Tree
	assume   sim.Assumptions
	windows  []fact.Fact
	until    workload.Time
	expect   []expectation
}

type expectation struct {
	line int
	// only is the policy that it is confined to, "" = none.
	only  string
	words []string
}

func readCase(t *testing.T, file string) *scenario {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ar := txtar.Parse(data)
	files := map[string][]byte{}
	for _, f := range ar.Files {
		files[f.Name] = f.Data
	}
	c := &scenario{unit: workload.Minute, assume: sim.Assumptions{Checkpoint: -1}}
	c.work.Name, c.work.Epoch = filepath.Base(file), workload.Unknown
	s := bufio.NewScanner(strings.NewReader(string(ar.Comment)))
	for n := 1; s.Scan(); n++ {
		text, _, _ := strings.Cut(s.Text(), "#")
		w := strings.Fields(text)
		if len(w) == 0 {
			continue
		}
		if err := c.line(n, w, files); err != nil {
			t.Fatalf("%s:%d: %v", file, n, err)
		}
	}
	c.work.Sort()
	if err := c.work.Check(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c
}

func (c *scenario) line(n int, w []string, files map[string][]byte) (err error) {
	switch w[0] {
	case "unit":
		c.unit = map[string]workload.Span{"s": workload.Second, "min": workload.Minute, "h": workload.Hour}[w[1]]
	case "cluster":
		var ok bool
		if c.cluster, ok, err = cluster.ParseShort(w[1]); !ok {
			c.cluster, err = cluster.ParseYAML(w[1], files[w[1]])
		}
	case "policy":
		for _, ref := range w[1:] {
			var p *policy.Policy
			if data, ok := files[ref]; ok {
				p, err = policy.Parse(ref, data)
			} else if strings.HasSuffix(ref, ".yaml") { // one that several stories share
				p, err = policy.Load(filepath.Join("testdata", "cases", ref))
			} else {
				p, err = policy.Resolve(ref)
			}
			if err != nil {
				return err
			}
			c.policies = append(c.policies, p)
		}
	case "budgets":
		c.budgets, err = budget.Parse(w[1], files[w[1]])
	case "until":
		c.until, err = c.time(w[1])
	case "epoch": // the date of time 0
		var day time.Time
		day, err = time.Parse(time.DateOnly, w[1])
		c.work.Epoch = day.UnixMilli()
	case "assume":
		for _, kv := range w[1:] {
			k, v, _ := strings.Cut(kv, "=")
			d, err := c.time(v)
			if err != nil {
				return err
			}
			switch k {
			case "checkpoint":
				c.assume.Checkpoint = d
			case "restart":
				c.assume.RestartCost = d
			case "grace":
				c.assume.Grace = d
			case "latency":
				c.assume.StartLatency = d
			default:
				return fmt.Errorf("unknown assumption %q", k)
			}
		}
	case "window":
		return c.window(w[1:])
	case "job":
		return c.job(w[1], 0, w[2:])
	case "jobs": // jobs NAME FROM..TO key=first+step ...
		from, to, ok := strings.Cut(w[2], "..")
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if !ok || err1 != nil || err2 != nil {
			return fmt.Errorf("range %q; want FROM..TO", w[2])
		}
		for i := a; i <= b; i++ {
			if err := c.job(w[1]+strconv.Itoa(i), i-a, w[3:]); err != nil {
				return err
			}
		}
	default:
		only, ok := strings.CutPrefix(w[0], "@") // @policy expectation: for that policy alone
		if ok {
			w = w[1:]
		} else {
			only = ""
		}
		c.expect = append(c.expect, expectation{n, only, w})
	}
	return err
}

// window reads NAME FROM UNTIL node=N,N team=T user=U set=TIME lift=TIME.
func (c *scenario) window(w []string) (err error) {
	x := &fact.Window{ID: w[0]}
	set, lift := workload.Time(0), workload.Never
	if x.From, err = c.time(w[1]); err != nil {
		return err
	}
	if x.Until, err = c.time(w[2]); err != nil {
		return err
	}
	for _, kv := range w[3:] {
		k, v, _ := strings.Cut(kv, "=")
		switch k {
		case "node":
			for _, name := range strings.Split(v, ",") {
				x.Nodes = append(x.Nodes, int32(slices.IndexFunc(c.cluster.Nodes, func(n cluster.Node) bool { return n.Name == name })))
			}
		case "team":
			x.Teams = strings.Split(v, ",")
		case "user":
			x.Users = strings.Split(v, ",")
		case "set":
			set, err = c.time(v)
		case "lift":
			lift, err = c.time(v)
		default:
			err = fmt.Errorf("unknown key %q", k)
		}
		if err != nil {
			return err
		}
	}
	c.windows = append(c.windows, fact.Fact{Kind: fact.WindowSet, At: set, Job: -1, Node: -1, Window: x})
	if lift < workload.Never {
		c.windows = append(c.windows, fact.Fact{Kind: fact.WindowLifted, At: lift, Job: -1, Node: -1, Window: &fact.Window{ID: x.ID}})
	}
	return nil
}

// from is an empty state from which windows are told, nil where there are none.
func (c *scenario) from(t *testing.T, p *policy.Policy) *sim.From {
	if len(c.windows) == 0 {
		return nil
	}
	e, err := engine.New(c.cluster, p, engine.Defaults{Checkpoint: c.assume.Checkpoint, RestartCost: c.assume.RestartCost, Grace: c.assume.Grace, StartLatency: c.assume.StartLatency})
	if err != nil {
		t.Fatal(err)
	}
	if p.Sharing != nil {
		b := c.budgets
		if b == nil {
			b = sim.EqualBudgets(&c.work)
		}
		if err := e.Apply(&fact.Fact{Kind: fact.BudgetsChanged, At: -1, Job: -1, Node: -1, Budgets: b, Epoch: c.work.Epoch}); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortStableFunc(c.windows, func(a, b fact.Fact) int { return int(a.At - b.At) })
	return &sim.From{State: e.Snapshot(), Now: -1, StartLatency: c.assume.StartLatency, Events: c.windows}
}

func (c *scenario) time(s string) (workload.Time, error) {
	f, err := strconv.ParseFloat(s, 64)
	return workload.Time(f * float64(c.unit)), err
}

func (c *scenario) job(name string, i int, kvs []string) error {
	j := workload.Job{ID: name}
	a := workload.Actual{Start: workload.Unknown, End: workload.Unknown}
	for _, kv := range kvs {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return fmt.Errorf("%q; want key=value", kv)
		}
		step := 0.0
		if first, add, ok := strings.Cut(v, "+"); ok {
			v = first
			var err error
			if step, err = strconv.ParseFloat(add, 64); err != nil {
				return err
			}
		}
		f, numErr := strconv.ParseFloat(v, 64)
		f += step * float64(i)
		d := workload.Time(f * float64(c.unit))
		switch k {
		case "submit":
			j.Submit = d
		case "dur":
			a.Duration = d
		case "estimate":
			j.Estimate = d
		case "limit":
			j.Limit = d
		case "cancel":
			a.CancelAfter = d
		case "idle": // a session has nothing to do after so much run time, for idle-for (0 = to its end)
			a.IdleAfter = d
		case "idle-for":
			a.IdleFor = d
		case "protect": // the declared minimum runtime; 0 = unallocated
			j.Contract.MinRuntime, j.Contract.HasMinRuntime = d, true
		case "checkpoint":
			j.Contract.CheckpointInterval = d
		case "restart":
			j.Contract.RestartCost = d
		case "grace":
			j.Contract.Grace = d
		case "onstop": // 1 = it saves its state when asked to stop
			j.Contract.CheckpointOnStop = f == 1
		case "resumable": // 0 = a stop ends it
			j.Contract.NotResumable = f == 0
		case "gpus":
			j.Need.GPUs = int32(f)
		case "tasks":
			j.Need.Tasks = int32(f)
		case "min":
			j.Need.MinTasks = int32(f)
		case "max":
			j.Need.MaxTasks = int32(f)
		case "milli":
			j.Need.Milli = int32(f)
		case "cores":
			j.Need.CPU = int64(f * 1000)
		case "priority":
			j.Priority = int64(f)
		case "type":
			j.Need.GPUTypes, numErr = v, nil
		case "within":
			j.Need.Within, numErr = v, nil
		case "node":
			j.Need.Nodes, numErr = v, nil
		case "team":
			j.Team, numErr = v, nil
		case "user":
			j.User, numErr = v, nil
		case "kind":
			var known bool
			if j.Kind, known = workload.ParseKind(v); !known {
				return fmt.Errorf("unknown kind %q", v)
			}
			numErr = nil
		case "label": // label=KEY:VALUE
			key, value, _ := strings.Cut(v, ":")
			if j.Labels == nil {
				j.Labels = map[string]string{}
			}
			j.Labels[key], numErr = value, nil
		case "after":
			j.After, numErr = append(j.After, workload.Dependency{Job: v}), nil
		case "after-ok":
			j.After, numErr = append(j.After, workload.Dependency{Job: v, When: workload.AfterOK}), nil
		case "speed": // speed=TYPE:MILLI
			typ, milli, _ := strings.Cut(v, ":")
			m, err := strconv.ParseInt(milli, 10, 32)
			j.Speed, numErr = append(j.Speed, workload.Speed{GPUType: typ, Milli: int32(m)}), err
		case "outcome":
			a.Outcome, _ = workload.ParseOutcome(v)
			numErr = nil
		default:
			return fmt.Errorf("unknown key %q", k)
		}
		if numErr != nil {
			return fmt.Errorf("%q: %w", kv, numErr)
		}
	}
	c.work.Jobs, c.work.Actual = append(c.work.Jobs, j), append(c.work.Actual, a)
	return nil
}

// story records what the expectations ask for.
type story struct {
	starts   []fact.Action
	promises []fact.Action
	// stops are those for another's sake, uncharged the runs that became unallocated.
	stops, uncharged []fact.Action
	refused          map[int32]fact.Reason
	places           map[int32][]cluster.Grant
}

func (s *story) Fact(*fact.Fact)    {}
func (s *story) Instant(*sim.Gauge) {}
func (s *story) Action(a *fact.Action) {
	switch a.Do {
	case fact.Start:
		s.starts = append(s.starts, *a)
		s.places[a.Job] = append([]cluster.Grant(nil), a.Place...)
	case fact.Stop:
		if a.Reason.Code != fact.Withdrawn {
			s.stops = append(s.stops, *a)
		}
	case fact.Uncharge:
		s.uncharged = append(s.uncharged, *a)
	case fact.Reserve:
		s.promises = append(s.promises, *a)
	case fact.Refuse:
		s.refused[a.Job] = a.Reason
	}
}

func (c *scenario) run(t *testing.T, p *policy.Policy) {
	number := map[string]int32{}
	for i := range c.work.Jobs {
		number[c.work.Jobs[i].ID] = int32(i)
	}
	st := &story{refused: map[int32]fact.Reason{}, places: map[int32][]cluster.Grant{}}
	legal := newLegal(t, c.cluster, &c.work)
	whys := map[int]fact.Reason{}
	var sets int64
	probe := func(now workload.Time, e *engine.Engine) {
		for i, x := range c.expect {
			if x.words[0] == "why" { // why NAME at TIME code ...
				if at, _ := c.time(x.words[3]); now <= at {
					if r, ok := e.Why(number[x.words[1]]); ok {
						whys[i] = r
					}
				}
			}
		}
		sets = e.VictimSets()
	}
	res, err := sim.Run(context.Background(), sim.Options{Workload: &c.work, Cluster: c.cluster, Policy: p,
		Budgets: c.budgets, Assume: c.assume, Until: c.until, From: c.from(t, p), Observers: []sim.Observer{st, legal}, Probe: probe})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range c.expect {
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("line %d: %s: %s", x.line, strings.Join(x.words, " "), fmt.Sprintf(format, args...))
		}
		job := func(name string) int32 {
			n, ok := number[name]
			if !ok {
				fail("no job %q", name)
			}
			return n
		}
		w := x.words
		if x.only != "" && x.only != p.Name {
			continue
		}
		switch w[0] {
		case "starts": // starts NAME[:FROM..TO] TIME[+STEP] [END]
			c.checkStarts(fail, res, number, w)
		case "never": // never NAME code [have want]
			n := job(w[1])
			r, ok := st.refused[n]
			if !ok || r.Code.String() != w[2] || res.Jobs[n].FirstStart != workload.Unknown {
				fail("got %+v (refused %v)", r, ok)
			} else if len(w) > 3 && (strconv.Itoa(int(r.Have)) != w[3] || strconv.Itoa(int(r.Want)) != w[4]) {
				fail("got have %d want %d", r.Have, r.Want)
			}
		case "unstarted": // unstarted NAME: it still waits for its first start at the end
			if j := &res.Jobs[job(w[1])]; j.State != sim.Unstarted || j.FirstStart != workload.Unknown {
				fail("state %d, started at %d", j.State, j.FirstStart)
			}
		case "evictions":
			if got := len(st.stops); strconv.Itoa(got) != w[1] {
				fail("got %d", got)
			}
		case "evicted": // evicted NAME[:FROM..TO] TIMES
			for _, name := range namesOf(w[1]) {
				if got := st.evicted(job(name)); strconv.Itoa(got) != w[2] {
					fail("%s: got %d", name, got)
				}
			}
		case "unallocated", "allocated": // of the last start
			if got, ok := st.unallocated(job(w[1])); !ok || got != (w[0] == "unallocated") {
				fail("started %v, unallocated %v", ok, got)
			}
		case "uncharged": // uncharged NAME at TIME
			at, _ := c.time(w[3])
			n := job(w[1])
			if !slices.ContainsFunc(st.uncharged, func(a fact.Action) bool { return a.Job == n && a.At == at }) {
				fail("got %v", st.uncharged)
			}
		case "team-starts": // team-starts TEAM N in FROM TO: starts in [FROM, TO)
			from, _ := c.time(w[4])
			to, _ := c.time(w[5])
			got := 0
			for _, a := range st.starts {
				if c.work.Jobs[a.Job].Team == w[1] && a.At >= from && a.At < to {
					got++
				}
			}
			if strconv.Itoa(got) != w[2] {
				fail("got %d", got)
			}
		case "promised": // promised NAME DATE at TIME
			date, _ := c.time(w[2])
			at, _ := c.time(w[4])
			got := workload.Unknown
			for _, a := range st.promises {
				if a.Job == job(w[1]) && a.At <= at {
					got = a.Until
				}
			}
			if got != date {
				fail("got %v", float64(got)/float64(c.unit))
			}
		case "lost": // lost NAME WORK RESTART, in GPU-units; NAME * = of all jobs
			jobs := res.Jobs
			if w[1] != "*" {
				n := job(w[1])
				jobs = jobs[n : n+1]
			}
			var lost, paid int64
			for i := range jobs {
				lost, paid = lost+jobs[i].Lost, paid+jobs[i].Restart
			}
			work, _ := c.time(w[2])
			restart, _ := c.time(w[3])
			if lost != work*1000 || paid != restart*1000 {
				fail("got %v and %v", float64(lost)/1000/float64(c.unit), float64(paid)/1000/float64(c.unit))
			}
		case "why":
			job(w[1])
			r := whys[i]
			got := fmt.Sprintf("%s have %d want %d block %d", r.Code, r.Have, r.Want, r.Block)
			if want := strings.Join(w[4:], " "); !strings.HasPrefix(got, want) {
				fail("got %s", got)
			}
		case "started": // started NAME TIMES
			if got := res.Jobs[job(w[1])].Starts; strconv.Itoa(int(got)) != w[2] {
				fail("got %d", got)
			}
		case "on": // on NAME NODE NODE ...
			var got []string
			for _, g := range st.places[job(w[1])] {
				got = append(got, c.cluster.Nodes[g.Node].Name)
			}
			if strings.Join(got, " ") != strings.Join(w[2:], " ") {
				fail("got %v", got)
			}
		case "one-place": // one-place LEVEL NAME: all in one place of the level, alone there at its start
			c.checkPlace(fail, st, number, w)
		case "workers": // workers NAME N
			if got := res.Jobs[job(w[1])].Tasks; strconv.Itoa(int(got)) != w[2] {
				fail("got %d", got)
			}
		case "victim-sets":
			if strconv.Itoa(int(sets)) != w[1] {
				fail("got %d", sets)
			}
		case "makespan":
			end, _ := c.time(w[1])
			var last workload.Time
			for i := range res.Jobs {
				last = max(last, res.Jobs[i].Finish)
			}
			if last != end {
				fail("got %v", float64(last)/float64(c.unit))
			}
		default:
			fail("unknown expectation")
		}
	}
}

// namesOf spells a range of names out: s:16..23 is s16, s17 and so on.
func namesOf(text string) (names []string) {
	prefix, span, ok := strings.Cut(text, ":")
	if !ok {
		return []string{text}
	}
	from, to, _ := strings.Cut(span, "..")
	a, _ := strconv.Atoi(from)
	b, _ := strconv.Atoi(to)
	for i := a; i <= b; i++ {
		names = append(names, prefix+strconv.Itoa(i))
	}
	return names
}

// evicted is how often a job was stopped for another's sake.
func (s *story) evicted(job int32) (times int) {
	for i := range s.stops {
		if s.stops[i].Job == job {
			times++
		}
	}
	return times
}

// unallocated tells it of a job's last start; false where there was none.
func (s *story) unallocated(job int32) (yes, ok bool) {
	for i := range s.starts {
		if s.starts[i].Job == job {
			yes, ok = s.starts[i].Unallocated, true
		}
	}
	return yes, ok
}

func (c *scenario) checkStarts(fail func(string, ...any), res *sim.Result, number map[string]int32, w []string) {
	first, step, _ := strings.Cut(w[2], "+")
	f, err := strconv.ParseFloat(first, 64)
	if err != nil {
		fail("%v", err)
		return
	}
	add, _ := strconv.ParseFloat(step, 64)
	for i, name := range namesOf(w[1]) {
		n, ok := number[name]
		if !ok {
			fail("no job %q", name)
			return
		}
		want := workload.Time((f + add*float64(i)) * float64(c.unit))
		if got := res.Jobs[n].FirstStart; got != want {
			fail("%s starts at %v", name, float64(got)/float64(c.unit))
			return
		}
		if len(w) > 3 {
			if end, _ := c.time(w[3]); res.Jobs[n].Finish != end {
				fail("%s ends at %v", name, float64(res.Jobs[n].Finish)/float64(c.unit))
			}
		}
	}
}

func (c *scenario) checkPlace(fail func(string, ...any), st *story, number map[string]int32, w []string) {
	level := -1
	for i, l := range c.cluster.Levels {
		if l == w[1] {
			level = i
		}
	}
	places := map[string]bool{}
	for _, name := range w[2:] {
		for _, n := range namesOf(name) {
			for _, g := range st.places[number[n]] {
				places[c.cluster.Nodes[g.Node].Places[level]] = true
			}
		}
	}
	if len(places) != 1 {
		fail("lies in %d places", len(places))
	}
}
