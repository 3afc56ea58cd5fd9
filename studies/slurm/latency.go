package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"strings"
	"time"
)

// latencies are how long it takes from a submission to the start on an idle cluster.
type latencies struct {
	alone, with []time.Duration
	steps       *delays
	// start is the median under escala.
	start time.Duration
}

// latency submits jobs to an idle Slurm that looks at its queue as often as it does by default, alone and under escala.
func latency(ctx context.Context, o *options) (*latencies, error) {
	out := &latencies{}
	err := onBench(func(b *bench) error {
		s, err := newSite(b, asShipped)
		if err != nil {
			return err
		}
		if out.alone, _, err = s.oneByOne(ctx, o, nil); err != nil {
			return err
		}
		log.Print("latency: Slurm alone is measured")
		d, err := s.serve(ctx, b, o.bin, "contract")
		if err != nil {
			return err
		}
		out.with, out.steps, err = s.oneByOne(ctx, o, d)
		out.start = rank(out.with, 50)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("latency: %w", err)
	}
	return out, nil
}

// oneByOne submits jobs of one GPU, never more than are idle.
func (s *site) oneByOne(ctx context.Context, o *options, d *daemon) (took []time.Duration, steps *delays, err error) {
	rnd := rand.New(rand.NewPCG(o.seed, 2)) //nolint:gosec // the same each time
	began, ids := time.Now(), map[string]int{}
	var submitted []time.Duration
	for i := range o.idle {
		id, err := s.submit(ctx, &job{length: time.Second, account: accounts[i%3], tasks: 1, gpus: 1, safe: time.Minute, limit: 1})
		if err != nil {
			return nil, nil, err
		}
		ids[id] = i
		submitted = append(submitted, time.Since(began))
		time.Sleep(time.Duration(500+rnd.IntN(1000)) * time.Millisecond)
	}
	s.Wait("all have run", func() bool { idle, _ := s.idle(ctx); return idle })
	starts, err := s.starts(ids)
	if err != nil {
		return nil, nil, err
	}
	if len(starts) != o.idle {
		return nil, nil, fmt.Errorf("%d of %d jobs ran", len(starts), o.idle)
	}
	for _, x := range starts {
		took = append(took, max(x.at.Sub(began)-submitted[x.job], 0))
	}
	if d == nil {
		return took, nil, nil
	}
	journal, err := d.ask(ctx, "journal", "export")
	if err != nil {
		return nil, nil, err
	}
	steps, err = delaysOf(journal, ids, began, submitted, starts)
	return took, steps, err
}

func (l *latencies) write(b *strings.Builder) {
	fmt.Fprintf(b, "## Latency on an idle cluster, %d jobs\n\n| | median | p90 | max |\n|---|---|---|---|\n", len(l.with))
	spread(b, "Slurm alone: submission to start", l.alone)
	spread(b, "under escala: submission to start", l.with)
	spread(b, "submission until escala knows it", l.steps.seen)
	spread(b, "escala's decision to start", l.steps.begun)
	fmt.Fprintf(b, "\n%d of the starts were decided, %d of these in vain; %d were Slurm's own before escala had looked.\n\n", l.steps.decided, l.steps.failed, l.steps.adopted)
}

// spread writes a row of a distribution.
func spread(b *strings.Builder, name string, v []time.Duration) {
	if len(v) == 0 {
		fmt.Fprintf(b, "| %s | none | | |\n", name)
		return
	}
	fmt.Fprintf(b, "| %s | %.1f s | %.1f s | %.1f s |\n", name, rank(v, 50).Seconds(), rank(v, 90).Seconds(), rank(v, 100).Seconds())
}
