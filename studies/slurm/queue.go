package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/slurm"
)

// phase is a stretch of the part queue, with what slurmctld was asked for in it.
type phase struct {
	name   string
	length time.Duration
	diag   *slurm.Diag
	// escala, tools and slurmctld are processor time.
	escala, tools, slurmctld time.Duration
	// decisions of the engine, and how long they took in all.
	decisions int64
	deciding  time.Duration
	note      string
}

type phases struct {
	waiting int
	list    []phase
}

// callsPerSecond is what escala may change a second here: the default of 20 would be eight minutes for 10,000 jobs.
const callsPerSecond = 200

// queue fills the queue behind a cluster that is full, and looks at what it costs to keep it back, to look at it, to
// re-order it, and to start some of it.
func queue(ctx context.Context, o *options) (*phases, error) {
	out := &phases{waiting: o.waiting}
	err := onBench(func(b *bench) error {
		s, err := newSite(b, append([]string{fmt.Sprint("MaxJobCount=", o.waiting+1000)}, asShipped...))
		if err != nil {
			return err
		}
		d, err := s.serve(ctx, b, o.bin, "contract", "--slurm-calls", strconv.Itoa(callsPerSecond))
		if err != nil {
			return err
		}
		return out.through(ctx, o, s, d)
	})
	if err != nil {
		return nil, fmt.Errorf("the queue: %w", err)
	}
	return out, nil
}

// through goes through all phases.
func (p *phases) through(ctx context.Context, o *options, s *site, d *daemon) error {
	var full []string
	for range nodes {
		id, err := s.submit(ctx, &job{length: 2 * time.Hour, account: small, tasks: 1, gpus: perNode, safe: 8 * time.Hour, limit: 600})
		if err != nil {
			return err
		}
		full = append(full, id)
	}
	s.Wait("the cluster is full", func() bool {
		list, _, err := s.Queue(ctx)
		return err == nil && len(slices.DeleteFunc(list, func(j slurm.Job) bool { return j.State != slurm.Running })) == nodes
	})
	m := &meter{ctx: ctx, s: s, d: d, out: p}
	if err := m.read(); err != nil {
		return err
	}
	if err := s.fill(ctx, o.waiting); err != nil {
		return err
	}
	if err := m.end(fmt.Sprintf("%d jobs are submitted", o.waiting), ""); err != nil {
		return err
	}
	log.Printf("queue: %d jobs are submitted in %.0f s", o.waiting, p.list[0].length.Seconds())
	if err := s.kept(ctx, o.waiting); err != nil {
		return err
	}
	if err := m.end("until all are kept back", ""); err != nil {
		return err
	}
	log.Printf("queue: all are kept back %.0f s later", p.list[1].length.Seconds())
	for _, x := range []struct {
		name string
		do   func() (string, error)
	}{
		{"nothing happens", func() (string, error) { return "", nil }},
		{"the budgets were changed, and with them the order", func() (string, error) { return "", d.rebudget(ctx) }},
		{"a node came free", func() (string, error) { return s.refill(ctx, full[0]) }},
	} {
		began := time.Now()
		note, err := x.do()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(began.Add(o.calm))):
		}
		if err := m.end(x.name, note); err != nil {
			return err
		}
	}
	return nil
}

// meter measures phases, each from the end of the one before.
type meter struct {
	ctx                      context.Context //nolint:containedctx // it lives as long as the part
	s                        *site
	d                        *daemon
	out                      *phases
	since                    time.Time
	escala, tools, slurmctld time.Duration
	decisions                int64
	deciding                 time.Duration
	diag                     *slurm.Diag
}

func (m *meter) end(name, note string) error {
	old := *m
	if err := m.read(); err != nil {
		return err
	}
	diag := *m.diag
	diag.Calls, diag.Users = maps.Clone(diag.Calls), maps.Clone(diag.Users)
	since(old.diag, &diag)
	m.out.list = append(m.out.list, phase{name, m.since.Sub(old.since), &diag, m.escala - old.escala, m.tools - old.tools, m.slurmctld - old.slurmctld, m.decisions - old.decisions, m.deciding - old.deciding, note})
	return nil
}

func (m *meter) read() (err error) {
	m.since = time.Now()
	if m.diag, err = m.s.Diag(m.ctx); err != nil {
		return err
	}
	if m.escala, m.tools, err = busy(m.d.cmd.Process.Pid); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(m.s.Dir, "state", "slurmctld.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if m.slurmctld, _, err = busy(pid); err != nil {
		return err
	}
	m.decisions, m.deciding, err = m.d.decisions(m.ctx)
	return err
}

