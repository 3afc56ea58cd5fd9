package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurmhist"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

func workloadImportCommand(s *State) *cobra.Command {
	c := group("import", "Make a workload and a cluster of a site's own history",
		`Reads what a scheduler recorded, makes a workload and a cluster of it, says what of it
was left out or simplified, and how far a replay is from what really happened.`,
		`  escala workload import slurm --since 90d --out quarter`,
		workloadImportSlurmCommand(s))
	c.GroupID = ""
	return c
}

// importFlags are the options of escala workload import slurm.
type importFlags struct {
	since, timezone, out, output string
	nodes                        []string
	qos, config, events, assoc   string
	which                        string
	cpuJobs, force, noReplay     bool
	anonymize, keepTimes         bool
	keyFile                      string
	contract                     workload.Contract
	contracts                    string
	checkpoint                   workload.Span
	given                        func(string) bool
}

func workloadImportSlurmCommand(s *State) *cobra.Command {
	f := &importFlags{}
	c := &cobra.Command{
		Use:   "slurm [FILE...]",
		Short: "Make a workload and a cluster of Slurm's history",
		Long: `Reads Slurm's accounting and writes into the folder --out: workload.jsonl, cluster.yaml,
slurm.yaml (the policy that Slurm ran, as far as it can be modelled), budgets.yaml (with
associations) and import.json, which says what was used and what was not. It prints the
"escala compare" command to go on with, and how far a replay of the recorded policy is
from what really happened: what that misses, a comparison misses too.

Without a FILE it asks Slurm itself: sacct a day at a time since --since, then scontrol,
sacctmgr. It reads only; whoever runs it must be allowed to see all jobs. A FILE is what
sacct -P (with -D for requeued runs) or sacct --json wrote, plain or gzip; --nodes and
its like take what the other tools wrote. Without --nodes the cluster is deduced from
what ran. docs/slurm-history.md goes through it step by step.

Of jobs whose comment says nothing to escala --contracts says it, as escala serve has it,
and else --min-runtime, --checkpoint, --restart-cost and --grace.`,
		Example: `  escala workload import slurm --since 90d --out quarter
  escala workload import slurm sacct.txt --nodes nodes.txt --out quarter --timezone Europe/Paris
  escala workload import slurm sacct.json.gz --nodes sinfo.json --assoc assoc.txt --out quarter
  escala workload import slurm --since 2026-09-01 --out quarter --anonymize --key-file key`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed
			return f.run(cmd.Context(), s, args)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.out, "out", "", "`folder` to write to; it is made")
	fs.StringVar(&f.since, "since", "", "how far back: 90d, or a `date`; of files, only jobs submitted since then are in the figures")
	fs.StringSliceVar(&f.nodes, "nodes", nil, "`files` of scontrol show node, scontrol show partition, sinfo -N, or sinfo --json")
	fs.StringVar(&f.config, "config", "", "`file` of scontrol show config: what policy ran")
	fs.StringVar(&f.qos, "qos", "", "`file` of sacctmgr -P show qos: priorities of jobs")
	fs.StringVar(&f.events, "events", "", "`file` of sacctmgr -P show event: when nodes were down or drained")
	fs.StringVar(&f.assoc, "assoc", "", "`file` of sacctmgr -P show assoc tree: becomes budgets.yaml")
	fs.StringVar(&f.which, "slurm-cluster", "", "`name` of the cluster, where records or associations are of several (default: that of most records)")
	fs.StringVar(&f.timezone, "timezone", "", "time `zone` of the times in files, such as Europe/Paris (default UTC)")
	fs.BoolVar(&f.cpuJobs, "cpu-jobs", false, "keep jobs and nodes without GPUs")
	fs.StringVar(&f.contracts, "contracts", "", "`file` of contracts by partition and QOS, of jobs that declare none; docs/slurm.md")
	fs.Var(span{&f.contract.MinRuntime}, "min-runtime", "minimum runtime of jobs that declare none (default: the policy's)")
	fs.Var(checkpoint{&f.checkpoint}, "checkpoint", "what stopped jobs keep that do not say so: on-stop, never, or a duration such as 30m (default: as compare has it)")
	fs.Var(span{&f.contract.RestartCost}, "restart-cost", "time that starting again takes, of jobs that declare none")
	fs.Var(span{&f.contract.Grace}, "grace", "time between the request to stop and the release, of jobs that declare none")
	fs.BoolVar(&f.noReplay, "no-replay", false, "do not replay the recorded policy: nothing then tells how far to believe a comparison")
	fs.BoolVar(&f.anonymize, "anonymize", false, "replace all names by codes, as escala workload anonymize does")
	fs.StringVar(&f.keyFile, "key-file", "", "with --anonymize: `file` that holds the secret key (default: the environment variable "+keyVariable+")")
	fs.BoolVar(&f.keepTimes, "keep-times", false, "with --anonymize: keep points in time and the calendar")
	fs.BoolVar(&f.force, "force", false, "overwrite what an earlier import wrote")
	fs.VarP(newChoice(&f.output, "table", "json"), "output", "o", "what to print: table, json")
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
	_ = c.RegisterFlagCompletionFunc("checkpoint", words("on-stop", "never", "30m"))
	_ = c.MarkFlagDirname("out")
	return c
}

