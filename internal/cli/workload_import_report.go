package cli

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/internal/slurmhist"
)

// printImport says what an import came to.
func (s *State) printImport(r *slurmhist.Report, paths []string) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s%s\n", name, fmt.Sprintf(format, args...))
	}
	for _, in := range r.Inputs {
		version := ""
		if in.Slurm != "" {
			version = ", Slurm " + in.Slurm
		}
		line("Read", "%s: %s%s", in.What, pick(in.Name == "", "(name left out)", in.Name), version)
	}
	for _, w := range r.Warnings {
		line("Warning", "%s", w)
	}
	line("Records", "%s, from %s to %s", grouped(int64(r.Records)), pick(r.From == "", "0", r.From), pick(r.To == "", "the end", r.To))
	line("Cluster", "%s", clusterText(&r.Cluster))
	arrays := ""
	if r.Arrays > 0 {
		arrays = "; tasks of " + plural(r.Arrays, "array") + " are among them"
	}
	line("Jobs", "%s with %s, %s GPU-hours%s", plural(r.Jobs, "job"), plural(r.Runs, "run"), hoursText(r.GPUHour), arrays)
	if r.Contracts.Declared > 0 {
		line("Contracts", "%s declared something to escala", plural(r.Contracts.Declared, "job"))
	}
	itemLines(&b, "Left out", "job", r.LeftOut)
	itemLines(&b, "Simplified", "job", r.Simplified)
	itemLines(&b, "Run again", "run", r.Requeues)
	itemLines(&b, "Comments", "job", r.BrokenComments)
	itemLines(&b, "Limits", "QOS", r.Limits)
	if o := r.Outages; o != nil {
		line("Outages", "%d in the cluster (%d without an end); %d outside of the history, %d of other nodes", o.Used, o.Open, o.Outside, o.Unknown)
	}
	if x := r.Budgets; x != nil {
		line("Budgets", "%s, %s; %s ignored (import.json lists them)", plural(x.Accounts, "account"), plural(x.Users, "user"), plural(len(x.Ignored), "limit"))
		for _, n := range x.Notes {
			line("", "%s", n)
		}
	}
	if err := s.print("%s\n", b.String()); err != nil {
		return err
	}
	if err := s.printFidelity(r); err != nil {
		return err
	}
	for _, p := range paths {
		if err := s.print("Written: %s\n", p); err != nil {
			return err
		}
	}
	return s.print("Go on:   %s\n", r.Next)
}

func clusterText(c *slurmhist.Capacity) string {
	t := fmt.Sprintf("%s: %s, %s", c.Name, plural(c.Nodes, "node"), plural(int(c.GPUs), "GPU"))
	if len(c.Types) > 0 {
		t += " (" + strings.Join(c.Types, ", ") + ")"
	}
	switch {
	case c.Told == 0:
		t += "; deduced from what ran: what was never in use at once is missing"
	case c.Deduced > 0:
		t += fmt.Sprintf("; %d of them are not described and were deduced from what ran", c.Deduced)
	}
	if c.Untyped {
		t += "; without GPU types, since jobs ran over several at once"
	}
	if c.Split > 0 {
		t += fmt.Sprintf("; %s of several GPU types became one for each", plural(c.Split, "node"))
	}
	if c.Large > 0 {
		t += fmt.Sprintf("; %s of more than 64 GPUs have 64 here", plural(c.Large, "node"))
	}
	if c.WithoutGPUs > 0 {
		t += fmt.Sprintf("; %s without GPUs left out", plural(c.WithoutGPUs, "node"))
	}
	return t
}

// itemLines lists causes.
func itemLines(b *strings.Builder, name, noun string, items []slurmhist.Item) {
	for _, i := range items {
		example := ""
		if i.Example != "" {
			example = ", such as " + i.Example
		}
		hours := ""
		if i.GPUHours > 0 {
			hours = ", " + hoursText(i.GPUHours) + " GPU-hours"
		}
		what := plural(i.Jobs, noun)
		if noun == "QOS" {
			what = grouped(int64(i.Jobs)) + " " + noun
		}
		fmt.Fprintf(b, "%-14s%s%s: %s%s\n", name, what, hours, i.Cause, example)
		name = ""
	}
}

func hoursText(v float64) string {
	switch {
	case v >= 10:
		return grouped(int64(v + 0.5))
	case v >= 0.1:
		return trimNumber(v, 1)
	}
	return trimNumber(v, 3)
}

// printFidelity is the block that says how far to believe it.
func (s *State) printFidelity(r *slurmhist.Report) error {
	f := r.Fidelity
	if f == nil {
		return s.print("Nothing tells how far to believe a comparison: --no-replay.\n\n")
	}
	var b strings.Builder
	p := &f.Placements
	fmt.Fprintf(&b, "%-14s%s: %s possible on this cluster, %s not possible, of %s no nodes are recorded\n", "Placements", plural(p.Runs, "recorded start"),
		grouped(int64(p.Legal)), grouped(int64(p.Runs-p.Legal-p.Untold)), grouped(int64(p.Untold)))
	itemLines(&b, "", "run", p.Illegal)
	itemLines(&b, "Can never run", "job", f.RefusedJobs)
	fmt.Fprintf(&b, "%-14s%s\n", "Policy", r.Model.Of)
	for _, x := range []struct {
		name string
		list []string
	}{{"Modelled", r.Model.Yes}, {"Not modelled", r.Model.No}} {
		name := x.name
		for _, t := range x.list {
			fmt.Fprintf(&b, "%-14s%s\n", name, t)
			name = ""
		}
	}
	if err := s.print("%s\n", b.String()); err != nil {
		return err
	}
	t := table{header: []string{"HOW FAR TO BELIEVE IT", "JOBS", "WAIT P50", "REPLAYED", "WAIT P90", "REPLAYED", "OFF BY", "CORRELATION"}}
	add := func(name string, d *slurmhist.Distance) {
		c := "-"
		if d.Correlation != nil {
			c = fmt.Sprintf("%.2f", *d.Correlation)
		}
		t.add(name, grouped(int64(d.Jobs)), slurmhist.Seconds(d.WaitP50[0]), slurmhist.Seconds(d.WaitP50[1]), slurmhist.Seconds(d.WaitP90[0]), slurmhist.Seconds(d.WaitP90[1]), slurmhist.Seconds(d.Error), c)
	}
	add("all jobs", &f.All)
	for i := range f.Sizes {
		add(f.Sizes[i].Size+" GPUs", &f.Sizes[i])
	}
	t.alignRight(1)
	if err := s.showTable(&t); err != nil {
		return err
	}
	refused := ""
	if f.Refused > 0 {
		refused = fmt.Sprintf(" %s can never run on this cluster.", plural(f.Refused, "job"))
	}
	return s.print("Occupancy was %s and is %s in the replay.%s\n\n", percent(f.Occupancy[0]), percent(f.Occupancy[1]), refused)
}
