// Command slurm shows what escala over a real Slurm does, and what it costs. It starts Slurm with accounting on this machine
// (root, and Debian's packages), sends the same jobs at the same times to Slurm alone and to Slurm under escala, measures
// both from Slurm's own accounting, and puts beside them what the simulator says. docs/studies/slurm.md is what it wrote once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/escala-sched/escala/policy"
)

// options of the study.
type options struct {
	parts   []string
	bin     string
	out     string
	seed    uint64
	day     time.Duration
	load    float64
	waiting int
	idle    int
	latency time.Duration
	calm    time.Duration
	shorter int
}

func main() {
	var o options
	parts := flag.String("part", "latency,queue,day", "what is measured: latency, queue, day")
	flag.StringVar(&o.bin, "escala", "", "program to run; empty = it is built")
	flag.StringVar(&o.out, "out", "", "directory for the accounting, journals and imports; empty = they are not kept")
	flag.Uint64Var(&o.seed, "seed", 1, "of the jobs that are drawn")
	flag.DurationVar(&o.day, "day", 14*time.Minute+24*time.Second, "time over which jobs are submitted")
	flag.Float64Var(&o.load, "load", 1.2, "what jobs ask for, of what the cluster has in that time")
	flag.IntVar(&o.waiting, "waiting", 10_000, "jobs that wait in the part queue")
	flag.IntVar(&o.idle, "idle", 60, "jobs of the part latency")
	flag.DurationVar(&o.latency, "start-latency", 1500*time.Millisecond, "how long a start takes in the simulation, if the part latency does not tell")
	flag.DurationVar(&o.calm, "calm", time.Minute, "how long the part queue looks at each thing that may happen")
	flag.IntVar(&o.shorter, "shorter", 1, "divide the length of each job by this `number`, to try things out")
	flag.Parse()
	o.parts = strings.Split(*parts, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	text, err := o.run(ctx)
	if _, werr := os.Stdout.WriteString(text); err == nil {
		err = werr
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "slurm:", err)
		os.Exit(1)
	}
}

// run does the parts one after the other, and returns what there is to tell, also of those before one that failed.
func (o *options) run(ctx context.Context) (string, error) {
	var b strings.Builder
	for _, p := range o.parts {
		if !slices.Contains([]string{"latency", "queue", "day"}, p) {
			return "", fmt.Errorf("-part %s: want latency, queue or day", p)
		}
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return "", err
		}
	}
	if o.bin == "" {
		dir, err := os.MkdirTemp("", "escala")
		if err != nil {
			return "", err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		o.bin = filepath.Join(dir, "escala")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.bin, "github.com/escala-sched/escala/cmd/escala").CombinedOutput(); err != nil { //nolint:gosec // our own
			return "", fmt.Errorf("building escala: %w: %s", err, out)
		}
	}
	if slices.Contains(o.parts, "latency") {
		l, err := latency(ctx, o)
		if err != nil {
			return b.String(), err
		}
		o.latency = l.start.Round(100 * time.Millisecond)
		l.write(&b)
	}
	if slices.Contains(o.parts, "queue") {
		q, err := queue(ctx, o)
		if err != nil {
			return b.String(), err
		}
		q.write(&b)
	}
	if slices.Contains(o.parts, "day") {
		jobs := drawDay(o.seed, o.day, o.load, o.shorter)
		all, err := o.days(ctx, jobs)
		if err != nil {
			return b.String(), err
		}
		o.writeDay(&b, jobs, all)
	}
	return b.String(), nil
}

// days are both real days, at the same time, so that what else this machine does is the same for both; then those that are simulated.
func (o *options) days(ctx context.Context, jobs []job) ([]*outcome, error) {
	real, errs := make([]*outcome, 2), make([]error, 2)
	var wait sync.WaitGroup
	for i := range real {
		wait.Go(func() { real[i], errs[i] = day(ctx, o, jobs, i == 1) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	more, err := o.simulations(ctx, jobs)
	return append(real, more...), err
}

// simulations are what the simulator says of Slurm, and of escala: with starts that take no time, and with those that were measured.
func (o *options) simulations(ctx context.Context, jobs []job) (out []*outcome, err error) {
	easy, ok := policy.Shipped("easy")
	if !ok {
		return nil, errors.New("there is no policy easy")
	}
	contract, err := policy.Parse("contract.yaml", contractYAML)
	if err != nil {
		return nil, err
	}
	for _, p := range []*policy.Policy{easy, contract} {
		for _, l := range []time.Duration{0, o.latency} {
			s, err := simulated(ctx, jobs, p, l)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// keep writes a file of what was measured.
func (o *options) keep(name string, data []byte) error {
	if o.out == "" {
		return nil
	}
	if len(data) == 0 {
		log.Printf("%s is empty", name)
	}
	return os.WriteFile(filepath.Join(o.out, name), data, 0o600)
}
