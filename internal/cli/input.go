package cli

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/trace/services"
	"github.com/escala-sched/escala/workload"
)

// readFlags are the options of every command that reads workloads.
type readFlags struct {
	format, timezone         string
	gpuOnly, keepUnscheduled bool
	// services is a file of real-time applications, "" = none.
	services string
}

func (f *readFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "format", "", "`format` of the workload, see escala workload formats (default: recognised by content)")
	cmd.Flags().StringVar(&f.timezone, "timezone", "", "time `zone` of calendar times that name none, such as Asia/Shanghai (default UTC)")
	cmd.Flags().BoolVar(&f.gpuOnly, "gpu-only", false, "drop jobs that ask for no GPU, and count them")
	cmd.Flags().BoolVar(&f.keepUnscheduled, "keep-unscheduled", false, "openb: keep pods that never started")
	_ = cmd.RegisterFlagCompletionFunc("format", completeFormats)
}

// addServices adds the option of commands whose workload may get real-time applications.
func (f *readFlags) addServices(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.services, "services", "", "real-time applications to put among the jobs, a `file`")
	_ = cmd.RegisterFlagCompletionFunc("services", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	})
}

func completeFormats(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, f := range trace.Formats() {
		names = append(names, f.Name+"\t"+f.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (f *readFlags) options() (trace.Options, error) {
	o := trace.Options{Format: f.format, GPUOnly: f.gpuOnly, KeepUnscheduled: f.keepUnscheduled}
	if f.format != "" {
		if _, ok := trace.Lookup(f.format); !ok {
			var names []string
			for _, known := range trace.Formats() {
				names = append(names, known.Name)
			}
			return o, badUsage("escala workload formats", "--format %q: %s", f.format, yamlx.Choice(f.format, names))
		}
	}
	if f.timezone != "" {
		loc, err := time.LoadLocation(f.timezone)
		if err != nil {
			return o, badUsage("--timezone Asia/Shanghai", "--timezone %q: no such time zone is known on this machine", f.timezone)
		}
		o.Location = loc
	}
	return o, nil
}

// unused refuses options about reading where nothing is read.
func (f *readFlags) unused() error {
	for _, o := range []struct {
		name  string
		given bool
	}{{"format", f.format != ""}, {"timezone", f.timezone != ""}, {"gpu-only", f.gpuOnly}, {"keep-unscheduled", f.keepUnscheduled}} {
		if o.given {
			return badUsage("the path of a workload", "--%s says how a workload is read, but none is named", o.name)
		}
	}
	return nil
}

// readInput reads a file, or standard input for "-".
func (s *State) readInput(path string) ([]byte, error) {
	if path == "-" {
		data, err := io.ReadAll(s.Stdin)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return data, nil
	}
	data, err := s.ReadFile(path)
	if err != nil {
		return nil, badInput(noFile(err), "")
	}
	return data, nil
}

// readWorkload reads one workload, with the applications of --services.
func (s *State) readWorkload(path string, f *readFlags) (*workload.Workload, error) {
	w, err := s.readFile(path, f)
	if err != nil {
		return nil, err
	}
	return s.withServices(w, f)
}

// withServices puts the applications of --services among the jobs of a workload.
func (s *State) withServices(w *workload.Workload, f *readFlags) (*workload.Workload, error) {
	if f.services == "" {
		return w, nil
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	data, err := s.readInput(f.services)
	if err != nil {
		return nil, err
	}
	out, err := services.Add(w, services.Input{File: f.services, Data: data, Read: s.ReadFile, Zone: o.Location})
	if err != nil {
		return nil, badInput(err, "docs/services.md has every key, with examples")
	}
	if c := s.ranOn[w]; c != nil {
		s.ranOn[out] = c
	}
	return out, nil
}

// readFile reads the workload that a file holds.
func (s *State) readFile(path string, f *readFlags) (*workload.Workload, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	data, err := s.readInput(path)
	if err != nil {
		return nil, err
	}
	if f.format == "" && trace.IsOpenbNodes(data) {
		return nil, badUsage("--cluster "+path+", and the pod list as the workload", "%s is a list of nodes, not of jobs", path)
	}
	s.room(batchLimit + bytesPerByte*int64(len(data)))
	if f.format == "" && isJournal(data) {
		if data, err = trace.Unpack(path, data); err != nil {
			return nil, badInput(err, "docs/journal.md has the format")
		}
		return s.readJournal(path, data)
	}
	w, err := trace.ReadBytes(path, data, o)
	if err != nil {
		hint := "escala workload formats"
		if f.format != "" {
			hint = "without --format " + f.format + ": the format is recognised by content"
		}
		return nil, badInput(err, hint)
	}
	return w, nil
}

// isJournal tells a journal, gzip or plain, by how it begins.
func isJournal(data []byte) bool {
	if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		head := make([]byte, 64)
		n, _ := io.ReadFull(z, head)
		data = head[:n]
	}
	return journal.Is(data)
}

// readJournal reads the journal of a run as a trace of the jobs that ran to
// their end, on the cluster that they ran on.
func (s *State) readJournal(path string, data []byte) (*workload.Workload, error) {
	r, err := journal.NewReader(path, bytes.NewReader(data))
	if err != nil {
		return nil, badInput(err, "docs/journal.md has the format")
	}
	w, c, err := journal.ToWorkload(r)
	if err != nil {
		return nil, badInput(err, "docs/journal.md has the format")
	}
	if len(w.Jobs) == 0 {
		return nil, badUsage("a journal of a run that came further", "%s: no job ran to its end, so no duration is known", path)
	}
	if s.ranOn == nil {
		s.ranOn = map[*workload.Workload]*cluster.Spec{}
	}
	s.ranOn[w] = c
	return w, nil
}

// readWorkloads reads workloads that share a clock, merges them, and adds the
// applications of --services.
func (s *State) readWorkloads(paths []string, f *readFlags) (*workload.Workload, error) {
	var all []*workload.Workload
	jobs := 0
	for _, p := range paths {
		w, err := s.readFile(p, f)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
		jobs += len(w.Jobs)
	}
	s.room(bytesPerJob * int64(jobs))
	w := all[0]
	if len(all) > 1 {
		var err error
		if w, err = merge(paths, all); err != nil {
			return nil, err
		}
	}
	return s.withServices(w, f)
}

// merge puts the jobs of several workloads on one clock. Workloads with a
// calendar are aligned by it; those without share their time 0.
func merge(paths []string, all []*workload.Workload) (*workload.Workload, error) {
	out := &workload.Workload{Epoch: all[0].Epoch}
	for i, w := range all {
		if (w.Epoch == workload.Unknown) != (out.Epoch == workload.Unknown) {
			return nil, badUsage("files that both tell calendar times, or neither",
				"%s tells calendar times and %s does not: they share no clock", pick(w.Epoch == workload.Unknown, paths[0], paths[i]), pick(w.Epoch == workload.Unknown, paths[i], paths[0]))
		}
		out.Epoch = min(out.Epoch, w.Epoch)
	}
	owner := map[string]int{}
	var names, sources, formats, licences []string
	sum := sha256.New()
	for i, w := range all {
		for k := range w.Jobs {
			if first, ok := owner[w.Jobs[k].ID]; ok {
				return nil, badUsage("files whose job IDs differ, or each file on its own",
					"job %q is both in %s and in %s", w.Jobs[k].ID, paths[first], paths[i])
			}
			owner[w.Jobs[k].ID] = i
		}
		if w.Epoch != workload.Unknown {
			trace.Shift(w, w.Epoch-out.Epoch)
		}
		out.Jobs, out.Actual = append(out.Jobs, w.Jobs...), append(out.Actual, w.Actual...)
		out.Rows += w.Rows
		out.Dropped = append(out.Dropped, w.Dropped...)
		for _, n := range w.Notes {
			out.Notes = append(out.Notes, w.Name+": "+n)
		}
		names, sources = append(names, w.Name), append(sources, w.Source)
		formats, licences = appendNew(formats, w.Format), appendNew(licences, w.Licence)
		_, _ = io.WriteString(sum, w.Hash) // a hash takes everything
	}
	out.Name, out.Source = strings.Join(names, " + "), strings.Join(sources, " + ")
	out.Format, out.Licence = strings.Join(formats, " + "), strings.Join(licences, " + ")
	out.Hash = hex.EncodeToString(sum.Sum(nil))
	out.Notes = append(out.Notes, "Several files were merged; the SHA-256 is that of their SHA-256 sums one after the other.")
	out.Sort()
	return out, nil
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// clusterFor returns the cluster that --cluster names, or the one that the
// workload implies where the option is not given.
func (s *State) clusterFor(ref string, w *workload.Workload) (*cluster.Spec, string, error) {
	if ref != "" {
		c, err := s.readCluster(ref)
		return c, "", err
	}
	if c := s.ranOn[w]; c != nil {
		return c, "the journal's header", nil
	}
	if n, ok := trace.MaxProcs(w); ok {
		c, _, err := cluster.ParseShort("pool:" + strconv.FormatInt(n, 10))
		if err == nil {
			return c, "the log's header (MaxProcs)", nil
		}
	}
	return nil, "", badUsage(sizeHint(w), "the workload does not say which cluster it ran on, and --cluster is missing")
}

// sizeHint says what may be given as a cluster, and what size the workload needs.
func sizeHint(w *workload.Workload) string {
	info := trace.Describe(w, 0)
	var busy float64
	if info.Span > 0 {
		busy = info.GPUHours * 3600 / info.Span
	}
	nodes := max(int64(math.Ceil(busy/8)), (info.MaxGPUs+7)/8, 1)
	return fmt.Sprintf("--cluster %dx8 (nodes x GPUs), --cluster pool:%d (a count of GPUs), or a file: --cluster cluster.yaml.\n"+
		"     The largest job asks for %s; the jobs keep %s busy on average over the time in which they are submitted.",
		nodes, nodes*8, plural(int(info.MaxGPUs), "GPU"), plural(int(math.Round(busy)), "GPU"))
}

// readCluster reads a cluster in any of the forms of --cluster.
func (s *State) readCluster(ref string) (*cluster.Spec, error) {
	c, short, err := cluster.ParseShort(ref)
	if short || err != nil {
		return c, badInput(err, "--cluster 16x8 (nodes x GPUs), --cluster pool:256 (a count of GPUs), or a file")
	}
	data, err := s.ReadFile(ref)
	if err != nil {
		return nil, badInput(fmt.Errorf("cluster %w", noFile(err)), "--cluster 16x8 (nodes x GPUs), --cluster pool:256 (a count of GPUs), or the path of a file")
	}
	if trace.IsOpenbNodes(data) {
		c, err = trace.ReadOpenbNodes(ref, data)
	} else {
		if data, err = trace.Unpack(ref, data); err != nil {
			return nil, badInput(err, "docs/clusters.md has every key, with examples")
		}
		if bytes.HasPrefix(bytes.TrimSpace(data), []byte("job_id,")) {
			return nil, badUsage("--cluster 16x8", "cluster %s is a list of jobs", ref)
		}
		c, err = cluster.ParseYAML(ref, data)
	}
	return c, badInput(err, "docs/clusters.md has every key, with examples")
}

// utc writes Unix milliseconds as a date.
func utc(t workload.Time) string { return time.UnixMilli(t).UTC().Format(time.DateTime + " UTC") }

// momentText writes a point in time of the workload's clock.
func momentText(t workload.Time, w *workload.Workload) string {
	if w.Epoch == workload.Unknown {
		return seconds(t) + " s"
	}
	return utc(w.Epoch + t)
}

// parseMoment reads a point in time on the workload's clock: seconds, a duration
// since its zero, or a date where it has a calendar.
func parseMoment(text string, w *workload.Workload) (workload.Time, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(v) < 1e15 {
		return workload.Time(math.Round(v * 1000)), nil
	}
	if v, err := yamlx.ParseDuration(text); err == nil {
		return workload.Time(v), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateTime, time.RFC3339} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if w.Epoch == workload.Unknown {
			return 0, fmt.Errorf("%q is a date, but the workload has no calendar; want seconds or a duration of its own clock", text)
		}
		return t.UnixMilli() - w.Epoch, nil
	}
	return 0, fmt.Errorf("%q is no point in time; want seconds (86400), a duration since the workload's zero (10d), or a date (2020-09-07)", text)
}
