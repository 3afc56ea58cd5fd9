package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/workload"
)

// jobFlags are the options that say what a job needs. Lines of a script may give them, too.
type jobFlags struct {
	set *pflag.FlagSet

	name, user, team, partition, kind  string
	gpus, tasks, tasksMin, tasksMax    int32
	perNode                            int32
	part, cpus, memory, within         string
	types, nodes, after, labels, env   []string
	span, unallocated, lost, hold      bool
	noEnv                              bool
	priority                           int64
	minRuntime, estimate, limit, grace workload.Span
	restart, checkpoint                workload.Span
	deadline, begin, array             string
	dir, signal                        string
	retries, resumeExit                int
}

var kinds = []string{"training", "batch-inference", "quantization", "interactive"}

func newJobFlags() *jobFlags {
	f := &jobFlags{set: pflag.NewFlagSet("job", pflag.ContinueOnError)}
	fl := f.set
	fl.SortFlags = false
	fl.StringVarP(&f.name, "name", "n", "", "`name` that people call it by (default: its command)")
	fl.Int32VarP(&f.gpus, "gpus", "g", 1, "`number` of GPUs in all, or of each task")
	fl.StringVar(&f.part, "gpu-part", "", "`part` of one GPU instead of whole ones: 0.5 or 50%")
	fl.StringSliceVar(&f.types, "gpu-type", nil, "GPU `types` allowed, joined by commas (default: any)")
	fl.StringVar(&f.cpus, "cpus", "", "processor `cores`, such as 4 or 0.5")
	fl.StringVar(&f.memory, "memory", "", "main memory, a `size` such as 16G")
	fl.Int32Var(&f.tasks, "tasks", 0, "size of the gang: `number` of tasks that run at once, each with its --gpus")
	fl.Int32Var(&f.tasksMin, "tasks-min", 0, "least `number` of tasks that an elastic job runs with")
	fl.Int32Var(&f.tasksMax, "tasks-max", 0, "largest `number` of tasks that an elastic job runs with")
	fl.Int32Var(&f.perNode, "tasks-per-node", 0, "`number` of tasks that one node takes at most; 1 = each on a node of its own (default: as many as it holds)")
	fl.StringVar(&f.within, "within", "", "`level` of the topology (rack, ...) in one place of which all tasks must lie")
	fl.StringSliceVar(&f.nodes, "nodes", nil, "`nodes` allowed, joined by commas (default: any)")
	fl.BoolVar(&f.span, "span", false, "the GPUs may be cut over nodes in any way")

	fl.StringVar(&f.team, "team", "", "`account` of the budgets that is charged (default: the user's)")
	fl.StringVar(&f.user, "user", "", "`user` whom it is for; operators alone may name somebody else")
	fl.StringVar(&f.partition, "partition", "", "`partition` of the cluster")
	fl.StringVar(&f.kind, "kind", "", "kind of `work`: "+strings.Join(kinds, ", "))
	fl.Int64Var(&f.priority, "priority", 0, "`number`: larger goes first among the jobs of one account")
	fl.Var(span{&f.minRuntime}, "min-runtime", "how long each start is safe from being stopped (default: the policy's)")
	fl.BoolVar(&f.unallocated, "unallocated", false, "it takes what is left over: charged to nobody, stopped at any time (= --min-runtime 0)")
	fl.Var(span{&f.estimate}, "estimate", "how long it is expected to run; nothing happens when it takes longer")
	fl.Var(span{&f.limit}, "time", "a run that lasts this long is ended")
	fl.StringVar(&f.deadline, "deadline", "", "`time` by which it should be done: 14:35, +2h, 2026-12-01T08:00")
	fl.Var(checkpoint{&f.checkpoint}, "checkpoint", "what it saves: on-stop (when asked to stop), never, or a duration between checkpoints (default: the scheduler's)")
	fl.Var(span{&f.restart}, "restart-cost", "time that a start spends on restarting")
	fl.Var(span{&f.grace}, "grace", "time between the request to stop and the kill")
	fl.BoolVar(&f.lost, "not-resumable", false, "a stopped run is lost, and the job ends with it")

	fl.StringSliceVar(&f.after, "after", nil, "`jobs` that must have ended first: JOB, JOB:ok, JOB:not-ok, joined by commas")
	fl.StringVar(&f.begin, "begin", "", "`time` before which it does not start: 14:35, +2h, 2026-12-01T08:00")
	fl.BoolVar(&f.hold, "hold", false, "it waits until escala release")
	fl.StringVar(&f.array, "array", "", "an array of jobs, by `indices`: 0-99, 0-99:5, 1,3,7, with %10 at most 10 at once")
	fl.IntVar(&f.retries, "retries", 0, "`times` that it is tried again when it fails")
	fl.StringArrayVar(&f.labels, "label", nil, "`key=value` of the owner's own, may be given several times")

	fl.StringVar(&f.dir, "dir", "", "working `directory` (default: the present one)")
	fl.StringArrayVar(&f.env, "env", nil, "`name=value` to add to the environment, or a name to pass on")
	fl.BoolVar(&f.noEnv, "env-none", false, "pass on nothing of the present environment but what --env names")
	fl.StringVar(&f.signal, "signal", "", "`signal` that asks it to stop (default TERM)")
	fl.IntVar(&f.resumeExit, "resume-exit", 75, "exit `code` that says: queue me again")
	f.checkpoint = -1
	fl.Lookup("checkpoint").DefValue = "" // what is not said is the scheduler's to say
	return f
}