// imported is what an import came to, on the way to its files.
type imported struct {
	f         *importFlags
	s         *State
	loc       *time.Location
	since     time.Time
	now       time.Time
	site      *slurmhist.Site
	g         *slurmhist.Gatherer
	inputs    []slurmhist.Input
	warn      []string
	assoc     []byte
	assocIn   string
	contracts *slurm.Contracts
	key       []byte
	h         *slurmhist.History
	policy    *policy.Policy
	budgets   []byte
	paths     []string
}

func (f *importFlags) run(ctx context.Context, s *State, files []string) error {
	batch(s)
	m := &imported{f: f, s: s, loc: time.UTC, site: &slurmhist.Site{}, g: slurmhist.NewGatherer()}
	if err := m.settle(files); err != nil {
		return err
	}
	var err error
	if len(files) == 0 {
		err = m.ask(ctx)
	} else {
		err = m.read(ctx, files)
	}
	if err == nil {
		err = m.build()
	}
	if err == nil {
		err = m.replay(ctx)
	}
	if errors.Is(err, context.Canceled) {
		return &interrupted{err: err, unwritten: []string{f.out}}
	}
	if err != nil {
		return err
	}
	return m.write()
}

// settle checks the options before anything is asked or read.
func (m *imported) settle(files []string) (err error) {
	f, s := m.f, m.s
	switch {
	case f.out == "":
		return badUsage("--out quarter", "--out is missing: the folder to write to")
	case len(files) == 0 && f.since == "":
		return badUsage("--since 90d, or the file that sacct -P or sacct --json wrote", "neither --since nor a file: what is to be read?")
	case len(files) == 0 && len(f.nodes) > 0:
		return badUsage("without it: Slurm itself is asked", "--nodes describes the cluster of files, and no file is named")
	case f.checkpoint != 0 && !f.given("checkpoint"):
		f.checkpoint = 0
	case !f.anonymize && (f.keyFile != "" || f.keepTimes):
		return badUsage("--anonymize", "--key-file and --keep-times are about --anonymize, which is missing")
	}
	f.contract.HasMinRuntime = f.given("min-runtime")
	if f.given("checkpoint") {
		f.contract.CheckpointOnStop = f.checkpoint == 0
		f.contract.CheckpointInterval = max(f.checkpoint, 0)
	}
	if f.timezone != "" {
		if m.loc, err = time.LoadLocation(f.timezone); err != nil {
			return badUsage("--timezone Europe/Paris", "--timezone %q: no such time zone is known on this machine", f.timezone)
		}
	}
	if f.since != "" {
		clock := s.wall()
		m.now = clock.now
		if len(files) > 0 {
			clock.loc = m.loc
		}
		if m.since, err = clock.parseSince(f.since); err != nil {
			return badUsage("--since 90d", "--since %s", err)
		}
		if !m.since.Before(clock.now) && len(files) == 0 {
			return badUsage("--since 90d", "--since %s is not in the past", f.since)
		}
	}
	if f.anonymize {
		if m.key, err = s.anonymKey(f.keyFile); err != nil {
			return err
		}
	}
	if f.contracts != "" {
		var data []byte
		if m.contracts, data, err = s.loadContracts(f.contracts); err != nil {
			return err
		}
		m.inputs = append(m.inputs, slurmhist.Input{What: "contracts", Name: f.contracts, SHA256: slurmhist.Sum(data)})
	}
	for _, name := range []string{"workload.jsonl", "cluster.yaml", "slurm.yaml", "budgets.yaml", "import.json"} {
		m.paths = append(m.paths, filepath.Join(f.out, name))
	}
	return m.free()
}

// free refuses to overwrite.
func (m *imported) free() error {
	if m.f.force {
		return nil
	}
	for _, p := range m.paths {
		old, err := m.s.Open(p)
		if err == nil {
			_ = old.Close()
			return badUsage("--force, or another --out", "%s is there already", p)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return badInput(noFile(err), "a folder that can be written to")
		}
	}
	return nil
}

