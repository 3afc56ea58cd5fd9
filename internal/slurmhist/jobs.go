package slurmhist

import (
	"strings"

	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// draft is a job with its runs, before it is known on which cluster.
type draft struct {
	// first and last are records: of the submission, and the one that counts. other are the
	// further parts of a heterogeneous job.
	first, last *record
	runs        []runDraft
	need        workload.Need
	gpus        int64 // of the last run
	parts       int
	// start and end of the last run, which lasted so long.
	elapsed workload.Span
	outcome workload.Outcome
	live    bool
	hours   float64
}

// runDraft is one run: GPUs by type where that is told, and nodes.
type runDraft struct {
	start, end workload.Time
	elapsed    workload.Span
	gpus       int64
	types      []trace.GPUType
	nodes      []word
	state      word
	cpus       int64
}

// drafts makes jobs of the records. to is the time at which the history ends: what still runs
// ends then.
func (g *Gatherer) drafts(o *Options, simple *tally) []draft {
	g.sort()
	jobs := 0
	for i := range g.recs {
		if i == 0 || !g.recs[i].sameJob(&g.recs[i-1]) {
			jobs++
		}
	}
	out := make([]draft, 0, jobs)
	var het []draft
	flush := func() {
		if len(het) > 0 {
			if d, ok := g.gang(het, simple); ok {
				out = append(out, d)
			}
			het = het[:0]
		}
	}
	for i := 0; i < len(g.recs); {
		k := i + 1
		for k < len(g.recs) && g.recs[k].sameJob(&g.recs[i]) && g.recs[k].user == g.recs[i].user {
			k++
		}
		again := i > 0 && g.recs[i-1].sameJob(&g.recs[i])
		d, ok := g.draft(g.recs[i:k], o, simple)
		part := g.recs[i].part >= 0
		if len(het) > 0 && (!part || het[0].first.number != g.recs[i].number) {
			flush()
		}
		switch {
		case !ok:
		case again:
			g.left.add("job ID that was given again to another user", d.hours, d.last.id())
		case part:
			het = append(het, d)
		default:
			out = append(out, d)
		}
		i = k
	}
	flush()
	return out
}

// draft makes a job of the records of its runs, or counts why not.
func (g *Gatherer) draft(recs []record, o *Options, simple *tally) (draft, bool) {
	d := draft{first: &recs[0], parts: 1}
	// What came after the last run, a wait or a withdrawal, is no run.
	n := len(recs)
	for n > 1 && recs[n-1].start == workload.Unknown {
		n--
	}
	if n < len(recs) && recs[n-1].start == workload.Unknown {
		n = len(recs)
	}
	d.last = &recs[n-1]
	d.runs = make([]runDraft, 0, n)
	for i := range recs[:n] {
		r := g.run(&recs[i], o)
		d.hours += gpuHours(r.gpus, r.elapsed)
		if r.start != workload.Unknown && r.end >= r.start {
			d.runs = append(d.runs, r)
		}
	}
	s := g.slurm(d.last)
	cause := s.Cause(true)
	d.live, d.outcome, d.elapsed = s.Live(), s.Outcome(), d.last.elapsed
	if d.live {
		d.outcome = workload.OutcomeUnknown
		if d.elapsed = o.Until - d.last.start; d.last.elapsed >= 0 {
			d.elapsed = d.last.elapsed
		}
	}
	switch {
	case cause != "":
	case d.elapsed < 0:
		cause = "duration not readable"
	case d.elapsed == 0 && d.outcome == workload.OutcomeCancelled:
		cause = "cancelled before it started"
	case len(d.runs) == 0:
		cause = "start or end not readable"
	}
	if cause == "" {
		d.need, _, cause = g.lists.Need(s)
	}
	if cause != "" {
		g.left.add(cause, d.hours, d.last.id())
		return d, false
	}
	if !strings.Contains(s.AllocTRES, "mem=") {
		d.need.Memory = 0 // memory is asked for, but not what jobs are placed by
	}
	d.gpus = int64(d.need.TotalGPUs())
	if asked := tres(s.ReqTRES, "node"); asked > 1 && d.need.Tasks == 0 && d.need.GPUs > 0 {
		d.need.Span = true
		simple.add("GPUs that do not come out even over its nodes: cut over nodes in any way", d.hours, d.last.id())
	}
	switch {
	case n < len(recs):
		simple.add("requeued, and had not run again: ends with its last run", d.hours, d.last.id())
	case s.Requeued():
		d.outcome = workload.OutcomeUnknown
		simple.add("requeued, and what came of it is not told: ends with its last run", d.hours, d.last.id())
	case d.live:
		simple.add("still ran: taken as if it had ended then", d.hours, d.last.id())
	}
	return d, true
}

// run takes a record as a run.
func (g *Gatherer) run(r *record, o *Options) runDraft {
	out := runDraft{start: r.start, end: r.end, elapsed: max(r.elapsed, 0), state: r.state}
	s := g.slurm(r)
	if out.end == workload.Unknown && s.Live() && r.start != workload.Unknown {
		if out.end = o.Until; r.elapsed >= 0 {
			out.end = r.start + r.elapsed
		}
	}
	if told, err := g.lists.GPUs(s.AllocTRES); err == nil {
		out.gpus, out.types = told.Total(max(tres(s.AllocTRES, "node"), 1)), told.Types
	} else if need, _, cause := g.lists.Need(s); cause == "" {
		out.gpus = int64(need.TotalGPUs())
	}
	if out.cpus = tres(s.AllocTRES, "cpu"); r.nodes != 0 {
		g.slab = append(g.slab, r.nodes)
		n := len(g.slab)
		out.nodes = g.slab[n-1 : n : n]
	}
	return out
}

// gang makes one job of the parts of a heterogeneous one, which start together. It counts why
// that is not possible.
func (g *Gatherer) gang(parts []draft, simple *tally) (draft, bool) {
	d := parts[0]
	id, hours := d.first.id(), 0.0
	cause := ""
	even := true
	for i := range parts {
		p := &parts[i]
		hours += p.hours
		switch {
		case len(p.runs) != len(d.runs):
			cause = "heterogeneous job whose parts ran different numbers of times"
		case p.first.partition != d.first.partition:
			cause = "heterogeneous job over several partitions"
		case p.need.GPUs > 0 && d.need.GPUs > 0 && p.need.GPUTypes != d.need.GPUTypes:
			cause = "heterogeneous job whose parts ask for GPUs of different types"
		}
		even = even && p.need.GPUs == d.need.GPUs && p.need.GPUs > 0
	}
	if cause != "" {
		g.left.add(cause, hours, id)
		return d, false
	}
	if len(parts) == 1 {
		simple.add("heterogeneous job of which one part is left", hours, id)
		return d, true
	}
	var gpus, tasks, cpu, memory int64
	runs := make([]runDraft, len(d.runs))
	copy(runs, d.runs)
	for i := range parts {
		p := &parts[i]
		n := int64(max(p.need.Tasks, 1))
		gpus, tasks = gpus+int64(p.need.TotalGPUs()), tasks+n
		cpu, memory = cpu+n*p.need.CPU, memory+n*p.need.Memory
		if i == 0 {
			continue
		}
		for k := range runs {
			a, b := &runs[k], &p.runs[k]
			a.start, a.end, a.elapsed = min(a.start, b.start), max(a.end, b.end), max(a.elapsed, b.elapsed)
			a.gpus, a.cpus, a.types = a.gpus+b.gpus, a.cpus+b.cpus, append(a.types[:len(a.types):len(a.types)], b.types...)
			a.nodes = append(a.nodes[:len(a.nodes):len(a.nodes)], b.nodes...)
		}
		d.elapsed, d.live = max(d.elapsed, p.elapsed), d.live || p.live
		if d.need.GPUTypes == "" {
			d.need.GPUTypes = p.need.GPUTypes
		}
		if d.outcome == workload.OutcomeCompleted {
			d.outcome = p.outcome
		}
	}
	d.runs, d.parts, d.gpus, d.hours = runs, len(parts), gpus, hours
	if even {
		d.need.Tasks, d.need.PerNode = int32(tasks), 0 // parts may share a node, as far as is told
		d.need.CPU, d.need.Memory = (cpu+tasks-1)/tasks, (memory+tasks-1)/tasks
		simple.add("heterogeneous job: its parts are one gang", hours, id)
		return d, true
	}
	total(&d.need, gpus, cpu, memory)
	simple.add("heterogeneous job: its parts are one total, cut over nodes in any way", hours, id)
	return d, true
}

// total makes a need one for so many GPUs that are cut over nodes in any way.
func total(n *workload.Need, gpus, cpu, memory int64) {
	n.Tasks, n.PerNode, n.GPUs, n.Span, n.CPU, n.Memory = 0, 0, int32(min(gpus, 1<<31-1)), gpus > 0, cpu, memory
}

// parts tells whether a job asked for parts of GPUs.
func (g *Gatherer) parts(r *record) bool {
	for _, list := range []word{r.alloc, r.req, r.reqGRES, r.allocGRES} {
		for item := range strings.SplitSeq(g.words.get(list), ",") {
			item = strings.TrimPrefix(strings.TrimPrefix(item, "gres/"), "gres:")
			if end := strings.IndexAny(item, "=:"); end >= 0 && (item[:end] == "shard" || item[:end] == "mps") {
				return true
			}
		}
	}
	return false
}
