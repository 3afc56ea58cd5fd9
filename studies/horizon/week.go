package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/trace/services"
	"github.com/escala-sched/escala/workload"
)

// The week: Philly's jobs of 2017-10-30 to 2017-11-12 on a cluster of 512 GPUs beside two
// services whose demand is that of ServeGen's m-large and m-mid; figures are over the
// second week, the first one fills the cluster.
const (
	weekNodes = 64
	weekGPUs  = 8
	warmUp    = 7 * workload.Day
	weekEnd   = 14 * workload.Day
	// firstDay of the two weeks on the clock of the trace, whose zero is the midnight
	// before its first submission, 2017-09-04.
	firstDay = 56 * workload.Day
)

//go:embed services.yaml
var weekServices []byte

type weekResult struct {
	Jobs    int
	SHA256  string
	Rows    []weekRow
	Demands []weekDemand
}

type weekDemand struct {
	Name       string
	Peak, Mean float64
}

type weekRow struct {
	Policy      string
	Forecast    float64 // error of the forecast of demand
	Estimates   string
	Occupancy   float64
	Served      float64
	Value       float64
	Shortfall   float64 // of asked
	HoursShort  int64
	Over        float64 // GPU-hours
	Swaps       int64
	Wait, WaitM float64 // p90 and median, s
	JCT         float64 // mean, s
	CPU         float64
}

func (o *options) week(ctx context.Context) (weekResult, error) {
	var out weekResult
	w, err := o.weekWorkload()
	if err != nil {
		return out, err
	}
	out.Jobs, out.SHA256 = len(w.Jobs), w.Hash
	for i := range w.Jobs {
		if s := w.Jobs[i].Service; s != nil {
			out.Demands = append(out.Demands, demandOf(w.Jobs[i].ID, &s.Demand))
		}
	}
	spec := cluster.Uniform("64x8", weekNodes, weekGPUs)
	for _, run := range []struct {
		policy    string
		forecast  float64
		estimates policy.EstimateModel
	}{
		{"fifo", 0, policy.EstimatePerfect}, {"fifo-skip", 0, policy.EstimatePerfect}, {"conservative", 0, policy.EstimatePerfect},
		{"horizon", 0, policy.EstimatePerfect}, {"horizon", 0.1, policy.EstimatePerfect}, {"horizon", 0.3, policy.EstimatePerfect},
		{"conservative", 0, policy.EstimateHelios}, {"horizon", 0.1, policy.EstimateHelios},
	} {
		shipped, _ := policy.Shipped(run.policy)
		p := *shipped
		p.Estimates = policy.Estimates{Model: run.estimates}
		if run.estimates == policy.EstimateHelios {
			p.Estimates.Seed = 1
		}
		col := metrics.NewCollector(metrics.Config{Cluster: spec, Workload: w, Window: metrics.Window{From: warmUp, To: weekEnd}})
		begin := cpu()
		res, err := sim.Run(ctx, sim.Options{Workload: w, Cluster: spec, Policy: &p, Forecast: sim.Forecast{Error: run.forecast, Seed: 1}, Observers: []sim.Observer{col}})
		if err != nil {
			return out, err
		}
		m := metrics.Compute(col, w, res)
		row := weekRow{Policy: run.policy, Forecast: run.forecast, Estimates: run.estimates.String(), Occupancy: m.Occupancy, Wait: m.Wait.P90, WaitM: m.Wait.P50, JCT: m.JCT.Mean, CPU: cpu() - begin}
		if m.ServedOccupancy != nil {
			row.Served = *m.ServedOccupancy
		}
		if m.Value != nil {
			row.Value = *m.Value
		}
		if s := m.Services; s != nil {
			row.HoursShort, row.Over, row.Swaps = s.HoursShort, s.Over, s.Swaps
			if s.ShortfallOfAsked != nil {
				row.Shortfall = *s.ShortfallOfAsked
			}
		}
		log.Printf("%-14s forecast %.0f %% estimates %-8s served %.1f %% short %.3f %%", row.Policy, 100*row.Forecast, row.Estimates, 100*row.Served, 100*row.Shortfall)
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// weekWorkload cuts the two weeks out of the trace and adds the services.
func (o *options) weekWorkload() (*workload.Workload, error) {
	all, err := trace.Read(o.batch, trace.Options{})
	if err != nil {
		return nil, err
	}
	w := &workload.Workload{Name: "philly, two weeks", Epoch: all.Epoch + firstDay, Hash: all.Hash}
	for i := range all.Jobs {
		j := all.Jobs[i]
		if j.Submit < firstDay || j.Submit >= firstDay+weekEnd {
			continue
		}
		j.Submit -= firstDay
		j.Partition = "" // one cluster for all teams
		a := all.Actual[i]
		a.Start, a.End = workload.Unknown, workload.Unknown
		w.Jobs, w.Actual = append(w.Jobs, j), append(w.Actual, a)
	}
	if len(w.Jobs) == 0 {
		return nil, fmt.Errorf("%s: no job was submitted in the two weeks from 2017-10-30 on; want the trace of Philly", o.batch)
	}
	w.Sort()
	return services.Add(w, services.Input{File: filepath.Join(o.curves, "services.yaml"), Data: weekServices, Read: os.ReadFile})
}

func demandOf(name string, c *workload.Curve) weekDemand {
	sum := 0
	for _, v := range c.Values {
		sum += int(v)
	}
	return weekDemand{Name: name, Peak: float64(c.Peak()), Mean: float64(sum) / float64(len(c.Values))}
}
