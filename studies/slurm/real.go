package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
)

// outcome is what became of a day's jobs.
type outcome struct {
	name string
	runs []run
	// submitted is when sbatch had answered, of what really ran.
	submitted []time.Duration
	// Below: of what really ran only.
	fidelity string
	delays   *delays
	diag     *slurm.Diag
	states   map[string]int
}

// day has the jobs run on a real Slurm, under escala or not.
func day(ctx context.Context, o *options, jobs []job, escala bool) (*outcome, error) {
	out := &outcome{name: "Slurm", states: map[string]int{}}
	if escala {
		out.name = "escala"
	}
	err := onBench(func(b *bench) error {
		s, err := newSite(b, shortDay)
		if err != nil {
			return err
		}
		var d *daemon
		if escala {
			if d, err = s.serve(ctx, b, o.bin, shortContract); err != nil {
				return err
			}
		}
		return out.through(ctx, o, s, d, jobs)
	})
	if err != nil {
		return nil, fmt.Errorf("the day under %s: %w", out.name, err)
	}
	return out, nil
}

func (out *outcome) through(ctx context.Context, o *options, s *site, d *daemon, jobs []job) error {
	before, err := s.Diag(ctx)
	if err != nil {
		return err
	}
	began, ids := time.Now(), map[string]int{}
	for i := range jobs {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(began.Add(jobs[i].at))):
		}
		id, err := s.submit(ctx, &jobs[i])
		if err != nil {
			return err
		}
		ids[id] = i
		out.submitted = append(out.submitted, time.Since(began))
	}
	log.Printf("%s: all %d jobs are submitted, %.1f s late at the end", out.name, len(jobs), (out.submitted[len(jobs)-1] - jobs[len(jobs)-1].at).Seconds())
	for end := time.Now().Add(o.day + 10*time.Minute); ; {
		idle, err := s.idle(ctx)
		if idle {
			break
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return errors.Join(errors.New("the day does not end"), err, ctx.Err())
		}
		time.Sleep(time.Second)
	}
	log.Printf("%s: all have ended after %.0f s", out.name, time.Since(began).Seconds())
	if out.diag, err = s.Diag(ctx); err != nil {
		return err
	}
	since(before, out.diag)
	time.Sleep(3 * time.Second) // slurmdbd is told a little later
	records, text, err := s.records(ctx, ids)
	if err != nil {
		return err
	}
	if err := o.keep(out.name+"-sacct.txt", text); err != nil {
		return err
	}
	for _, r := range records {
		out.states[r.state]++
	}
	if out.runs, err = runsOf(records, jobs, began); err != nil {
		return err
	}
	if d == nil {
		out.fidelity, err = fidelity(ctx, o, s)
		return err
	}
	starts, err := s.starts(ids)
	if err != nil {
		return err
	}
	journal, err := d.ask(ctx, "journal", "export")
	if err != nil {
		return err
	}
	said, _ := os.ReadFile(filepath.Join(s.Dir, "serve.log"))
	if err := errors.Join(o.keep(out.name+"-journal.jsonl", journal), o.keep(out.name+"-serve.log", said)); err != nil {
		return err
	}
	out.delays, err = delaysOf(journal, ids, began, out.submitted, starts)
	return err
}

// fidelity imports what Slurm's accounting has, as a user would, and returns how far a replay of it is from what happened.
func fidelity(ctx context.Context, o *options, s *site) (string, error) {
	dir := filepath.Join(s.Dir, "import")
	c := exec.CommandContext(ctx, o.bin, "workload", "import", "slurm", "--since", "1d", "--out", dir, "-o", "json") //nolint:gosec // our own
	c.Env = append(os.Environ(), "SLURM_CONF="+s.Conf)
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("escala workload import slurm: %w%s", err, saidBy(err))
	}
	var r struct {
		Fidelity struct{ Line string }
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return "", err
	}
	if o.out != "" {
		if err := os.CopyFS(filepath.Join(o.out, "import"), os.DirFS(dir)); err != nil {
			return "", err
		}
	}
	return r.Fidelity.Line, nil
}

// saidBy is what a program wrote that failed.
func saidBy(err error) string {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return ": " + string(e.Stderr)
	}
	return ""
}
