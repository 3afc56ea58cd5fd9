package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// page writes the document: text around the tables.
func (s *study) page() string {
	d := &document{}
	d.say("%s", intro)
	d.summary(s)
	d.say("%s", method)
	d.say("Full mode had %s of time a scenario, on %s.\n\n", s.Budget, s.Machine)
	d.say("## The seven reconstructions\n\n%s", sevenText)
	d.seven(s)
	d.say("%s", publishedText)
	d.gains(s)
	d.say("%s", differText)
	d.say("## All scenarios: how far from the best\n\n%s", allText)
	d.all(s)
	d.say("## Readings of the rules\n\n%s", readingsText)
	d.readings(s)
	d.say("## A week on 512 GPUs\n\n%s", weekText)
	d.week(s)
	d.say("%s", weekAfter)
	d.hashes(s)
	return d.String()
}

type document struct{ strings.Builder }

func (d *document) say(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// table writes an aligned Markdown table; columns after the first are to the right.
func (d *document) table(rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for n, r := range rows {
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				d.say("| %s%s ", c, pad)
			} else {
				d.say("| %s%s ", pad, c)
			}
		}
		d.say("|\n")
		if n > 0 {
			continue
		}
		for i := range r {
			if i == 0 {
				d.say("|%s", strings.Repeat("-", width[i]+2))
			} else {
				d.say("|%s:", strings.Repeat("-", width[i]+1))
			}
		}
		d.say("|\n")
	}
	d.say("\n")
}

func percent(x float64, digits int) string { return fixed(100*x, digits) + " %" }

