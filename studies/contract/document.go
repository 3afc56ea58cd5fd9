package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// document is the page and its pictures.
type document struct {
	strings.Builder
	s        *study
	pictures []picture
}

func newDocument(s *study) (*document, error) { return &document{s: s}, s.complete() }

func (d *document) say(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// table writes an aligned Markdown table; columns after the first `left` are to the right.
func (d *document) table(left int, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	line := func(r []string) {
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i < left {
				d.say("| %s%s ", c, pad)
			} else {
				d.say("| %s%s ", pad, c)
			}
		}
		d.say("|\n")
	}
	line(rows[0])
	for i := range rows[0] {
		if i < left {
			d.say("|%s", strings.Repeat("-", width[i]+2))
		} else {
			d.say("|%s:", strings.Repeat("-", width[i]+1))
		}
	}
	d.say("|\n")
	for _, r := range rows[1:] {
		line(r)
	}
	d.say("\n")
}

// picture draws one and puts it into the page.
func (d *document) picture(p picture) {
	p.name = "contract-" + p.name + ".svg"
	d.pictures = append(d.pictures, p)
	d.say("![%s](%s)\n\n", p.title, p.name)
}

func (d *document) write() {
	s := d.s
	d.say("# Study: the contract against priorities\n\n")
	d.say("%s\n\n", wrap(intro))
	d.say("    $ go run ./studies/contract --seeds %d --out docs/studies\n\n", s.seeds)
	d.say("The figures of each run are in [contract.csv](contract.csv). `--from docs/studies/contract.csv` writes\n" +
		"this page from them without simulating. The same arguments give the same bytes.\n\n")
	d.claims("summary")
	d.setting()
	d.goals()
	d.results()
	d.published()
	d.reservations()
	d.worse()
	d.knobs()
	d.say("## What is weak or not modelled\n\n%s\n", weak)
}

func regimeName(r float64) string {
	if r == math.Trunc(r) {
		return fixed(r, 1)
	}
	return fmt.Sprint(r)
}

func (d *document) setting() {
	s := d.s
	d.say("## What ran\n\n")
	rows := [][]string{{"", ""},
		{"cluster", fmt.Sprintf("%d nodes of %d GPUs, none fails", s.lab.nodes, s.lab.perNode)},
		{"workload", "`escala workload generate lab` ([lab](../lab.md)), seeds 1 to " + strconv.Itoa(s.seeds)},
		{"regimes", "allocated work asks for 0.75, 1.0 and 1.7 of the GPU-time there, all work for 2.5"},
		{"window", fmt.Sprintf("days %d to %d; runs are cut at day %d", s.lab.from, s.lab.days, s.lab.days)},
		{"`" + legacy + "`", "runs on the file with parked jobs (`--squat 0.15`), `contract` on the same jobs without"},
		{"on signal", "trainings and sweeps save their state when asked to stop (`--checkpoint-on-stop`): all other figures"},
		{"plain kill", "they save it each hour and lose what came after: goodput occupancy and lost work only"},
	}
	d.table(2, rows)
	d.say("Policies, and the SHA-256 of their files:\n\n")
	rows = [][]string{{"policy", "SHA-256"}}
	for _, name := range []string{legacy, contract, noReservations, moreDebug} {
		regime := regimes[len(regimes)-1]
		file := onSignal
		if name == legacy {
			file = onSignalSquat
		}
		label := "`" + name + "`"
		if name != legacy && name != contract {
			label = "`contract` with " + name
		}
		rows = append(rows, []string{label, "`" + s.run(regime, 1, file, name).policyHash + "`"})
	}
	d.table(2, rows)
	d.say("Workloads, as `escala workload generate lab` writes them: SHA-256 of the hashes of all seeds in hex, one after the other.\n\n")
	rows = [][]string{{"regime", "file", "SHA-256"}}
	for _, r := range regimes {
		for _, f := range []string{onSignal, hourly, onSignalSquat, hourlySquat} {
			name := contract
			if strings.HasSuffix(f, "+squat") {
				name = legacy
			}
			h := sha256.New()
			for seed := 1; seed <= s.seeds; seed++ {
				h.Write([]byte(s.run(r, seed, f, name).workload))
			}
			rows = append(rows, []string{regimeName(r), f, "`" + hex.EncodeToString(h.Sum(nil)) + "`"})
		}
	}
	d.table(3, rows)
	d.say("%s\n\n", reading)
}

// row of the main table.
type row struct {
	name   string
	unit   unitOf
	better int
	a, b   sample
	// exact is printed instead of intervals: a lowest seed.
	exact bool
}

