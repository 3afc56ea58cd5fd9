package report

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// serving is the comparison of made-up figures with two applications, and one refused.
func serving() *Comparison {
	c := fixed()
	for i := range 3 {
		c.Workload.Jobs[i].Service = &workload.Service{}
	}
	of := func(v float64) *float64 { return &v }
	for i := range c.Policies {
		m := &c.Policies[i].Metrics
		m.Jobs -= 3
		chat := metrics.ServiceUse{Asked: 300, Served: 300 - 3*float64(i), Shortfall: 3 * float64(i), ShortfallOfAsked: of(.01 * float64(i)),
			HoursShort: int64(2 * i), Over: 240 / float64(1+9*i), Swaps: int64(70 * i), Penalty: of(60 * float64(i))}
		search := metrics.ServiceUse{Asked: 100, Served: 99, Shortfall: 1, ShortfallOfAsked: of(.01), HoursShort: 1, Over: 80, Stops: 1}
		all := metrics.ServiceUse{Asked: 400, Served: 399 - 3*float64(i), Shortfall: 1 + 3*float64(i), ShortfallOfAsked: of((1 + 3*float64(i)) / 400),
			HoursShort: int64(1 + 2*i), Over: 80 + chat.Over, Swaps: chat.Swaps, Stops: 1, Penalty: chat.Penalty}
		m.Services = &metrics.Services{Count: 3, Refused: 1, ServiceUse: all, Applications: []metrics.Application{
			{Name: "search", ServiceUse: search}, {Name: "chat", ServiceUse: chat}, {Name: "vast", Refused: true}}}
		m.ServedOccupancy, m.ServedOccupancyMakespan = of(.61+.1*float64(i)), of(.58+.1*float64(i))
		m.Value, m.FinishedValue = of(24012-60*float64(i)), of(23000-60*float64(i))
	}
	return c
}