// complete registers what shells offer.
func (f *jobFlags) complete(c *cobra.Command, live *liveFlags, s *State) {
	for name, list := range map[string][]string{"kind": kinds, "signal": {"TERM", "INT", "USR1", "USR2", "HUP"}, "checkpoint": {"on-stop", "never", "30m"}} {
		_ = c.RegisterFlagCompletionFunc(name, words(list...))
	}
	_ = c.RegisterFlagCompletionFunc("after", live.completeJobs(s, "alive"))
	_ = c.RegisterFlagCompletionFunc("nodes", live.completeNodes(s))
	_ = c.RegisterFlagCompletionFunc("team", live.completeTeams(s))
	_ = c.MarkFlagDirname("dir")
}

// wrong is a value that cannot be.
func (f *jobFlags) wrong(flag string, err error) error {
	return badUsage("escala submit --help", "--%s %s: %s", flag, f.set.Lookup(flag).Value, err)
}

// submit makes the request, all but what runs.
func (f *jobFlags) submit(c wallClock) (*api.Submit, error) {
	given := f.set.Changed
	if f.kind != "" && !slices.Contains(kinds, f.kind) {
		return nil, badUsage("--kind training", "--kind %q: want one of %s", f.kind, strings.Join(kinds, ", "))
	}
	if f.unallocated && given("min-runtime") && f.minRuntime > 0 {
		return nil, badUsage("one of them", "--unallocated has no minimum runtime, and --min-runtime names one")
	}
	b := &api.Submit{Name: f.name, User: f.user, Team: f.team, Partition: f.partition, Kind: f.kind, Priority: f.priority, Hold: f.hold, Retries: f.retries,
		EstimateSeconds: wholeSeconds(f.estimate), LimitSeconds: wholeSeconds(f.limit)}
	if err := f.need(&b.Need); err != nil {
		return nil, err
	}
	f.contract(&b.Contract)
	for _, text := range f.after {
		list, err := parseAfter(text)
		if err != nil {
			return nil, badUsage("--after 12:ok", "--after %s", err)
		}
		b.After = append(b.After, list...)
	}
	if f.array != "" {
		var err error
		if b.Indices, b.Throttle, err = parseArray(f.array); err != nil {
			return nil, badUsage("--array 0-99%10", "--array %s", err)
		}
	}
	if f.begin != "" {
		t, err := c.parseWhen(f.begin)
		if err != nil {
			return nil, badUsage("--begin +2h", "--begin %s", err)
		}
		b.Begin = &t
	}
	if f.deadline != "" {
		t, err := c.parseWhen(f.deadline)
		if err != nil {
			return nil, badUsage("--deadline +8h", "--deadline %s", err)
		}
		b.Deadline = &t
	}
	for _, text := range f.labels {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return nil, badUsage("--label experiment=a1", "--label %q: want key=value", text)
		}
		if b.Labels == nil {
			b.Labels = map[string]string{}
		}
		b.Labels[k] = v
	}
	return b, nil
}