// ask asks Slurm.
func (m *imported) ask(ctx context.Context) error {
	var day, days atomic.Int64
	bar := &statusLine{s: m.s, text: func(time.Duration) string {
		return fmt.Sprintf("sacct: day %d of %d", day.Load(), days.Load())
	}}
	a := &slurmhist.Ask{Now: m.now, Progress: func(d, of int) { day.Store(int64(d)); days.Store(int64(of)) }}
	bar.begin()
	in, err := a.Records(ctx, m.since, m.g)
	if err == nil {
		m.inputs = append(m.inputs, in)
		var more []slurmhist.Input
		if more, m.warn, err = a.Site(ctx, m.since, m.site); err == nil {
			m.inputs = append(m.inputs, more...)
			m.askAssoc(ctx, a)
		}
	}
	bar.end()
	var e *trace.Error
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case slurmhist.IsNoTool(err):
		return badInput(err, "a machine of the cluster; or save what it prints there and name the files: escala workload import slurm sacct.txt --nodes nodes.txt --out "+m.f.out)
	case errors.As(err, &e):
		return badInput(err, "docs/slurm-history.md says what is read")
	}
	return &hinted{err, "the same command by hand; docs/slurm-history.md says what rights it needs"}
}

func (m *imported) askAssoc(ctx context.Context, a *slurmhist.Ask) {
	in, data, err := a.Assoc(ctx)
	if err != nil {
		m.warn = append(m.warn, "not asked: associations: "+err.Error())
		return
	}
	m.inputs, m.assoc, m.assocIn = append(m.inputs, in), data, in.Name
}

// read reads files.
func (m *imported) read(ctx context.Context, files []string) error {
	const hint = "docs/slurm-history.md says how each file is made"
	for _, path := range files {
		if err := m.records(ctx, path); err != nil {
			if errors.Is(err, context.Canceled) {
				return err
			}
			return badInput(err, hint)
		}
	}
	type file struct {
		what, path string
		take       func(name string, data []byte) error
	}
	var list []file
	for _, p := range m.f.nodes {
		list = append(list, file{"nodes", p, m.site.AddNodes})
	}
	list = append(list, file{"configuration", m.f.config, m.site.AddConfig}, file{"qos", m.f.qos, m.site.AddQOS},
		file{"events", m.f.events, func(name string, data []byte) error { return m.site.AddEvents(name, data, m.loc) }},
		file{"associations", m.f.assoc, func(name string, data []byte) error { m.assoc, m.assocIn = data, name; return nil }})
	for _, x := range list {
		if x.path == "" {
			continue
		}
		data, err := m.s.readInput(x.path)
		if err != nil {
			return err
		}
		in := slurmhist.Input{What: x.what, Name: x.path, SHA256: slurmhist.Sum(data)}
		if data, err = trace.Unpack(x.path, data); err == nil {
			err = x.take(x.path, data)
		}
		if err != nil {
			return badInput(err, hint)
		}
		m.inputs = append(m.inputs, in)
	}
	return nil
}

// records reads a file of accounting bit by bit.
func (m *imported) records(ctx context.Context, path string) error {
	in := io.NopCloser(m.s.Stdin)
	if path != "-" {
		file, err := m.s.Open(path)
		if err != nil {
			return noFile(err)
		}
		in = file
	}
	defer func() { _ = in.Close() }()
	sum := sha256.New()
	var read, records atomic.Int64
	bar := &statusLine{s: m.s, text: func(time.Duration) string {
		return fmt.Sprintf("%s: %s MB, %s records", path, grouped(read.Load()/1e6), grouped(records.Load()))
	}}
	b := bufio.NewReaderSize(io.TeeReader(in, io.MultiWriter(sum, counter{&read})), 1<<20)
	var plain io.Reader = b
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return &trace.Error{File: path, Msg: "broken gzip: " + err.Error(), Want: "a complete .gz file or plain text"}
		}
		plain = z
	}
	bar.begin()
	src, err := trace.ScanSlurm(path, plain, m.loc, func(r *trace.SlurmRecord) error {
		if records.Add(1)&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		m.g.Add(r)
		return nil
	})
	bar.end()
	if err != nil {
		if strings.Contains(err.Error(), "gzip") || errors.Is(err, io.ErrUnexpectedEOF) {
			err = &trace.Error{File: path, Msg: "broken gzip: " + strings.TrimPrefix(err.Error(), "gzip: "), Want: "a complete .gz file or plain text"}
		}
		return err
	}
	m.inputs = append(m.inputs, slurmhist.Input{What: "accounting", Name: path, SHA256: hex.EncodeToString(sum.Sum(nil)), Slurm: src.Version})
	return nil
}