func (d *document) mainRows(regime float64) []row {
	s := d.s
	var rows []row
	add := func(key, name string) {
		f := figureOf(key)
		if name == "" {
			name = f.name
		}
		rows = append(rows, row{name: name, unit: f.unit, better: f.better,
			a: s.sample(regime, onSignalSquat, legacy, key, s.seeds), b: s.sample(regime, onSignal, contract, key, s.seeds)})
	}
	add("delivered", "")
	a, b := s.common(regime, onSignalSquat, legacy, onSignal, contract)
	rows = append(rows, row{name: "delivered / the larger owed of both", unit: ratio, better: 1, a: a, b: b})
	add("worst", "")
	last := rows[len(rows)-1]
	last.name, last.exact = "worst team, lowest seed", true
	rows = append(rows, last)
	add("got95", "teams ≥ 95 %")
	add("strict", "")
	add("owed", "")
	add("occupancy", "")
	add("goodput", "goodput occupancy, on signal")
	f := figureOf("goodput")
	rows = append(rows, row{name: "goodput occupancy, plain kill", unit: f.unit, better: 1,
		a: s.sample(regime, hourlySquat, legacy, "goodput", s.seeds), b: s.sample(regime, hourly, contract, "goodput", s.seeds)})
	for _, key := range []string{"lost_alloc", "lost_unalloc"} {
		f := figureOf(key)
		add(key, f.name+", on signal")
		rows = append(rows, row{name: f.name + ", plain kill", unit: f.unit, better: f.better,
			a: s.sample(regime, hourlySquat, legacy, key, s.seeds), b: s.sample(regime, hourly, contract, key, s.seeds)})
	}
	for _, key := range []string{"squat", "unallocated", "debug_p50", "debug_p90", "debug_p99", "debug_unstarted", "alloc_p50", "alloc_p90", "alloc_unstarted",
		"unalloc_p50", "unalloc_p90", "unalloc_unstarted", "large_p50", "large_p90", "large_unstarted", "preempt", "thrash", "dates_made", "dates_kept", "dates_broken"} {
		add(key, "")
	}
	return rows
}

func (d *document) results() {
	d.say("## Results\n\n")
	s := d.s
	p := picture{name: "main", title: "legacy-priority and contract, by regime", mark: -1, xTitle: "regime", series: []string{legacy, contract}}
	for _, r := range regimes {
		p.xs = append(p.xs, regimeName(r))
	}
	for _, key := range []string{"worst", "goodput", "debug_p99", "alloc_p90"} {
		n := panel{fig: figureOf(key), data: make([][]sample, 2)}
		for _, r := range regimes {
			n.data[0] = append(n.data[0], s.sample(r, onSignalSquat, legacy, key, s.seeds))
			n.data[1] = append(n.data[1], s.sample(r, onSignal, contract, key, s.seeds))
		}
		p.panels = append(p.panels, n)
	}
	d.picture(p)
	d.say("Small dots are seeds, large ones their means. Means and 95 %% intervals over %d seeds:\n\n", s.seeds)
	for _, r := range regimes {
		d.say("### Regime %s\n\n", regimeName(r))
		rows := [][]string{{"", legacy, contract, "contract - legacy"}}
		var worse []string
		for _, x := range d.mainRows(r) {
			if x.exact {
				rows = append(rows, []string{x.name, figureOf("worst").text(x.a.least()), figureOf("worst").text(x.b.least()), ""})
				continue
			}
			diff := x.b.minus(x.a)
			rows = append(rows, []string{x.name, x.a.text(x.unit), x.b.text(x.unit), diff.text(x.unit)})
			if diff.sign() == -x.better && x.better != 0 {
				worse = append(worse, x.name)
			}
		}
		d.table(1, rows)
		if len(worse) > 0 {
			d.say("%s\n\n", wrap("Worse under `contract`, with an interval that leaves zero out: "+strings.Join(worse, "; ")+"."))
		} else {
			d.say("Nothing is worse under `contract` with an interval that leaves zero out.\n\n")
		}
	}
	d.claims("results")
}