func (f *jobFlags) need(n *api.Need) error {
	n.GPUs, n.Tasks, n.MinTasks, n.MaxTasks, n.PerNode = f.gpus, f.tasks, f.tasksMin, f.tasksMax, f.perNode
	n.GPUTypes, n.Within, n.Nodes, n.Span = f.types, f.within, f.nodes, f.span
	if f.gpus < 0 || f.tasks < 0 || f.tasksMin < 0 || f.tasksMax < 0 || f.perNode < 0 {
		return badUsage("--gpus 1", "a number of GPUs or tasks is negative")
	}
	if f.part != "" {
		m, err := parseMilli(f.part, 1)
		if err != nil || m == 0 {
			return badUsage("--gpu-part 0.5", "--gpu-part %s: want a part of one GPU, such as 0.5 or 50%%", f.part)
		}
		if n.GPUMilli = int32(m); f.set.Changed("gpus") && f.gpus > 0 {
			return badUsage("--gpu-part 0.5", "--gpus are whole GPUs and --gpu-part is part of one: say one of them")
		}
		n.GPUs = 1
	}
	if f.cpus != "" {
		m, err := parseMilli(f.cpus, 1e6)
		if err != nil {
			return f.wrong("cpus", err)
		}
		n.CPUMilli = m
	}
	if f.memory != "" {
		m, err := parseMemory(f.memory)
		if err != nil {
			return f.wrong("memory", err)
		}
		n.MemoryMiB = m
	}
	return nil
}

func (f *jobFlags) contract(c *api.Contract) {
	if f.unallocated || f.set.Changed("min-runtime") {
		n := wholeSeconds(f.minRuntime)
		c.MinRuntimeSeconds = &n
	}
	if f.set.Changed("checkpoint") {
		c.CheckpointOnStop = f.checkpoint == 0
		c.CheckpointSeconds = wholeSeconds(max(f.checkpoint, 0))
	}
	c.RestartCostSeconds, c.GraceSeconds, c.NotResumable = wholeSeconds(f.restart), wholeSeconds(f.grace), f.lost
}

// inSeconds rounds up, so that nothing becomes 0 that is not.
func wholeSeconds(d workload.Span) int64 { return (d + workload.Second - 1) / workload.Second }

// run is what runs, but for its command or script.
func (f *jobFlags) run(s *State, local bool) (*api.Run, error) {
	r := &api.Run{Dir: f.dir, Signal: f.signal, Env: map[string]string{}}
	if f.set.Changed("resume-exit") {
		if f.resumeExit < 1 || f.resumeExit > 255 {
			return nil, badUsage("--resume-exit 75", "--resume-exit %d: want a code from 1 to 255", f.resumeExit)
		}
		r.ResumeExit = &f.resumeExit
	}
	if local || r.Dir != "" && !filepath.IsAbs(r.Dir) {
		dir, err := filepath.Abs(r.Dir)
		if err != nil {
			return nil, err
		}
		r.Dir = dir
	}
	if local && !f.noEnv {
		for _, kv := range s.environ() {
			if k, v, ok := strings.Cut(kv, "="); ok && passedOn(k) {
				r.Env[k] = v
			}
		}
	}
	for _, text := range f.env {
		k, v, ok := strings.Cut(text, "=")
		if k == "" {
			return nil, badUsage("--env NAME=value", "--env %q: want name=value, or a name", text)
		}
		if !variable.MatchString(k) {
			return nil, badUsage("--env NAME=value", "--env %q: %q is no name of a variable: it has letters, digits and _ alone, and begins with no digit", text, k)
		}
		if !ok {
			v = s.Getenv(k)
		}
		r.Env[k] = v
	}
	return r, nil
}

// variable is what shells take for the name of a variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// passedOn tells whether a variable means the same to a job as here: what the shell keeps of
// itself and of its terminal does not.
func passedOn(name string) bool {
	switch name {
	case "", "_", "SHLVL", "PWD", "OLDPWD", "TERM", "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "WINDOWID":
		return false
	}
	return !strings.HasPrefix(name, "ESCALA_")
}
