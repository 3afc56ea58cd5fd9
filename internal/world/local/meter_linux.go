package local

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/escala-sched/escala/internal/world"
)

// Measure samples the processes of each run, and the GPUs. An error says that the GPUs could not be
// measured; the runs are in the sample all the same.
func (w *World) Measure(ctx context.Context) (world.Sample, error) {
	s := world.Sample{At: w.opts.Now()}
	w.measureRuns(&s)
	return s, w.measureGPUs(ctx, &s)
}

func (w *World) measureRuns(s *world.Sample) {
	supers := map[int]world.Run{}
	w.mu.Lock()
	for sup := range w.supers {
		supers[sup.pid] = sup.run
	}
	w.mu.Unlock()
	if len(supers) == 0 {
		return
	}
	all := scanProcesses()
	at := map[world.Run]int{}
	for pid, id := range supers {
		if p, ok := all[pid]; ok {
			at[id] = len(s.Runs)
			// What its children that have ended had used; its own work is not the job's.
			s.Runs = append(s.Runs, world.RunSample{Run: id, CPU: p.reaped})
		}
	}
	for pid, p := range all {
		id, ok := ownerOf(all, supers, p.parent)
		if _, self := supers[pid]; !ok || self {
			continue
		}
		i, ok := at[id]
		if !ok {
			continue
		}
		r := &s.Runs[i]
		r.CPU += p.own + p.reaped
		if !p.zombie {
			r.Memory += p.memory
			r.Processes++
		}
	}
	for i := range s.Runs {
		s.Runs[i].Memory >>= 20
	}
	slices.SortFunc(s.Runs, func(a, b world.RunSample) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Attempt, b.Attempt))
	})
}

// ownerOf goes up from a process to the supervisor above it.
func ownerOf(all map[int]process, supers map[int]world.Run, pid int) (world.Run, bool) {
	for range 10_000 { // the picture may be of several moments, and have a circle
		if id, ok := supers[pid]; ok {
			return id, true
		}
		p, ok := all[pid]
		if !ok || p.parent == 0 {
			break
		}
		pid = p.parent
	}
	return world.Run{}, false
}

func (w *World) measureGPUs(ctx context.Context, s *world.Sample) (err error) {
	var list []Activity
	switch {
	case w.opts.Exporter != nil:
		in, err := w.opts.Exporter(ctx)
		if err != nil {
			return fmt.Errorf("dcgm-exporter: %w", err)
		}
		list, s.Anomalies, err = ParseActivity(in)
		_ = in.Close() // only read
		if err != nil {
			return fmt.Errorf("dcgm-exporter: %w", err)
		}
		s.Source = "dcgm-exporter"
	case w.opts.Pretend > 0 || len(w.gpus) == 0:
		return nil
	default:
		out, err := runSMI(ctx, cmp.Or(w.opts.SMI, "nvidia-smi"), smiActivity)
		if err != nil {
			return err
		}
		if list, s.Anomalies, err = parseSMIActivity(string(out)); err != nil {
			return fmt.Errorf("nvidia-smi: %w", err)
		}
		s.Source = "nvidia-smi"
	}
	for i := range list {
		a := &list[i]
		n := w.gpuOf(a)
		if n < 0 {
			continue // one that is not given to jobs
		}
		g := world.GPUSample{GPU: int32(n), Busy: -1, Part: milli(a.Part), MemoryUsed: a.MemoryUsed, MemoryTotal: a.MemoryTotal}
		if a.Measured {
			g.Busy = milli(a.Busy)
		}
		s.GPUs = append(s.GPUs, g)
	}
	return nil
}

func milli(v float64) int32 { return int32(math.Round(v * 1000)) }

// gpuOf is the number of a GPU in the cluster, -1 if it is none of it.
func (w *World) gpuOf(a *Activity) int {
	return slices.IndexFunc(w.gpus, func(g gpu) bool {
		if a.UUID != "" && g.uuid != "" {
			return g.uuid == a.UUID
		}
		return g.index == a.GPU
	})
}
