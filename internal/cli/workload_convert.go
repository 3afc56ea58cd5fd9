package cli

import "github.com/spf13/cobra"

func workloadConvertCommand(s *State) *cobra.Command {
	var read readFlags
	var write writeFlags
	c := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Write a workload in another format",
		Long: `Reads a workload of any format and writes it as csv, swf or escala (JSON lines,
which loses nothing). "-" is standard input or output. What the target has no place
for is said. --services adds real-time applications, which only escala holds whole.`,
		Example: `  escala workload convert cluster_log.csv jobs.csv --timezone Asia/Shanghai
  escala workload convert jobs.csv jobs.swf
  escala workload convert sacct.txt - --to escala | gzip > jobs.jsonl.gz
  escala workload convert jobs.csv both.jsonl --services apps.yaml`,
		Args: argCount(2, 2, "the file to read and the file to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			batch(s)
			format, err := write.target(args[1])
			if err != nil {
				return err
			}
			w, err := s.readWorkload(args[0], &read)
			if err != nil {
				return err
			}
			for _, d := range w.Dropped {
				s.say("%s: dropped %s: %s, first at %s\n", args[0], grouped(int64(d.Count)), d.Cause, d.First)
			}
			return s.writeWorkload(args[1], format, w)
		},
	}
	read.add(c)
	read.addServices(c)
	write.add(c)
	return c
}
