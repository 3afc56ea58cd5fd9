package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"strings"
	"sync"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// study is what ran and what came of it.
type study struct {
	lab   lab
	seeds int
	runs  []run
	index map[runKey]int
}

type runKey struct {
	regime       float64
	seed         int
	file, policy string
}

// run is one simulation and its figures.
type run struct {
	runKey
	// workload and policyHash are SHA-256 (hex) of what was run.
	workload, policyHash string
	values               []value // as figures
	// owed and charged GPU-hours of the accounts.
	owed, charged []float64
}

// simulate runs the plan.
func (s *study) simulate(ctx context.Context, parallel int) error {
	units := plan(s.seeds)
	total := 0
	for _, u := range units {
		total += len(u.policies)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([][]run, len(units))
	next := make(chan int, len(units))
	for i := range units {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range parallel {
		wg.Go(func() {
			for i := range next {
				err := s.unit(ctx, &units[i], func(r run) {
					mu.Lock()
					defer mu.Unlock()
					done++
					results[i] = append(results[i], r)
					log.Printf("%3d/%d  %s", done, total, r.String())
				})
				if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, r := range results {
		s.runs = append(s.runs, r...)
	}
	s.sort()
	return nil
}

// unit makes a workload and runs its policies on it.
func (s *study) unit(ctx context.Context, u *unit, done func(run)) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o := trace.LabOptions{Seed: uint64(u.seed), Days: s.lab.days, GPUs: s.lab.nodes * s.lab.perNode, GPUsPerNode: s.lab.perNode,
		Allocated: u.regime, CheckpointOnStop: strings.HasPrefix(u.file, onSignal)}
	if strings.HasSuffix(u.file, "+squat") {
		o.Squat = 0.15
	}
	w, shares, err := trace.GenerateLab(o)
	if err != nil {
		return err
	}
	tree, err := budget.Parse("budgets.yaml", shares)
	if err != nil {
		return err
	}
	hash, err := hashOf(w)
	if err != nil {
		return err
	}
	for _, name := range u.policies {
		r, err := s.one(ctx, w, tree, runKey{u.regime, u.seed, u.file, name})
		if err != nil {
			return err
		}
		r.workload = hash
		done(*r)
	}
	return nil
}

func (s *study) window() metrics.Window {
	return metrics.Window{From: int64(s.lab.from) * workload.Day, To: int64(s.lab.days) * workload.Day}
}

func (s *study) one(ctx context.Context, w *workload.Workload, tree *budget.Tree, k runKey) (*run, error) {
	p, err := policyOf(k.policy)
	if err != nil {
		return nil, err
	}
	spec := cluster.Uniform("lab", s.lab.nodes, int32(s.lab.perNode))
	// The strict form looks back a week under all policies, whatever their own window.
	col := metrics.NewCollector(metrics.Config{Cluster: spec, Workload: w, Window: s.window(), Budgets: tree, ShareWindow: 7 * workload.Day})
	res, err := sim.Run(ctx, sim.Options{Workload: w, Cluster: spec, Policy: p, Budgets: tree, Until: s.window().To, Observers: []sim.Observer{col}})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Canceled
		}
		return nil, fmt.Errorf("regime %g, seed %d, %s, %s: %w", k.regime, k.seed, k.file, k.policy, err)
	}
	m := metrics.Compute(col, w, res)
	if m.Budget == nil {
		return nil, fmt.Errorf("regime %g, seed %d: nothing is owed to anybody", k.regime, k.seed)
	}
	r := &run{runKey: k, policyHash: p.Hash}
	x := outcome{lab: s.lab, window: s.window(), w: w, tree: tree, res: res, m: &m}
	x.look()
	for i := range figures {
		v := figures[i].get(&x)
		v.v = rounded(v.v)
		r.values = append(r.values, v)
	}
	for _, a := range m.Budget.Reported {
		r.owed, r.charged = append(r.owed, rounded(a.Owed)), append(r.charged, rounded(a.Charged))
	}
	return r, nil
}

// hashOf is the SHA-256 of the file that escala workload generate lab writes.
func hashOf(w *workload.Workload) (string, error) {
	f, ok := trace.Lookup("escala")
	if !ok {
		return "", fmt.Errorf("no format escala")
	}
	h := sha256.New()
	if err := f.Write(h, w); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (r *run) String() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "regime %-4g seed %-2d %-15s %-18s", r.regime, r.seed, r.file, r.policy)
	for _, key := range []string{"delivered", "worst", "goodput", "debug_p99", "alloc_p90", "large_p90"} {
		f, v := figureOf(key), r.value(key)
		if v.ok {
			fmt.Fprintf(b, "  %s %s", key, f.text(v.v))
		}
	}
	return b.String()
}
