package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/client"
)

// submitFlags are the options of submit and run.
type submitFlags struct {
	liveFlags
	job         *jobFlags
	key         string
	wait, quiet bool
}

func submitCommand(s *State) *cobra.Command {
	f := &submitFlags{job: newJobFlags()}
	c := &cobra.Command{
		Use:                   "submit [options] -- COMMAND [ARG...] | submit [options] SCRIPT",
		GroupID:               groupLive,
		DisableFlagsInUseLine: true,
		Short:                 "Queue a job",
		Long: `Queues a command, or a script whose first line begins with #!. Lines of its head such as
"#ESCALA --gpus 2 --time 4h" hold options; those of the command line go before them.
It runs in the present directory with the present environment, once its turn has come.`,
		Example: `  escala submit --gpus 2 --estimate 2h -- python train.py --lr 3e-4
  escala submit train.sh
  escala submit --array 0-99%10 -- sh -c 'python eval.py --shard $ESCALA_ARRAY_INDEX'
  escala submit --after 12:ok --unallocated -- ./evaluate
  id=$(escala submit --quiet -- ./step1) && escala submit --after $id:ok -- ./step2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd, s, args, func(ctx context.Context, c *conn, b *api.Submit) error { return f.submit(ctx, s, c, b) })
		},
	}
	f.add(c, s)
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for its end, and end with its exit code")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print the ID alone")
	return c
}

func (f *submitFlags) add(c *cobra.Command, s *State) {
	c.Flags().SortFlags = false
	c.Flags().AddFlagSet(f.job.set)
	c.Flags().StringVar(&f.key, "key", "", "idempotency `key`: the same submission sent twice is one job")
	f.liveFlags.add(c)
	f.job.complete(c, &f.liveFlags, s)
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// with makes the request out of the command line, and hands it on.
func (f *submitFlags) with(cmd *cobra.Command, s *State, args []string, do func(context.Context, *conn, *api.Submit) error) error {
	dashed := cmd.ArgsLenAtDash() >= 0
	if at := cmd.ArgsLenAtDash(); at > 0 {
		return badUsage(cmd.CommandPath()+" -- "+quoteArgs(args), "%q stands before --, where only options do", args[0])
	}
	if !dashed && len(args) == 0 {
		return badUsage(cmd.CommandPath()+" --gpus 1 -- sleep 60", "say what is to run: a command after --, or a script")
	}
	run := &api.Run{}
	name, err := f.job.what(s, args, dashed, run)
	if err != nil {
		return err
	}
	if run.Script != "" {
		if err := f.job.directives(args[0], []byte(run.Script)); err != nil {
			return err
		}
	}
	b, err := f.job.submit(s.wall())
	if err != nil {
		return err
	}
	if b.Name == "" {
		b.Name = name
	}
	c, err := f.dial(cmd.Context(), s)
	if err != nil {
		return err
	}
	if b.Run, err = f.job.run(s, c.local); err != nil {
		return err
	}
	b.Run.Command, b.Run.Script = run.Command, run.Script
	return judged(do(cmd.Context(), c, b))
}

// post sends the request.
func (f *submitFlags) post(ctx context.Context, c *conn, b *api.Submit) (out api.Submitted, raw json.RawMessage, err error) {
	h := http.Header{}
	if f.key != "" {
		h.Set("Idempotency-Key", f.key)
	}
	if _, err := c.Call(ctx, http.MethodPost, "/jobs", b, &raw, h); err != nil {
		return out, nil, inFlags(err)
	}
	return out, raw, json.Unmarshal(raw, &out)
}

func (f *submitFlags) submit(ctx context.Context, s *State, c *conn, b *api.Submit) error {
	out, raw, err := f.post(ctx, c, b)
	if err != nil {
		return err
	}
	s.warn(out.Warnings)
	switch {
	case f.output == "json":
		err = s.printRaw(raw)
	case f.quiet:
		err = s.print("%s\n", out.ID)
	default:
		if err = s.print("%s\n", queued(&out, b)); err == nil && s.Stderr.TTY && !f.wait {
			s.say("  escala status %s   escala logs -f %s\n", out.ID, out.Jobs[0])
		}
	}
	if err != nil || !f.wait {
		return err
	}
	w := waiter{s: s, c: c, ids: out.Jobs, quiet: f.quiet || f.output == "json"}
	return w.run(ctx)
}

// warn says what the owner of a job may not have meant.
func (s *State) warn(list []string) {
	for _, w := range list {
		s.say("Warning: %s.\n", s.wall().local(strings.TrimSuffix(w, ".")))
	}
}

// queued says what was queued.
func queued(out *api.Submitted, b *api.Submit) string {
	what := fmt.Sprintf("Job %s (%s)", out.ID, b.Name)
	if n := len(out.Jobs); len(b.Indices) > 0 {
		what = fmt.Sprintf("Array %s (%s) of %s, %s to %s", out.ID, b.Name, plural(n, "job"), out.Jobs[0], out.Jobs[n-1])
	}
	state := "is queued"
	switch {
	case out.Again:
		state = "was queued before, under the same key"
	case b.Hold:
		state = "is held, until escala release " + out.ID
	}
	text := what + " " + state + ": " + needText(b)
	if b.Throttle > 0 {
		text += fmt.Sprintf(", at most %d at once", b.Throttle)
	}
	return text + "."
}

// needText says what a job asks for.
func needText(b *api.Submit) string {
	n := &b.Need
	gpus := plural(int(n.GPUs), "GPU")
	if n.GPUMilli > 0 {
		gpus = fmt.Sprintf("%s of a GPU", trimNumber(float64(n.GPUMilli)/10, 1)+" %")
	}
	text := gpus
	if n.Tasks > 0 {
		text = fmt.Sprintf("%s of %s each", plural(int(n.Tasks), "task"), gpus)
	}
	if n.PerNode > 0 {
		text += fmt.Sprintf(", at most %d on one node", n.PerNode)
	}
	if n.MinTasks > 0 || n.MaxTasks > 0 {
		text += fmt.Sprintf(" (%d to %d tasks)", max(n.MinTasks, 1), max(n.MaxTasks, n.Tasks))
	}
	if m := b.Contract.MinRuntimeSeconds; m != nil && *m == 0 {
		text += ", unallocated"
	} else if m != nil {
		text += ", safe for " + secondsText(*m) + " of each start"
	}
	return text
}

// flagOf names the options that fill in a field of a submission.
var flagOf = map[string]string{"need.gpus": "--gpus", "need.tasks": "--tasks", "need.min_tasks": "--tasks-min", "need.max_tasks": "--tasks-max", "need.tasks_per_node": "--tasks-per-node", "need.gpu_milli": "--gpu-part",
	"need.cpu_milli": "--cpus", "need.memory_mib": "--memory", "need.gpu_types": "--gpu-type", "need.within": "--within", "need.nodes": "--nodes", "need.span": "--span",
	"estimate_seconds": "--estimate", "limit_seconds": "--time", "contract.min_runtime_seconds": "--min-runtime", "contract.checkpoint_seconds": "--checkpoint",
	"contract.restart_cost_seconds": "--restart-cost", "contract.grace_seconds": "--grace", "array_throttle": "--array", "labels": "--label",
	"run.command": "the command", "run.script": "the script", "run.dir": "--dir", "run.env": "--env", "run.signal": "--signal", "run.resume_exit": "--resume-exit", "run": "what is to run"}

// inFlags has an answer that refuses a submission speak of options where it speaks of fields.
func inFlags(err error) error {
	var p *client.Problem
	if !errors.As(err, &p) || len(p.Errors) == 0 {
		return err
	}
	var texts []string
	for _, e := range p.Errors {
		field, ok := strings.CutPrefix(e.Location, "body.")
		if !ok {
			return err
		}
		name, known := flagOf[field]
		for at := field; !known && at != ""; { // of lists and maps the whole
			i := strings.LastIndexAny(at, ".[")
			if i < 0 {
				break
			}
			at = at[:i]
			name, known = flagOf[at]
		}
		if !known && !strings.Contains(field, ".") {
			name = "--" + strings.ReplaceAll(field, "_", "-")
		} else if !known {
			name = field
		}
		if field == "need" || field == "time" { // of more than one option: the message says which
			texts = append(texts, e.Message)
			continue
		}
		texts = append(texts, name+": "+plainNumbers(strings.TrimPrefix(e.Message, "resume_exit ")))
	}
	out := *p
	out.Detail, out.Errors = strings.Join(texts, "; "), nil
	return &out
}

var exponents = regexp.MustCompile(`\b\d+(\.\d+)?e\+\d+\b`)

// plainNumbers writes numbers such as 1e+06 with all their digits.
func plainNumbers(text string) string {
	return exponents.ReplaceAllStringFunc(text, func(n string) string {
		v, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return n
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	})
}