// TestFindingOfDemand: what applications lack is told, and occupancy is the served one.
func TestFindingOfDemand(t *testing.T) {
	run := func(name string, jobs int, wait, served float64, lack ...float64) Policy {
		d := metrics.Dist{Mean: wait, P50: wait, P90: wait, N: jobs}
		u := &metrics.Services{}
		if len(lack) > 0 {
			u.ShortfallOfAsked = &lack[0]
		}
		return Policy{Name: name, Metrics: metrics.Metrics{Jobs: jobs, Occupancy: .9, Wait: d, QueueTime: d, Services: u, ServedOccupancy: &served}}
	}
	for name, tc := range map[string]struct {
		policies []Policy
		want     string
	}{
		"less waiting, some lack": {[]Policy{run("fifo", 9, 60, .5, 0), run("horizon", 9, 30, .7, .004)},
			"Under horizon jobs wait 30 s on average instead of 1 min under fifo (x0.50); the median goes from 1 min to 30 s, the 90th percentile from 1 min to 30 s, " +
				"and served occupancy from 50.0 % to 70.0 % (+20.0 pp). Real-time applications lack 0.0 % of what they ask for under fifo and 0.4 % under horizon."},
		"nothing lacks": {[]Policy{run("fifo", 9, 60, .5, 0)},
			"Under fifo, jobs wait 1 min on average (median 1 min, 90th percentile 1 min); served occupancy is 50.0 %. Real-time applications lack nothing of what they ask for."},
		"applications alone": {[]Policy{run("fifo", 0, 0, .5, .1), run("horizon", 0, 0, .7, .2)},
			"Under horizon served occupancy is 70.0 % instead of 50.0 % under fifo (+20.0 pp). Real-time applications lack 10.0 % of what they ask for under fifo and 20.0 % under horizon."},
		"applications alone, no better": {[]Policy{run("fifo", 0, 0, .5, .1), run("easy", 0, 0, .5, .1), run("sjf", 0, 0, .4)},
			"None of the other 2 policies has a higher served occupancy than fifo: 50.0 %. Real-time applications lack 10.0 % of what they ask for under fifo and 10.0 % under easy."},
		"one policy, nothing asked": {[]Policy{run("fifo", 0, 0, 0)}, "Under fifo served occupancy is 0.0 %."},
		"many policies": {[]Policy{run("a", 0, 0, .5, .3), run("b", 0, 0, .5, .1), run("c", 0, 0, .5, .2), run("d", 0, 0, .5, .05), run("e", 0, 0, .5, .15)},
			"None of the other 4 policies has a higher served occupancy than a: 50.0 %. Real-time applications lack 30.0 % of what they ask for under a, and between 5.0 % and 20.0 % under the others."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Finding(&Comparison{Workload: &workload.Workload{}, Policies: tc.policies}); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestFiguresOfDemandOnlyWhereThereIsAny holds what other workloads print as it was.
func TestFiguresOfDemandOnlyWhereThereIsAny(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table": func(b *bytes.Buffer) error { return WriteTable(b, fixed(), TableOptions{}) },
		"json":  func(b *bytes.Buffer) error { return WriteJSON(b, fixed()) },
		"csv":   func(b *bytes.Buffer) error { return WriteCSV(b, fixed()) },
		"page":  func(b *bytes.Buffer) error { return WriteHTML(b, fixed()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"served_occ", "Served occ", "services", "pplications", "finished_value", "Finished value"} {
			if strings.Contains(b.String(), word) {
				t.Errorf("the %s speaks of %s", name, word)
			}
		}
	}
}

// dayOf simulates two applications and a few jobs on two nodes of four GPUs.
func dayOf(t *testing.T) *Comparison {
	t.Helper()
	const hour = workload.Hour
	w := &workload.Workload{Name: "day", Epoch: workload.Unknown}
	add := func(id string, at workload.Time, d workload.Span, need workload.Need, s *workload.Service) {
		w.Jobs = append(w.Jobs, workload.Job{ID: id, Team: "t" + id[:1], Submit: at, Need: need, Service: s})
		w.Actual = append(w.Actual, workload.Actual{Duration: d})
	}
	add("chat", 0, 12*hour, workload.Need{Tasks: 3, GPUs: 1}, &workload.Service{Demand: workload.Curve{Step: 2 * hour, Values: []int32{1, 3, 2}, Repeat: true}, Penalty: 5})
	add("<search>", 0, 12*hour, workload.Need{Tasks: 2, GPUs: 1}, &workload.Service{Demand: workload.Curve{Step: 3 * hour, Values: []int32{1, 2}}})
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		add(id, int64(i)*2*hour, 3*hour, workload.Need{GPUs: int32(1 + i)}, nil)
	}
	spec := cluster.Uniform("2x4", 2, 4)
	c := &Comparison{Workload: w, Cluster: spec}
	for _, name := range []string{"fifo", "easy"} {
		p, _ := policy.Shipped(name)
		col := metrics.NewCollector(metrics.Config{Cluster: spec, Workload: w, Bins: 256, Runs: 100})
		r, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: spec, Policy: p, Observers: []sim.Observer{col}})
		if err != nil {
			t.Fatal(err)
		}
		c.Policies = append(c.Policies, Policy{Name: name, Metrics: metrics.Compute(col, w, r), Series: col.Series(r.End), Runs: col.Runs(r.End), Services: col.Services(r.End)})
	}
	return c
}

// TestDemandOnThePage: each application has a strip for each policy, under its escaped name.
func TestDemandOnThePage(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHTML(&b, dayOf(t)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"<b>chat</b> up to 3 GPUs", "<b>&lt;search&gt;</b> up to 2 GPUs", `aria-label="chat under easy over time, 100.0 % served in the window"`,
		`data-chart="service-0"`, `data-chart="service-1"`, "5 jobs</li>", "2 real-time applications</li>", `"id":"service-1"`, "held under easy"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	if strings.Contains(page, "<b><search>") {
		t.Error("a name is not escaped")
	}
}

// TestServicesPastThePictures: the rest stands in the table.
func TestServicesPastThePictures(t *testing.T) {
	c := serving()
	var list []metrics.Application
	for i := range 12 {
		of := .1
		list = append(list, metrics.Application{Name: string(rune('a' + i)), ServiceUse: metrics.ServiceUse{Asked: float64(i), ShortfallOfAsked: &of}})
	}
	for i := range c.Policies {
		c.Policies[i].Metrics.Services.Applications = list
	}
	f := serviceFiguresOf(c, span{0, 100})
	if f.Hidden != 12-servicePictures || len(f.Table.Rows) != 36 || f.Table.Rows[0][0] != "l" {
		t.Errorf("%d hidden, %d rows, the first of %s", f.Hidden, len(f.Table.Rows), f.Table.Rows[0][0])
	}
	rows := lacks(c)
	if len(rows) != lackRows || rows[0].label != "l" || !strings.Contains(rows[0].definition, "The 8 that asked for most") {
		t.Errorf("%d rows of applications", len(rows))
	}
}