// since takes from what slurmctld has counted what it had before.
func since(before, d *slurm.Diag) {
	for _, x := range [][2]map[string]slurm.Calls{{before.Calls, d.Calls}, {before.Users, d.Users}} {
		for k, old := range x[0] {
			c := x[1][k]
			if c.Count, c.All = c.Count-old.Count, c.All-old.All; c.Count > 0 {
				c.Mean = c.All / time.Duration(c.Count)
			}
			x[1][k] = c
		}
	}
}

// fill submits jobs, from several processes at once: one would take minutes.
func (s *site) fill(ctx context.Context, n int) error {
	var wait sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, 4)
	for k := range errs {
		wait.Go(func() {
			for errs[k] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				_, errs[k] = s.submit(ctx, &job{length: 40 * time.Second, account: accounts[i%3], tasks: 1, gpus: []int{1, 1, 2, 4, 8}[i%5], safe: 30 * time.Second, limit: 1 + i%7})
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// kept waits until so many jobs are kept back.
func (s *site) kept(ctx context.Context, n int) error {
	for end := time.Now().Add(15 * time.Minute); ; {
		out, err := s.Tools.Run(ctx, "squeue", "-h", "-n", "day", "-t", "PENDING", "-o", "%r")
		if err == nil && strings.Count(string(out), "Dependency") == n {
			return nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return errors.Join(fmt.Errorf("%d of %d jobs are kept back", strings.Count(string(out), "Dependency"), n), err, ctx.Err())
		}
		time.Sleep(2 * time.Second)
	}
}

// rebudget gives one account most of all.
func (d *daemon) rebudget(ctx context.Context) error {
	tree := budget.Equal("lab", accounts[1:]) // large has none any more
	path := filepath.Join(d.s.Dir, "rebudget.yaml")
	if err := os.WriteFile(path, tree.YAML(), 0o644); err != nil { //nolint:gosec // another user reads it
		return err
	}
	_, err := d.ask(ctx, "budget", "set", path, "--yes")
	return err
}

// refill ends a job that has a node, and tells how long it takes until others have it.
func (s *site) refill(ctx context.Context, id string) (string, error) {
	began := time.Now()
	if err := s.Cancel(ctx, id); err != nil {
		return "", err
	}
	first := time.Duration(0)
	for ; time.Since(began) < time.Minute; time.Sleep(200 * time.Millisecond) {
		list, err := s.Tools.Run(ctx, "squeue", "-h", "-n", "day", "-t", "RUNNING", "-o", "%b")
		if err != nil {
			return "", err
		}
		gpus := 0
		for line := range strings.Lines(string(list)) {
			n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:]))
			if err != nil {
				return "", fmt.Errorf("squeue wrote %q: %w", line, err)
			}
			gpus += n
		}
		if first == 0 && gpus > (nodes-1)*perNode {
			first = time.Since(began)
		}
		if gpus == nodes*perNode {
			return fmt.Sprintf("the first job ran after %.1f s, the node was full after %.1f s", first.Seconds(), time.Since(began).Seconds()), nil
		}
	}
	return "the node was not full within a minute", nil
}

func (p *phases) write(b *strings.Builder) {
	fmt.Fprintf(b, "## %d waiting jobs (escala may change %d jobs a second)\n\n", p.waiting, callsPerSecond)
	fmt.Fprintln(b, "| | s | calls by escala | of them changes | slurmctld busy | escala busy | its Slurm tools | decisions, each |\n|---|---|---|---|---|---|---|---|")
	for _, x := range p.list {
		each := "none"
		if x.decisions > 0 {
			each = fmt.Sprintf("%d, %.2f ms", x.decisions, x.deciding.Seconds()*1000/float64(x.decisions))
		}
		part := func(d time.Duration) string {
			return fmt.Sprintf("%.1f s (%.0f %%)", d.Seconds(), 100*d.Seconds()/x.length.Seconds())
		}
		fmt.Fprintf(b, "| %s | %.0f | %d | %d | %s | %s | %s | %s |\n", x.name, x.length.Seconds(), x.diag.Users[operator].Count, x.diag.Calls["REQUEST_UPDATE_JOB"].Count, part(x.slurmctld), part(x.escala), part(x.tools), each)
	}
	fmt.Fprintln(b, "\n| in | call | count | mean |\n|---|---|---|---|")
	for _, x := range p.list {
		for _, c := range slices.Sorted(maps.Keys(x.diag.Calls)) {
			if n := x.diag.Calls[c]; strings.HasPrefix(c, "REQUEST_") && n.All > 20*time.Millisecond {
				fmt.Fprintf(b, "| %s | %s | %d | %.2f ms |\n", x.name, c, n.Count, n.Mean.Seconds()*1000)
			}
		}
	}
	fmt.Fprintln(b)
	for _, x := range p.list {
		if x.note != "" {
			fmt.Fprintf(b, "In \"%s\": %s.\n", x.name, x.note)
		}
	}
	fmt.Fprintln(b)
}