// published sets the figures beside those that are published.
func (d *document) published() {
	s := d.s
	d.say("## Beside the published figures\n\n%s\n\n", wrap(publishedText))
	rows := [][]string{{"", "Ai2"}}
	for _, r := range regimes {
		rows[0] = append(rows[0], "contract, "+regimeName(r))
	}
	add := func(name, theirs string, ours func(r float64) string) {
		cells := []string{name, theirs}
		for _, r := range regimes {
			cells = append(cells, ours(r))
		}
		rows = append(rows, cells)
	}
	of := func(policy, file, key string) func(r float64) string {
		return func(r float64) string { return s.sample(r, file, policy, key, s.seeds).plain(figureOf(key)) }
	}
	change := func(keys ...string) func(r float64) string {
		return func(r float64) string {
			var parts []string
			for _, key := range keys {
				parts = append(parts, of(legacy, onSignalSquat, key)(r)+" -> "+of(contract, onSignal, key)(r))
			}
			return strings.Join(parts, "; ")
		}
	}
	add("delivered / owed", "98 %", of(contract, onSignal, "delivered"))
	add("teams ≥ 95 %", "13 of 15", func(r float64) string {
		return of(contract, onSignal, "got95")(r) + " of " + of(contract, onSignal, "teams")(r)
	})
	add("worst team", "90 %", of(contract, onSignal, "worst"))
	add("occupancy", "98 %", of(contract, onSignal, "occupancy"))
	add("unallocated share", "18 %", of(contract, onSignal, "unallocated"))
	add("debug p90 wait", "2 h -> 30 s", change("debug_p90"))
	add("median wait, allocated", "5 min -> 24 s", change("alloc_p50"))
	add("p90 wait, allocated", "2.8 h -> 1.8 h", change("alloc_p90"))
	add("repairs that need a human", "-74 %", func(float64) string { return "not modelled" })
	d.table(1, rows)
	d.claims("published")
}

func (d *document) reservations() {
	s := d.s
	d.say("## What reservations bring and cost\n\n")
	d.say("`contract` with its dates for jobs of more than 64 GPUs, and with `reservations: none`.\n\n")
	p := picture{name: "reservations", title: "contract with and without reservations, by regime", mark: -1, xTitle: "regime", series: []string{"reservations", "none"}}
	for _, r := range regimes {
		p.xs = append(p.xs, regimeName(r))
	}
	keys := []string{"large_p50", "large_p90", "large_unstarted", "occupancy", "goodput", "alloc_p50", "alloc_p90", "debug_p99", "preempt"}
	for _, key := range []string{"large_p90", "large_unstarted", "alloc_p90", "occupancy"} {
		n := panel{fig: figureOf(key), data: make([][]sample, 2)}
		for _, r := range regimes {
			for i, name := range []string{contract, noReservations} {
				n.data[i] = append(n.data[i], s.sample(r, onSignal, name, key, s.seeds))
			}
		}
		p.panels = append(p.panels, n)
	}
	d.picture(p)
	rows := [][]string{{"regime", "", "without", "with", "with - without", "lower in"}}
	for _, r := range regimes {
		for i, key := range keys {
			f := figureOf(key)
			a, b := s.sample(r, onSignal, noReservations, key, s.seeds), s.sample(r, onSignal, contract, key, s.seeds)
			name := ""
			if i == 0 {
				name = regimeName(r)
			}
			lower := 0
			for k := range a.values {
				if b.values[k] < a.values[k] {
					lower++
				}
			}
			rows = append(rows, []string{name, f.name, a.text(f.unit), b.text(f.unit), b.minus(a).text(f.unit), fmt.Sprintf("%d of %d", lower, s.seeds)})
		}
	}
	d.table(2, rows)
	d.claims("reservations")
}

// worse says who waits.
func (d *document) worse() {
	s := d.s
	d.say("## Who waits\n\n")
	d.say("Under `contract`, means over %d seeds. A team asks for more than its share where the allocated jobs it submits in\nthe window want more GPU-time than its share of the window is.\n\n", s.seeds)
	rows := [][]string{{"jobs", "regime", "jobs a seed", "p50", "p90", "p99", "never started"}}
	for g, name := range groupNames {
		for i, r := range regimes {
			key := groupKeys[g]
			cells := []string{name, regimeName(r)}
			if i > 0 {
				cells[0] = ""
			}
			for _, k := range []string{"_jobs", "_p50", "_p90", "_p99", "_unstarted"} {
				x := s.sample(r, onSignal, contract, key+k, s.seeds)
				f := figureOf(key + k)
				if k == "_jobs" {
					cells = append(cells, fixed(x.mean(), 0))
					continue
				}
				cells = append(cells, x.plain(f))
			}
			rows = append(rows, cells)
		}
	}
	d.table(1, rows)
	d.say("By seed, regime 1.0 (what allocated work asks for is that of jobs submitted in the window):\n\n")
	d.seedTable(1.0)
	d.say("Regime 1.7:\n\n")
	d.seedTable(1.7)
	d.claims("who")
}

