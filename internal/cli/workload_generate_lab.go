package cli

import (
	"bufio"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/trace"
)

// labFlags are the options of escala workload generate lab.
type labFlags struct {
	lab     trace.LabOptions
	budgets string
}

func workloadGenerateLabCommand(s *State) *cobra.Command {
	f := &labFlags{}
	c := &cobra.Command{
		Use:   "lab OUT",
		Short: "Make up what a research lab submits, and its budgets",
		Long: `Makes up the jobs of a research lab that shares a cluster: debug jobs, interactive
sessions and trainings that are charged to 15 teams in 4 programs, and sweeps that
are not; with contracts, with the patience of their owners, and with teams that are
quiet for days and then want everything. --budgets writes the shares of the teams.

--regime is the load of charged work: at 0.75 all of it fits, at 1.0 just so, at 1.7
it does not; sweeps make up the rest of --offered. A lab of a larger --regime submits
the same charged jobs and more. OUT is written in the format escala.
docs/lab.md has the distributions.`,
		Example: `  escala workload generate lab lab.jsonl --regime 1.0 --seed 1 --budgets budgets.yaml
  escala workload generate lab small.jsonl.gz --gpus 88 --days 7 --regime 0.75
  escala workload generate lab before.jsonl --squat 0.15`,
		Args: argCount(1, 1, "the file to write"),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args[0]) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.Float64Var(&f.lab.Allocated, "regime", 1, "GPU-time that charged work asks for / GPU-time there: 0.75, 1.0, 1.7")
	fs.Float64Var(&f.lab.Offered, "offered", 2.5, "the same of all work; sweeps make up the difference")
	fs.IntVar(&f.lab.GPUs, "gpus", 1024, "GPUs of the cluster")
	fs.IntVar(&f.lab.GPUsPerNode, "gpus-per-node", 8, "GPUs of each node")
	fs.IntVar(&f.lab.Days, "days", 35, "days that jobs are submitted in")
	fs.Uint64Var(&f.lab.Seed, "seed", 1, "seed: the same seed gives the same workload")
	fs.IntVar(&f.lab.Teams, "teams", 15, "teams")
	fs.IntVar(&f.lab.Programs, "programs", 4, "programs that the teams belong to")
	fs.IntVar(&f.lab.Researchers, "researchers", 150, "people of all teams")
	fs.IntVar(&f.lab.BurstyTeams, "bursty-teams", 5, "teams that are quiet for days, then want everything")
	fs.BoolVar(&f.lab.CheckpointOnStop, "checkpoint-on-stop", false, "trainings and sweeps save their state when stopped, not each hour only")
	fs.Float64Var(&f.lab.Squat, "squat", 0, "add parked jobs that do nothing, asking for this part of the GPU-time there")
	fs.StringVar(&f.budgets, "budgets", "", "write the budgets of the teams to this `file`")
	return c
}

func (f *labFlags) run(s *State, path string) error {
	batch(s)
	if err := f.given(path); err != nil {
		return err
	}
	w, budgets, err := trace.GenerateLab(f.lab)
	if err != nil {
		return badInput(err, "escala workload generate lab --help")
	}
	format, _ := trace.Lookup("escala")
	out, err := s.begin(f.budgets)
	if err != nil {
		return err
	}
	defer out.abort()
	if f.budgets != "" {
		if err := out.write(f.budgets, func(b *bufio.Writer) error { _, err := b.Write(budgets); return err }); err != nil {
			return err
		}
	}
	if err := s.writeWorkload(path, format, w); err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	s.say("%s\n", strings.Join(w.Notes, "\n"))
	if f.budgets != "" {
		s.say("%s: shares of %s, %s.\n", f.budgets, plural(f.lab.Teams, "team"), plural(f.lab.Researchers, "researcher"))
	}
	return nil
}

// given refuses what the generator would take for its default, and endings that
// promise another format.
func (f *labFlags) given(path string) error {
	switch ext := filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz")); ext {
	case ".csv", ".swf":
		return badUsage("lab.jsonl; escala workload convert makes others of it", "%q: a lab is written in the format escala, since %s has no place for labels", path, ext[1:])
	}
	if f.budgets != "" && filepath.Clean(f.budgets) == filepath.Clean(path) {
		return badUsage("another path for one of them", "%s would be written twice", path)
	}
	for _, n := range []struct {
		flag string
		zero bool
	}{
		{"regime", f.lab.Allocated == 0}, {"offered", f.lab.Offered == 0}, {"gpus", f.lab.GPUs == 0}, {"gpus-per-node", f.lab.GPUsPerNode == 0},
		{"days", f.lab.Days == 0}, {"teams", f.lab.Teams == 0}, {"programs", f.lab.Programs == 0}, {"researchers", f.lab.Researchers == 0},
	} {
		if n.zero {
			return badUsage("escala workload generate lab --help", "--%s 0; want more than 0", n.flag)
		}
	}
	if f.lab.BurstyTeams == 0 {
		f.lab.BurstyTeams = -1
	}
	return nil
}
