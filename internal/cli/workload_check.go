package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/workload"
)

func workloadCheckCommand(s *State) *cobra.Command {
	var read readFlags
	c := &cobra.Command{
		Use:   "check WORKLOAD...",
		Short: "Check workload files: rows read, used, and dropped by cause",
		Long: `Reads each file as compare and simulate do, and says what came of its rows. In
escala's own formats (csv, escala) a row that is wrong makes the file unusable; in
other people's logs it is dropped and counted. The exit code is 2 if a file cannot
be used at all.`,
		Example: `  escala workload check jobs.csv
  escala workload check sacct.txt --timezone Europe/Paris`,
		Args: argCount(1, -1, "workload files"),
		RunE: func(_ *cobra.Command, args []string) error {
			batch(s)
			var broken []error
			for _, path := range args {
				w, err := s.readWorkload(path, &read)
				if err == nil {
					err = badInput(prefixed(path, w.Check()), "")
				}
				if err != nil {
					broken = append(broken, err)
					continue
				}
				if err := s.printChecked(path, w); err != nil {
					return err
				}
			}
			return allBroken(broken, "escala workload formats")
		},
	}
	read.add(c)
	return c
}

func (s *State) printChecked(path string, w *workload.Workload) error {
	err := s.print("%s: ok: format %s, %s read, %s used\n", path, w.Format, plural(w.Rows, "row"), plural(len(w.Jobs), "job"))
	for _, d := range w.Dropped {
		if err == nil {
			err = s.print("  dropped %s: %s, first at %s\n", grouped(int64(d.Count)), d.Cause, d.First)
		}
	}
	for _, n := range w.Notes {
		if err == nil {
			err = s.print("  note: %s\n", n)
		}
	}
	return err
}

// prefixed puts a file's name before an error that does not name it.
func prefixed(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}