func (d *document) seedTable(regime float64) {
	s := d.s
	keys := []string{"asked", "worst", "debug_p90", "debug_p99", "alloc_p90", "within_p90", "over_p90", "large_jobs", "large_p90", "large_unstarted"}
	rows := [][]string{{"seed", "asked", "worst team", "debug p90", "debug p99", "allocated p90", "within share", "over share", "> 64: jobs", "p90", "never started"}}
	for seed := 1; seed <= s.seeds; seed++ {
		cells := []string{strconv.Itoa(seed)}
		for _, key := range keys {
			r := s.run(regime, seed, onSignal, contract)
			v := r.value(key)
			if !v.ok {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, bounded(v.bound && r.counts(key))+figureOf(key).text(v.v))
		}
		rows = append(rows, cells)
	}
	d.table(0, rows)
}

func (d *document) knobs() {
	s := d.s
	n := min(knobSeeds, s.seeds)
	d.say("## Knobs, one at a time\n\n")
	d.say("All else as shipped; seeds 1 to %d, regimes 1.0 and 1.7; the shipped position has a shaded band and is in bold.\nOver so few seeds small differences mean nothing.\n\n", n)
	columns := []string{"worst", "strict", "goodput", "preempt", "thrash", "debug_p90", "debug_p99", "alloc_p90", "large_p90", "large_unstarted"}
	for _, k := range knobs {
		d.say("### %s\n\n%s.\n\n", k.title, k.what)
		p := picture{name: k.key, title: k.title, mark: -1, xTitle: strings.Trim(strings.Split(k.what, ":")[0], "`"), panels: make([]panel, len(k.panels))}
		if i := strings.Index(k.what, "`: "); i > 0 {
			p.xTitle = strings.Trim(k.what[:i], "`")
		}
		for i, key := range k.panels {
			p.panels[i] = panel{fig: figureOf(key), data: make([][]sample, len(knobRegimes))}
		}
		rows := [][]string{{"regime", ""}}
		for _, c := range columns {
			rows[0] = append(rows[0], shortNames[c])
		}
		for i, r := range knobRegimes {
			p.series = append(p.series, "regime "+regimeName(r))
			for x, pt := range k.points {
				if i == 0 {
					p.xs = append(p.xs, pt.label)
					if pt.name == contract {
						p.mark = x
					}
				}
				label := pt.label
				if pt.name == contract {
					label = "**" + label + "**"
				}
				cells := []string{"", label}
				if x == 0 {
					cells[0] = regimeName(r)
				}
				for _, c := range columns {
					cells = append(cells, s.sample(r, onSignal, pt.name, c, n).plain(figureOf(c)))
				}
				rows = append(rows, cells)
				for j, key := range k.panels {
					p.panels[j].data[i] = append(p.panels[j].data[i], s.sample(r, onSignal, pt.name, key, n))
				}
			}
		}
		d.picture(p)
		d.table(2, rows)
		d.claims(k.key)
	}
}

var shortNames = map[string]string{"worst": "worst team", "strict": "strict form", "goodput": "goodput", "preempt": "preempt.", "thrash": "thrash", "debug_p90": "debug p90",
	"debug_p99": "debug p99", "alloc_p90": "alloc. p90", "large_p90": "> 64 p90", "large_unstarted": "> 64 unstarted"}

// claims writes what is said about a part, and marks what the figures do not bear out.
func (d *document) claims(part string) {
	var items []string
	for _, c := range texts {
		if c.part != part {
			continue
		}
		text := d.s.fill(c.text)
		if c.holds != nil && !c.holds(d.s) {
			text += " **(Not borne out by the figures of this run.)**"
		}
		items = append(items, text)
	}
	if len(items) == 0 {
		return
	}
	if slices.Contains([]string{"summary", "results", "goals", "who", "published"}, part) {
		for _, t := range items {
			d.say("- %s\n", strings.ReplaceAll(wrap(t), "\n", "\n  "))
		}
		d.say("\n")
		return
	}
	d.say("%s\n\n", wrap(strings.Join(items, " ")))
}

// wrap breaks lines at about a hundred characters.
func wrap(s string) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(s) {
		switch w := utf8.RuneCountInString(word); {
		case i == 0:
			n = w
		case n+1+w > 100:
			b.WriteByte('\n')
			n = w
		default:
			b.WriteByte(' ')
			n += 1 + w
		}
		b.WriteString(word)
	}
	return b.String()
}