// fixed writes a number without a sign before zero.
func fixed(x float64, digits int) string {
	s := fmt.Sprintf("%.*f", digits, x)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// best is the highest objective known of a scenario, ours included.
func (r *scenarioResult) best() float64 {
	b := max(r.Known, r.Full.Objective)
	for _, f := range r.Fast {
		b = max(b, f.Objective)
	}
	return b
}

// gap is how far below an objective a plan is, as a part.
func gap(of, plan float64) float64 { return (of - plan) / math.Abs(of) }

func (d *document) summary(s *study) {
	var fast, more, full, slack, known []float64
	better, worse := 0, 0
	for i := range s.Scenarios {
		r := &s.Scenarios[i]
		fast = append(fast, gap(r.Known, r.Fast["200"].Objective))
		more = append(more, gap(r.Known, r.Fast["20000"].Objective))
		full = append(full, gap(r.Known, r.Full.Objective))
		slack = append(slack, gap(r.best(), r.best())+(r.Full.Bound-r.best())/r.best())
		known = append(known, (r.KnownBound-r.best())/r.best())
		if g := gap(r.Known, r.Full.Objective); g < -5e-4 {
			better++
		} else if g > 1e-3 {
			worse++
		}
	}
	d.say("Over %d scenarios, against the best objective known before:\n\n", len(s.Scenarios))
	d.table([][]string{
		{"", "mean", "90th percentile", "worst", "goal"},
		{"fast, 200 decodes, below the best known", percent(mean(fast), 3), percent(p90(fast), 3), percent(slices.Max(fast), 3), "mean 0.25 %, p90 1.5 %"},
		{"fast, 20,000 decodes", percent(mean(more), 3), percent(p90(more), 3), percent(slices.Max(more), 3), "mean 0.05 %, p90 0.3 %"},
		{"full, " + s.Budget, percent(mean(full), 3), percent(p90(full), 3), percent(slices.Max(full), 3), "nowhere more than 0.1 %"},
		{"bound above the best known now", percent(mean(slack), 3), percent(p90(slack), 3), percent(slices.Max(slack), 3), "mean 0.3 %"},
		{"the bounds known before, above it", percent(mean(known), 3), percent(p90(known), 3), percent(slices.Max(known), 3), ""},
	})
	if n := len(s.Scenarios[0].Seeds); n > 0 {
		var means, p90s []float64
		for k := range n {
			var gaps []float64
			for i := range s.Scenarios {
				gaps = append(gaps, gap(s.Scenarios[i].Known, s.Scenarios[i].Seeds[k]))
			}
			means, p90s = append(means, mean(gaps)), append(p90s, p90(gaps))
		}
		d.say("With 200 decodes the seed of the search matters: over %d seeds the mean is %s on average, from %s to %s, the 90th percentile\nfrom %s to %s. The table has seed %d, as the command line does.\n\n",
			n, percent(mean(means), 3), percent(slices.Min(means), 3), percent(slices.Max(means), 3), percent(slices.Min(p90s), 3), percent(slices.Max(p90s), 3), seed)
	}
	d.say("Negative figures are plans better than the best known before. Full mode is better by more than 0.05 %% on %d\nscenarios, and more than 0.1 %% worse on %d.\n\n", better, worse)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// p90 by nearest rank.
func p90(x []float64) float64 {
	y := slices.Sorted(slices.Values(x))
	return y[(9*len(y)+9)/10-1]
}

func (d *document) seven(s *study) {
	rows := [][]string{{"scenario", "GPUs, jobs", "FIFO strict", "FIFO skip", "FIFO grid", "fast, 200", "fast, 20,000", "full", "bound", "gap"}}
	uv := func(f figures) string { return fmt.Sprintf("%.1f / %.0f", 100*f.Utilisation, f.Value) }
	for i := range s.Scenarios {
		r := &s.Scenarios[i]
		if _, ok := known[r.Name]; !ok {
			continue
		}
		rows = append(rows, []string{r.Name, fmt.Sprintf("%d, %d", r.GPUs, r.Jobs), uv(r.FIFO["fifo-strict"]), uv(r.FIFO["fifo-skip"]), uv(r.FIFO["fifo-grid"]),
			uv(r.Fast["200"]), uv(r.Fast["20000"]), uv(r.Full), fixed(r.Full.Bound, 1), gapText(r)})
	}
	d.table(rows)
}

// published are the figures of the publication: utilisation under FIFO and under its allocator
// in %, gain in value in %; 0 = not told.
var published = map[string][3]float64{
	"1-training-heavy": {53.6, 87.0, 105.1}, "2-mixed-control": {51.6, 72.4, 54.8}, "3-uniform-priority": {76.8, 87.5, 23.1}, "7-scale-64": {44.9, 44.9, 15.9},
}

// gains sets full mode beside FIFO, and both beside the publication.
func (d *document) gains(s *study) {
	rows := [][]string{{"scenario", "utilisation, FIFO strict to full", "published", "value over FIFO strict", "skip", "grid", "published"}}
	gain := func(r *scenarioResult, base string) string {
		return fmt.Sprintf("%+.1f %%", 100*(r.Full.Value/r.FIFO[base].Value-1))
	}
	for i := range s.Scenarios {
		r := &s.Scenarios[i]
		if _, ok := known[r.Name]; !ok {
			continue
		}
		util, value := "-", "-"
		if p, ok := published[r.Name]; ok {
			util, value = fmt.Sprintf("%.1f to %.1f %%", p[0], p[1]), fmt.Sprintf("%+.1f %%", p[2])
		}
		rows = append(rows, []string{r.Name, fmt.Sprintf("%.1f to %.1f %%", 100*r.FIFO["fifo-strict"].Utilisation, 100*r.Full.Utilisation), util,
			gain(r, "fifo-strict"), gain(r, "fifo-skip"), gain(r, "fifo-grid"), value})
	}
	d.table(rows)
}

func gapText(r *scenarioResult) string {
	g := (r.Full.Bound - r.Full.Objective) / math.Abs(r.Full.Bound)
	if g < 5e-6 {
		return "proven"
	}
	return percent(g, 2)
}

func (d *document) all(s *study) {
	rows := [][]string{{"scenario", "GPUs, jobs, apps", "best known before", "200 decodes", "20,000", "full", "full below it", "bound", "gap", "ms for 200", "CPU s, full"}}
	for i := range s.Scenarios {
		r := &s.Scenarios[i]
		rows = append(rows, []string{r.Name, fmt.Sprintf("%d, %d, %d", r.GPUs, r.Jobs, r.Apps), fixed(r.Known, 1), fixed(r.Fast["200"].Objective, 1), fixed(r.Fast["20000"].Objective, 1),
			fixed(r.Full.Objective, 1), percent(gap(r.Known, r.Full.Objective), 3), fixed(r.Full.Bound, 1), gapText(r), fixed(1000*r.Fast["200"].CPU, 1), fixed(r.Full.CPU, 1)})
	}
	d.table(rows)
}

func (d *document) readings(s *study) {
	rows := [][]string{{"reading", "mean change", "lowest", "highest"}}
	for _, r := range s.Readings {
		rows = append(rows, []string{r.Name, percent(r.Mean, 2), strings.TrimSpace(percent(r.Worst, 1) + " " + r.WorstScenario), strings.TrimSpace(percent(r.Best, 1) + " " + r.BestScene)})
	}
	d.table(rows)
}

func (d *document) week(s *study) {
	for _, x := range s.Week.Demands {
		d.say("* `%s` needs %.1f GPUs on average and %.0f at its peak.\n", x.Name, x.Mean, x.Peak)
	}
	d.say("\n")
	rows := [][]string{{"policy", "forecast error", "run times", "served occupancy", "occupancy", "value", "demand not met", "hours short", "held in vain, GPU-h", "swaps", "median wait", "p90 wait", "mean JCT", "CPU s"}}
	for _, r := range s.Week.Rows {
		error, swaps := percent(r.Forecast, 0), fmt.Sprint(r.Swaps)
		if r.Policy != "horizon" {
			error = "-"
		}
		rows = append(rows, []string{r.Policy, error, r.Estimates, percent(r.Served, 1), percent(r.Occupancy, 1), fixed(r.Value, 0), percent(r.Shortfall, 3), fmt.Sprint(r.HoursShort),
			fixed(r.Over, 0), swaps, hours(r.WaitM), hours(r.Wait), hours(r.JCT), fixed(r.CPU, 1)})
	}
	d.table(rows)
}

func hours(seconds float64) string {
	if seconds < 3600 {
		return fixed(seconds/60, 1) + " min"
	}
	return fixed(seconds/3600, 1) + " h"
}

func (d *document) hashes(s *study) {
	d.say("## Inputs\n\nSHA-256 of the files:\n\n")
	rows := [][]string{{"input", "SHA-256"}}
	for i := range s.Scenarios {
		rows = append(rows, []string{s.Scenarios[i].Name, "`" + s.Scenarios[i].SHA256 + "`"})
	}
	rows = append(rows, []string{"the two weeks, services and their files", "`" + s.Week.SHA256 + "`"})
	d.table(rows)
}
