package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// generateFlags are the options of escala workload generate.
type generateFlags struct {
	read     readFlags
	write    writeFlags
	gen      trace.GenOptions
	cluster  string
	resample string
	ratio    float64
	given    func(string) bool
}

func workloadGenerateCommand(s *State) *cobra.Command {
	f := &generateFlags{}
	c := &cobra.Command{
		Use:   "generate OUT",
		Short: "Make up a workload, or draw one from another",
		Long: `Makes up jobs whose arrivals follow day and week, with log-normal durations, GPUs
in powers of two and heavy-tailed users, for a cluster of --nodes x --gpus-per-node
at a given --load. The same options and seed give the same workload.

With --resample it makes the arrival experiment of FGD's study (Weng et al., ATC'23)
instead: the jobs of a list and copies drawn from it with replacement, in random
order, one per second, none of which ever ends, until they ask for --ratio times
the capacity of the cluster.`,
		Example: `  escala workload generate jobs.csv --jobs 10000 --nodes 128 --gpus-per-node 8 --load 0.95 --seed 1
  escala workload generate - --jobs 1000 --nodes 16 --to escala
  escala workload generate pods.jsonl --resample openb_pod_list_default.csv --keep-unscheduled --cluster openb_node_list_gpu_node.csv --ratio 1.0 --seed 42`,
		Args: argCount(1, 1, "the file to write"),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args[0]) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.IntVar(&f.gen.Jobs, "jobs", 10_000, "number of jobs")
	fs.IntVar(&f.gen.Nodes, "nodes", 128, "nodes of the cluster that the load is meant for")
	fs.IntVar(&f.gen.GPUsPerNode, "gpus-per-node", 8, "GPUs of each node")
	fs.Float64Var(&f.gen.Load, "load", 0.95, "GPU-time asked for / GPU-time there")
	fs.Uint64Var(&f.gen.Seed, "seed", 1, "seed: the same seed gives the same workload")
	fs.IntVar(&f.gen.MaxGPUs, "max-gpus", 0, "most GPUs of one job (default: the cluster's)")
	fs.StringVar(&f.resample, "resample", "", "draw the jobs from this workload `file`")
	fs.Float64Var(&f.ratio, "ratio", 1.3, "with --resample: capacity asked for / capacity there")
	fs.StringVarP(&f.cluster, "cluster", "c", "", "with --resample: the cluster, in place of --nodes and --gpus-per-node")
	f.given = fs.Changed
	f.read.add(c)
	f.write.add(c)
	c.AddCommand(workloadGenerateLabCommand(s))
	return c
}

func (f *generateFlags) run(s *State, path string) error {
	batch(s)
	format, err := f.write.target(path)
	if err != nil {
		return err
	}
	w, err := f.make(s)
	if err != nil {
		return err
	}
	return s.writeWorkload(path, format, w)
}

func (f *generateFlags) make(s *State) (*workload.Workload, error) {
	if f.resample == "" {
		for _, name := range []string{"ratio", "cluster"} {
			if f.given(name) {
				return nil, badUsage("--resample pods.csv", "--%s goes with --resample, which is not given", name)
			}
		}
		w, err := trace.Generate(f.gen)
		return w, badInput(err, "escala workload generate --help")
	}
	for _, name := range []string{"jobs", "load", "max-gpus"} {
		if f.given(name) {
			return nil, badUsage("--ratio", "--%s does not go with --resample: --ratio says how many jobs are drawn", name)
		}
	}
	capacity := int64(f.gen.Nodes) * int64(f.gen.GPUsPerNode)
	if f.cluster != "" {
		c, err := s.readCluster(f.cluster)
		if err != nil {
			return nil, err
		}
		capacity = c.GPUs()
	} else if !f.given("nodes") {
		return nil, badUsage("--cluster nodes.csv, or --nodes and --gpus-per-node", "--resample needs the capacity that --ratio is of")
	}
	in, err := s.readWorkload(f.resample, &f.read)
	if err != nil {
		return nil, err
	}
	w, err := trace.Resample(in, capacity*1000, f.ratio, f.gen.Seed)
	if err != nil {
		return nil, badInput(fmt.Errorf("--resample: %w", err), "--ratio 1.3")
	}
	return w, nil
}
