package cli

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

func workloadCommand(s *State) *cobra.Command {
	return group("workload", "Look at, import, convert, make and anonymize workloads",
		`A workload is a list of jobs with what happened to each: a log to replay, or a
made-up one. docs/trace-formats.md says how each format is read.`,
		`  escala workload info jobs.csv
  escala workload import slurm --since 90d --out quarter
  escala workload convert cluster_log.csv jobs.csv
  escala workload anonymize sacct.txt jobs.jsonl --key-file key`,
		workloadInfoCommand(s), workloadCheckCommand(s), workloadImportCommand(s), workloadConvertCommand(s), workloadGenerateCommand(s),
		workloadAnonymizeCommand(s), workloadFormatsCommand(s))
}

func workloadFormatsCommand(s *State) *cobra.Command {
	return &cobra.Command{
		Use:     "formats",
		Short:   "List the formats that are read and written",
		Example: "  escala workload formats",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			t := table{header: []string{"NAME", "WRITES", "WHAT IT IS"}}
			for _, f := range trace.Formats() {
				writes := ""
				if f.Write != nil {
					writes = "yes"
				}
				t.add(f.Name, writes, f.Title)
			}
			return s.showTable(&t)
		},
	}
}

// writeFlags are the options of commands that write a workload.
type writeFlags struct{ to string }

func (f *writeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.to, "to", "", "`format` to write: "+strings.Join(written(), ", ")+" (default: by the ending of OUT: .csv, .swf, .jsonl; each also with .gz)")
	_ = cmd.RegisterFlagCompletionFunc("to", words(written()...))
}

// written lists the formats that can be written.
func written() []string {
	var names []string
	for _, f := range trace.Formats() {
		if f.Write != nil {
			names = append(names, f.Name)
		}
	}
	return names
}

// target finds the format to write to a path.
func (f *writeFlags) target(path string) (trace.Format, error) {
	name := f.to
	if name == "" {
		switch strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))) {
		case ".csv":
			name = "csv"
		case ".swf":
			name = "swf"
		case ".jsonl", ".escala":
			name = "escala"
		default:
			return trace.Format{}, badUsage("--to csv", "the ending of %q names no format; want --to with one of %s", path, strings.Join(written(), ", "))
		}
	}
	format, ok := trace.Lookup(name)
	switch {
	case !ok:
		return format, badUsage("escala workload formats", "--to %q: %s", name, yamlx.Choice(name, written()))
	case format.Write == nil:
		return format, badUsage("--to csv", "the format %s is read but not written; want one of %s", name, strings.Join(written(), ", "))
	}
	return format, nil
}

// writeWorkload writes a workload to a file, or to standard output for "-".
func (s *State) writeWorkload(path string, format trace.Format, w *workload.Workload) error {
	write := func(b *bufio.Writer) error {
		if !strings.HasSuffix(path, ".gz") {
			return format.Write(b, w)
		}
		z := gzip.NewWriter(b)
		if err := format.Write(z, w); err != nil {
			return err
		}
		return z.Close()
	}
	if path == "-" {
		b := bufio.NewWriter(s.Stdout)
		if err := write(b); err != nil {
			return cannotSay(err)
		}
		return b.Flush()
	}
	out, err := s.begin(path)
	if err != nil {
		return err
	}
	defer out.abort()
	if err := out.write(path, write); err != nil {
		return cannotSay(err)
	}
	if err := out.commit(); err != nil {
		return err
	}
	s.say("%s: %s written as %s.%s\n", path, plural(len(w.Jobs), "job"), format.Name, loses(format.Name, w))
	return nil
}

// cannotSay marks what a format has no words for as the user's choice to change.
func cannotSay(err error) error {
	var e *trace.Error
	if errors.As(err, &e) {
		return badInput(err, "--to escala, which holds everything")
	}
	return err
}

// loses says what a format leaves out of this workload.
func loses(format string, w *workload.Workload) string {
	apps := ""
	if n := applications(w); n > 0 && format != "escala" {
		apps = fmt.Sprintf(" The demand of %s is left out: a gang that holds the peak all the time stands in its place. The format escala holds it.", plural(n, "real-time application"))
	}
	switch format {
	case "swf":
		limits := ""
		if n := trace.LimitsAsEstimates(w); n > 0 {
			limits = fmt.Sprintf(" The time limit of %s without an estimate stands as the time requested.", plural(n, "job"))
		}
		return " SWF holds whole seconds, counts and numbers: names became numbers; cores, memory, types, labels and contracts are left out." + limits + apps
	case "csv":
		n := 0
		for i := range w.Jobs {
			if len(w.Jobs[i].Speed) > 0 || len(w.Jobs[i].Labels) > 0 {
				n++
			}
		}
		if n > 0 {
			apps = fmt.Sprintf(" Speeds and labels of %s are left out: csv has no column for them, the format escala has.", plural(n, "job")) + apps
		}
	}
	return apps
}

// applications counts the real-time applications of a workload.
func applications(w *workload.Workload) int {
	n := 0
	for i := range w.Jobs {
		if w.Jobs[i].Service != nil {
			n++
		}
	}
	return n
}
