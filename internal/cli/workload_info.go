package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/demo"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

func workloadInfoCommand(s *State) *cobra.Command {
	var read readFlags
	var clusterRef, output string
	c := &cobra.Command{
		Use:   "info [WORKLOAD...]",
		Short: "Show what is in a workload",
		Long: `Shows how many jobs there are, of which sizes, durations and owners, how good
their estimates are, and what could not be read. With --cluster also the load they
put on it, and which of them can never run there. Without a WORKLOAD it shows the embedded trace.`,
		Example: `  escala workload info
  escala workload info jobs.csv --cluster 16x8
  escala workload info log.swf.gz --output json`,
		RunE: func(_ *cobra.Command, args []string) error {
			batch(s)
			w, on, err := s.infoOf(args, &read, clusterRef)
			if err != nil {
				return err
			}
			info := workloadInfo{}
			gpus := int64(0)
			if on != nil {
				gpus = on.GPUs()
				if info.refused, err = refusedOn(w, on); err != nil {
					return err
				}
				info.Refused = info.refused.refusedList()
			}
			info.Info = trace.Describe(w, gpus)
			if output == "json" {
				e := json.NewEncoder(s.Stdout)
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				return e.Encode(info)
			}
			return s.print("%s", infoText(&info, gpus))
		},
	}
	c.Flags().StringVarP(&clusterRef, "cluster", "c", "", "cluster for the load: 16x8, pool:256, or a `file`")
	c.Flags().VarP(newChoice(&output, "table", "json"), "output", "o", "what to print: table, json")
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
	read.add(c)
	read.addServices(c)
	return c
}

// workloadInfo is a summary with what is known of a cluster.
type workloadInfo struct {
	trace.Info
	// Refused are the causes for which jobs can never run on the cluster.
	Refused []refusedCount `json:"refused,omitempty"`
	refused *study
}

// refusedCount is one such cause.
type refusedCount struct {
	Cause string `json:"cause"`
	Count int    `json:"count"`
	// First is the first job that it befalls.
	First string `json:"first"`
}

func (s *State) infoOf(paths []string, read *readFlags, clusterRef string) (w *workload.Workload, on *cluster.Spec, err error) {
	if len(paths) == 0 {
		if err := read.unused(); err != nil {
			return nil, nil, err
		}
		if w, err = demo.Workload(); err == nil {
			w, err = s.withServices(w, read)
		}
	} else {
		w, err = s.readWorkloads(paths, read)
	}
	if err != nil {
		return nil, nil, err
	}
	if clusterRef == "" {
		return w, nil, nil
	}
	if on, err = s.readCluster(clusterRef); err != nil {
		return nil, nil, err
	}
	return w, on, nil
}

// mostNames is how many of a kind are shown to people.
const mostNames = 15