// counter counts bytes.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// build makes the history.
func (m *imported) build() error {
	o := slurmhist.Options{Contracts: m.contracts, Name: filepath.Base(filepath.Clean(m.f.out)), Location: m.loc, CPUJobs: m.f.cpuJobs, Contract: m.f.contract, Cluster: m.f.which}
	if !m.since.IsZero() {
		o.Since = m.since.UnixMilli()
	}
	var err error
	if m.h, err = m.g.Build(m.site, o); err != nil {
		return badInput(err, "docs/slurm-history.md says which records and columns are needed")
	}
	if m.h.Empty() {
		return badUsage("an earlier --since", "no job was submitted since %s", m.f.since)
	}
	r := m.h.Report
	r.Version, r.Inputs, r.Warnings = m.s.Build.name(), m.inputs, m.warn
	if m.policy, r.Model, err = m.site.Policy(); err != nil {
		return fmt.Errorf("policy of Slurm: %w", err)
	}
	if m.assoc == nil {
		return nil
	}
	var names *trace.Names
	if m.f.anonymize {
		names = trace.NewNames(m.key)
	}
	which := m.f.which
	if which == "" {
		which = m.h.Cluster.Name
	}
	m.budgets, r.Budgets, err = slurmhist.ImportBudgets(m.assocIn, m.assoc, which, names)
	if err != nil && m.f.assoc == "" { // it was asked without anybody's wish
		r.Warnings = append(r.Warnings, "no budgets: "+err.Error())
		return nil
	}
	return badInput(err, "--slurm-cluster NAME, or without --assoc; docs/budgets.md has what budgets are")
}

// replay holds a replay of the recorded policy to what happened.
func (m *imported) replay(ctx context.Context) error {
	if !m.f.noReplay {
		bar := m.s.newProgress()
		bar.begin(len(m.h.Workload.Jobs), []*policy.Policy{m.policy})
		err := m.h.Replay(ctx, m.policy, func(done, _ int) { bar.set(0, done) })
		bar.end()
		if err != nil {
			return err
		}
	}
	if m.f.anonymize {
		m.h.Anonymize(m.key, m.f.keepTimes)
	}
	m.h.Note()
	return nil
}

// write writes all files, or none.
func (m *imported) write() error {
	s, r := m.s, m.h.Report
	if err := s.MkdirAll(m.f.out); err != nil {
		return badInput(noFile(err), "a folder that can be written to")
	}
	paths := m.paths
	if m.budgets == nil {
		if old, err := s.Open(paths[3]); err == nil {
			_ = old.Close()
			r.Warnings = append(r.Warnings, paths[3]+" is of an earlier import: this one has no associations")
		}
		paths = append(append([]string{}, paths[:3]...), paths[4])
	}
	out, err := s.begin(paths...)
	if err != nil {
		return err
	}
	defer out.abort()
	escala, _ := trace.Lookup("escala")
	fill := map[string]func(io.Writer) error{
		"workload.jsonl": func(w io.Writer) error { return escala.Write(w, m.h.Workload) },
		"cluster.yaml":   func(w io.Writer) error { return cluster.WriteYAML(w, m.h.Cluster) },
		"slurm.yaml":     func(w io.Writer) error { _, err := w.Write(m.policy.YAML()); return err },
		"budgets.yaml":   func(w io.Writer) error { _, err := w.Write(m.budgets); return err },
	}
	r.Next = m.next()
	for _, p := range paths[:len(paths)-1] {
		name := filepath.Base(p)
		sum := sha256.New()
		if err := out.write(p, func(b *bufio.Writer) error { return fill[name](io.MultiWriter(b, sum)) }); err != nil {
			return err
		}
		r.Files = append(r.Files, slurmhist.Output{Name: name, SHA256: hex.EncodeToString(sum.Sum(nil))})
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := out.write(paths[len(paths)-1], func(b *bufio.Writer) error { _, err := b.Write(text); return err }); err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	if m.f.output == "json" {
		_, err := s.Stdout.Write(text)
		return err
	}
	return s.printImport(r, paths)
}

// next is the command to go on with.
func (m *imported) next() string {
	in := func(name string) string { return filepath.Join(m.f.out, name) }
	args := []string{"compare", in("workload.jsonl"), "--cluster", in("cluster.yaml"), "--policy", in("slurm.yaml") + ",easy,contract"}
	if m.budgets != nil {
		args = append(args, "--budgets", in("budgets.yaml"))
	}
	if w := m.h.Window(); !w.IsDefault() {
		from := seconds(w.From)
		if e := m.h.Workload.Epoch; e != workload.Unknown {
			from = time.UnixMilli(e + w.From).UTC().Format(time.RFC3339)
		}
		args = append(args, "--window", from+"..")
	}
	return "escala " + quoteArgs(append(args, "--report", in("report.html")))
}
