package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/workload"
)

func workloadCheckCommand(s *State) *cobra.Command {
	var read readFlags
	var clusterRef string
	c := &cobra.Command{
		Use:   "check WORKLOAD...",
		Short: "Check workload files: rows read, used, and dropped by cause",
		Long: `Reads each file as compare and simulate do, and says what came of its rows. In
escala's own formats (csv, escala) a row that is wrong makes the file unusable; in
other people's logs it is dropped and counted. With --cluster it also says which
jobs can never run there. The exit code is 2 if a file cannot be used at all.`,
		Example: `  escala workload check jobs.csv
  escala workload check jobs.csv --cluster 16x8
  escala workload check sacct.txt --timezone Europe/Paris`,
		Args: argCount(1, -1, "workload files"),
		RunE: func(_ *cobra.Command, args []string) error {
			batch(s)
			var on *cluster.Spec
			if clusterRef != "" {
				var err error
				if on, err = s.readCluster(clusterRef); err != nil {
					return err
				}
			}
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
				if err := s.printChecked(path, w, on); err != nil {
					return err
				}
			}
			return allBroken(broken, "escala workload formats")
		},
	}
	c.Flags().StringVarP(&clusterRef, "cluster", "c", "", "cluster that the jobs are to fit: 16x8, pool:256, or a `file`")
	read.add(c)
	read.addServices(c)
	return c
}

func (s *State) printChecked(path string, w *workload.Workload, on *cluster.Spec) error {
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
	if err != nil || on == nil {
		return err
	}
	t, err := refusedOn(w, on)
	if err != nil {
		return err
	}
	if len(t.refusals) == 0 {
		return s.print("  every job fits cluster %s\n", on.Name)
	}
	text, try := t.refusedAll()
	return s.print("  %s. Try: %s\n", text, try)
}

// prefixed puts a file's name before an error that does not name it.
func prefixed(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}