// infoText renders the summary for people.
func infoText(i *workloadInfo, gpus int64) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-16s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("Name", "%s", i.Name)
	line("Format", "%s", i.Format)
	line("Source", "%s", i.Source)
	if i.Licence != "" {
		line("Licence", "%s", i.Licence)
	}
	line("SHA-256", "%s", i.Hash)
	line("Rows", "%s read, %s used", grouped(int64(i.Rows)), plural(i.Jobs, "job"))
	for _, d := range i.Dropped {
		line("Dropped", "%s: %s, first at %s", grouped(int64(d.Count)), d.Cause, d.First)
	}
	for _, n := range i.Notes {
		line("Note", "%s", n)
	}
	when := func(t float64) string {
		if i.Epoch == nil {
			return trimNumber(t, 3) + " s"
		}
		return utc(int64((*i.Epoch + t) * 1000))
	}
	line("Submitted", "%s to %s (%s)", when(i.First), when(i.Last), roundSpan(i.Span))
	line("GPU-hours", "%s, if every job runs once", hours(i.GPUHours))
	if i.Span > 0 {
		line("Keeps busy", "%s GPUs on average over that time", trimNumber(i.GPUHours*3600/i.Span, 1))
	}
	if i.Load != nil {
		line("Offered load", "%s %% of %s", trimNumber(*i.Load*100, 1), plural(int(gpus), "GPU"))
	}
	if i.refused != nil && len(i.refused.refusals) > 0 {
		text, try := i.refused.refusedAll()
		line("Never runs", "%s. Try: %s", text, try)
	}
	line("Durations", "mean %s, median %s, p90 %s, longest %s", roundSpan(i.Duration.Mean), roundSpan(i.Duration.Median), roundSpan(i.Duration.P90), roundSpan(i.Duration.Max))
	if i.Wait != nil {
		line("Recorded waits", "mean %s, median %s, p90 %s, longest %s", roundSpan(i.Wait.Mean), roundSpan(i.Wait.Median), roundSpan(i.Wait.P90), roundSpan(i.Wait.Max))
	}
	line("Kinds", "%s with GPUs, %s with a part of one, %s of several tasks", grouped(int64(i.GPUJobs)), grouped(int64(i.FractionalJobs)), grouped(int64(i.GangJobs)))
	if len(i.Services) > 0 {
		line("Real-time", "%s", servicesText(i.Services))
	}
	line("Users", "%s", grouped(int64(i.Users)))
	if e := i.Estimates; e.Given > 0 {
		line("Estimates", "%s given: %s exact, %s too long, %s too short; median of duration/estimate %s, mean accuracy %s %%",
			grouped(int64(e.Given)), grouped(int64(e.Exact)), grouped(int64(e.Over)), grouped(int64(e.Under)), trimNumber(e.MedianRatio, 3), trimNumber(e.MeanAccuracy*100, 1))
	} else {
		line("Estimates", "none given")
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, "%-16s %12s %14s %8s\n", "GPUs", "jobs", "GPU-hours", "share")
	for _, z := range i.Sizes {
		sizeLine(&b, grouped(z.GPUs), z.Jobs, z.GPUHours, i.GPUHours)
	}
	serviceLines(&b, i.Services)
	for _, part := range []struct {
		title string
		rows  []trace.NameCount
	}{{"Team", i.Teams}, {"Partition", i.Partitions}, {"GPU type", i.GPUTypes}, {"Outcome", i.Outcomes}} {
		if len(part.rows) == 0 || part.title == "Partition" && sameNames(i.Teams, i.Partitions) {
			continue
		}
		fmt.Fprintf(&b, "\n%-16s %12s %14s %8s\n", part.title, "jobs", "GPU-hours", "share")
		for n, r := range part.rows {
			if n == mostNames {
				fmt.Fprintf(&b, "and %s more (--output json has all)\n", grouped(int64(len(part.rows)-mostNames)))
				break
			}
			sizeLine(&b, r.Name, r.Jobs, r.GPUHours, i.GPUHours)
		}
	}
	return b.String()
}

func sizeLine(b *strings.Builder, name string, jobs int, h, all float64) {
	share := 0.0
	if all > 0 {
		share = h / all * 100
	}
	fmt.Fprintf(b, "%-16s %12s %14s %7.1f%%\n", name, grouped(int64(jobs)), hours(h), share)
}

func sameNames(a, b []trace.NameCount) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// hours writes GPU-hours, with decimals where they are few.
func hours(h float64) string {
	if h < 99.95 {
		return trimNumber(h, 2)
	}
	return grouped(int64(h + 0.5))
}

// roundSpan writes seconds as people say them, with two units at most.
func roundSpan(s float64) string {
	if s < 59.95 {
		return trimNumber(s, 1) + " s"
	}
	large, small, per, n := "d", "h", 24, int(math.Round(s/3600))
	switch {
	case s < 3599.5:
		large, small, per, n = "min", "s", 60, int(math.Round(s))
	case s < 86400-30:
		large, small, per, n = "h", "min", 60, int(math.Round(s/60))
	}
	text := grouped(int64(n/per)) + " " + large
	if rest := n % per; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, small)
	}
	return text
}
