package slurmhist

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/whatif"
	"github.com/escala-sched/escala/workload"
)

// Options say how a history is made.
type Options struct {
	// Name of the workload, and of the cluster where Slurm does not name it.
	Name string
	// Location gives days their midnight; nil = UTC.
	Location *time.Location
	// Since bounds the jobs that figures are of, in Unix milliseconds; 0 = all. Those that ran
	// or waited then are in the workload, and in no figure.
	Since workload.Time
	// Until is the time of the accounting, at which what still runs is taken to have ended;
	// 0 = the last time that it tells.
	Until workload.Time
	// CPUJobs keeps jobs and nodes without GPUs.
	CPUJobs bool
	// Contracts are what the site says of jobs that do not say it themselves, Contract is of those of which
	// nobody says anything.
	Contracts *slurm.Contracts
	Contract  workload.Contract
	// Cluster is the one whose jobs count, where the accounting is of several; "" = that of most.
	Cluster string
}

// History is a site's past as a workload on a cluster.
type History struct {
	Workload *workload.Workload
	Cluster  *cluster.Spec
	Runs     []whatif.PastRun
	Report   *Report

	g      *Gatherer
	site   *Site
	drafts []draft
	// runs of the drafts, side by side with Runs.
	places [][]word
	types  []*runDraft
	// nodes are those of the cluster by Slurm's name.
	nodes map[string][]int32
	hosts map[word][]word
	since workload.Time
	// typed are the names of nodes by their GPU types, where the cluster's nodes have none; else nil.
	typed map[string][]string
	// bound are the nodes of partitions that are parts of larger ones.
	bound  map[string]string
	within map[string]map[int32]bool
	// lists are names of nodes by what they were made of.
	lists map[[2]string]string
	// most are the GPUs of the largest node by types that are asked for.
	most map[string]int32
}

// ErrNothing says that the accounting holds no job that can be replayed.
var ErrNothing = errors.New("no job that can be replayed")

// Build makes a history of what was gathered. The gatherer is used up.
func (g *Gatherer) Build(site *Site, o Options) (*History, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Until == 0 {
		for i := range g.recs {
			for _, t := range []workload.Time{g.recs[i].submit, g.recs[i].start, g.recs[i].end} {
				o.Until = max(o.Until, t)
			}
			if r := &g.recs[i]; r.end == workload.Unknown && r.start != workload.Unknown && r.elapsed > 0 {
				o.Until = max(o.Until, r.start+r.elapsed)
			}
		}
	}
	name, err := g.oneCluster(&o)
	if err != nil {
		return nil, err
	}
	h := &History{g: g, site: site, hosts: map[word][]word{}, lists: map[[2]string]string{}, Report: &Report{SchemaVersion: 1, Source: "slurm"}}
	var simple tally
	h.drafts = g.drafts(&o, &simple)
	h.Report.Records = g.Records
	h.wholeNodes(&simple)
	h.drafts = slices.DeleteFunc(h.drafts, func(d draft) bool {
		cause := ""
		switch n := &d.need; {
		case n.GPUs > 0:
		case g.parts(d.last):
			cause = "asks for parts of GPUs (gres/shard, gres/mps): how large they are is not told"
		case !o.CPUJobs:
			cause = "asks for no GPU (--cpu-jobs keeps them)"
		case n.CPU == 0 && n.Memory == 0:
			cause = "asks for nothing that is told"
		}
		if cause != "" {
			g.left.add(cause, d.hours, d.last.id())
		}
		return cause != ""
	})
	if len(h.drafts) == 0 {
		return nil, h.nothing()
	}
	if err := h.makeCluster(&o, name); err != nil {
		return nil, err
	}
	h.overlap()
	h.jobs(&o, &simple)
	h.makeOutages()
	r := h.Report
	r.LeftOut, r.Simplified, r.BrokenComments, r.Limits = g.left.list(), simple.list(), g.broken.list(), site.untold.list()
	r.count(h)
	return h, nil
}

// nothing says why no job is left.
func (h *History) nothing() error {
	var all []string
	for _, i := range h.g.left.list() {
		all = append(all, strconv.Itoa(i.Jobs)+" "+i.Cause)
	}
	if len(all) == 0 {
		return ErrNothing
	}
	return fmt.Errorf("%w: %s", ErrNothing, strings.Join(all, ", "))
}

// wholeNodes gives jobs that had their nodes for themselves all GPUs of these.
func (h *History) wholeNodes(simple *tally) {
	if len(h.site.Nodes) == 0 {
		return
	}
	nodes := map[string]*Node{}
	for i := range h.site.Nodes {
		nodes[h.site.Nodes[i].Name] = &h.site.Nodes[i]
	}
	exclusive := map[string]bool{}
	for _, p := range h.site.Partitions {
		exclusive[p.Name] = p.Exclusive
	}
	for i := range h.drafts {
		d := &h.drafts[i]
		for k := range d.runs {
			r := &d.runs[k]
			var cpus, gpus int64
			each := int64(-1)
			hosts := h.g.hosts(h.hosts, r.nodes)
			for _, w := range hosts {
				n := nodes[h.g.words.get(w)]
				if n == nil {
					cpus, gpus = -1<<40, -1<<40
					continue
				}
				cpus, gpus = cpus+n.CPUs, gpus+n.gpus()
				if each < 0 {
					each = n.gpus()
				} else if each != n.gpus() {
					each = 0
				}
			}
			if gpus <= r.gpus || (cpus <= 0 || r.cpus < cpus) && !exclusive[h.g.words.get(d.last.partition)] {
				continue
			}
			d.hours += gpuHours(gpus-r.gpus, r.elapsed)
			r.gpus, r.types = gpus, nil
			if k != len(d.runs)-1 {
				continue
			}
			d.gpus = gpus
			cpu, memory := d.need.CPU*int64(max(d.need.Tasks, 1)), d.need.Memory*int64(max(d.need.Tasks, 1))
			total(&d.need, gpus, cpu, memory)
			d.need.Span = len(hosts) > 1
			if n := int64(len(hosts)); each > 0 && n > 1 {
				d.need.Tasks, d.need.PerNode, d.need.GPUs, d.need.Span, d.need.CPU, d.need.Memory = int32(n), 1, int32(each), false, (cpu+n-1)/n, (memory+n-1)/n
			}
			simple.add("had its nodes for itself: holds all their GPUs", d.hours, d.last.id())
		}
	}
}

// makeCluster makes the cluster of the site's nodes, and of those that are not there but ran
// something.
func (h *History) makeCluster(o *Options, name string) error {
	spec := &cluster.Spec{Name: name}
	from := &h.Report.Cluster
	memory := false
	for i := range h.drafts {
		memory = memory || h.drafts[i].need.Memory > 0
	}
	h.nodes = map[string][]int32{}
	take := func(n *Node) {
		if h.typed != nil {
			x := h.withoutTypes(n)
			n = &x
		}
		switch {
		case n.gpus() == 0 && (!o.CPUJobs || n.CPUs == 0):
			from.WithoutGPUs++
			return
		case len(n.GPUs) > 1:
			from.Split++
		}
		for _, x := range n.spec(memory) {
			if x.GPUs > cluster.MaxGPUsPerNode {
				from.Large++
				x.GPUs = cluster.MaxGPUsPerNode
			}
			h.nodes[n.Name] = append(h.nodes[n.Name], int32(len(spec.Nodes)))
			spec.Nodes = append(spec.Nodes, x)
		}
	}
	described := map[string]bool{}
	for i := range h.site.Nodes {
		described[h.site.Nodes[i].Name] = true
	}
	deduced := h.g.deduce(h.drafts, func(name string) bool { return described[name] }, o.CPUJobs)
	if h.untype(deduced) {
		h.typed, from.Untyped = map[string][]string{}, true
	}
	for i := range h.site.Nodes {
		take(&h.site.Nodes[i])
	}
	from.Told = len(spec.Nodes)
	for i := range deduced {
		take(&deduced[i])
	}
	from.Deduced = len(spec.Nodes) - from.Told
	if len(spec.Nodes) == 0 {
		return fmt.Errorf("nothing tells the nodes of the cluster: neither a list of nodes nor the column NodeList")
	}
	h.Cluster = spec
	return spec.Check()
}

// oneCluster leaves out what is of other clusters than one: IDs of jobs count from 1 in each.
func (g *Gatherer) oneCluster(o *Options) (string, error) {
	names := slices.SortedFunc(maps.Keys(g.clusters), func(a, b word) int {
		return cmp.Or(cmp.Compare(g.clusters[b], g.clusters[a]), strings.Compare(g.words.get(a), g.words.get(b)))
	})
	names = slices.DeleteFunc(names, func(w word) bool { return w == 0 })
	if len(names) == 0 {
		return cmp.Or(o.Cluster, o.Name, "slurm"), nil
	}
	one := names[0]
	if o.Cluster != "" {
		i := slices.IndexFunc(names, func(w word) bool { return g.words.get(w) == o.Cluster })
		if i < 0 {
			var all []string
			for _, w := range names {
				all = append(all, g.words.get(w))
			}
			return "", fmt.Errorf("no record is of cluster %s: the accounting is of %s", o.Cluster, strings.Join(all, ", "))
		}
		one = names[i]
	}
	if len(names) > 1 {
		g.recs = slices.DeleteFunc(g.recs, func(r record) bool {
			if r.cluster == one || r.cluster == 0 {
				return false
			}
			run := g.run(&r, o)
			g.left.add("of another cluster (--slurm-cluster names the one to import)", gpuHours(run.gpus, run.elapsed), r.id()+" of "+g.words.get(r.cluster))
			return true
		})
	}
	return g.words.get(one), nil
}

// jobs makes the workload.
func (h *History) jobs(o *Options, simple *tally) {
	g := h.g
	slices.SortStableFunc(h.drafts, func(a, b draft) int {
		return cmp.Or(cmp.Compare(a.submit(), b.submit()), cmp.Compare(a.first.number, b.first.number), cmp.Compare(a.first.task, b.first.task))
	})
	first := h.drafts[0].submit()
	y, m, day := time.UnixMilli(first).In(o.Location).Date()
	epoch := time.Date(y, m, day, 0, 0, 0, 0, o.Location).UnixMilli()
	w := &workload.Workload{Name: o.Name, Epoch: epoch, Format: "slurm", Rows: g.Records}
	w.Jobs, w.Actual = make([]workload.Job, 0, len(h.drafts)), make([]workload.Actual, 0, len(h.drafts))
	h.Workload = w
	runs := 0
	for i := range h.drafts {
		runs += len(h.drafts[i].runs)
	}
	h.Runs, h.places, h.types = make([]whatif.PastRun, 0, runs), make([][]word, 0, runs), make([]*runDraft, 0, runs)
	if o.Since > first {
		h.since = o.Since - epoch
	}
	f := newFeatures(h)
	labels := map[[2]string]map[string]string{}
	for i := range h.drafts {
		d := &h.drafts[i]
		id := d.first.id()
		if d.parts > 1 {
			id = strconv.FormatInt(d.first.number, 10)
		}
		said := g.said[d.first.said]
		j := workload.Job{ID: id, User: g.words.get(d.first.user), Team: g.words.get(d.first.account), Partition: g.words.get(d.last.partition),
			Submit: d.submit() - epoch, Need: d.need, Limit: d.first.limit}
		j.Labels = h.labels(labels, d)
		qos := g.words.get(d.last.qos)
		j.Priority = h.site.QOS[qos] // what Slurm computed is no declaration
		o.Contracts.Of(said, qos, strings.Split(j.Partition, ",")).Apply(&j)
		j.Contract = fill(j.Contract, o.Contract)
		h.partition(&j, d, simple)
		f.apply(&j, d, simple)
		h.bind(&j, d, simple)
		h.byName(&j, d, simple)
		h.possible(&j, d, simple)
		h.simplified(d, simple)
		if d.first.flags&flagBroken != 0 {
			g.broken.add("comment for escala that cannot be read: the site's defaults hold", d.hours, id)
		}
		h.Report.contracts(said != slurm.Terms{}, d)
		a := workload.Actual{Outcome: d.outcome, Start: d.runs[0].start - epoch, End: d.runs[len(d.runs)-1].end - epoch}
		a.Duration = h.record(d, int32(i), &j, epoch)
		raise(&j, a.Duration, d, simple)
		w.Jobs, w.Actual = append(w.Jobs, j), append(w.Actual, a)
	}
}

// raise gives a job that really worked for longer than its limit a limit that lets it: Slurm ends
// jobs up to a minute late, later with OverTimeLimit, and several runs have a limit each.
func raise(j *workload.Job, worked workload.Span, d *draft, simple *tally) {
	if j.Limit == 0 || worked <= j.Limit+workload.Minute {
		return
	}
	j.Limit = (worked + workload.Minute - 1) / workload.Minute * workload.Minute
	simple.add("worked for longer than its time limit (in several runs, or past it): its limit is what it took", d.hours, j.ID)
}

// submit is when the job could start for the first time: what kept it before, a dependency, a
// hold, a date, the limit of its array, was no wait for GPUs.
func (d *draft) submit() workload.Time {
	at := d.first.submit
	if e := d.first.eligible; e != workload.Unknown && e > at {
		at = e
	}
	return min(at, d.runs[0].start)
}

// labels are shared by jobs that have the same.
func (h *History) labels(known map[[2]string]map[string]string, d *draft) map[string]string {
	key := [2]string{h.g.words.get(d.last.qos)}
	if d.first.task >= 0 {
		key[1] = strconv.FormatInt(d.first.number, 10)
	}
	if key == ([2]string{}) {
		return nil
	}
	l, ok := known[key]
	if !ok {
		l = map[string]string{}
		if key[0] != "" {
			l["qos"] = key[0]
		}
		if key[1] != "" {
			l["array"] = key[1]
		}
		known[key] = l
	}
	return l
}

// partition takes one that the cluster has.
func (h *History) partition(j *workload.Job, d *draft, simple *tally) {
	if first, _, several := strings.Cut(j.Partition, ","); several {
		simple.add("named several partitions: bound to the first", d.hours, j.ID)
		j.Partition = first
	}
	if j.Partition == "" || h.has(j.Partition) {
		return
	}
	simple.add("its partition is none of the cluster's any more: bound to none", d.hours, j.ID)
	j.Partition = ""
}

// possible changes what a job asks for that the cluster as it was made does not have: what really
// ran must not be refused for a name or a cut.
func (h *History) possible(j *workload.Job, d *draft, simple *tally) {
	n := &j.Need
	if n.GPUs == 0 {
		return
	}
	if n.GPUTypes != "" && h.largest(n.GPUTypes) == 0 {
		simple.add("asks for a GPU type that no node has: bound to none", d.hours, j.ID)
		n.GPUTypes = ""
	}
	if n.Tasks <= 1 || n.GPUs <= h.largest(n.GPUTypes) {
		return // a total is cut anyway
	}
	tasks := int64(n.Tasks)
	total(n, int64(n.TotalGPUs()), n.CPU*tasks, n.Memory*tasks)
	simple.add("asks for more GPUs of a node than any has (it got more nodes): cut over nodes in any way", d.hours, j.ID)
}

// largest is how many GPUs a node has at most; types as a need names them, "" = any.
func (h *History) largest(types string) int32 {
	if v, ok := h.most[types]; ok {
		return v
	}
	v := int32(0)
	for i := range h.Cluster.Nodes {
		// A node whose type is not known has any.
		if n := &h.Cluster.Nodes[i]; types == "" || n.GPUType == "" || slices.Contains(strings.Split(types, "|"), n.GPUType) {
			v = max(v, n.GPUs)
		}
	}
	if h.most == nil {
		h.most = map[string]int32{}
	}
	h.most[types] = v
	return v
}

func (h *History) has(partition string) bool {
	bound := false
	for i := range h.Cluster.Nodes {
		if p := h.Cluster.Nodes[i].Partitions; len(p) > 0 {
			if bound = true; slices.Contains(p, partition) {
				return true
			}
		}
	}
	return !bound
}

// simplified counts what is not modelled of a job.
func (h *History) simplified(d *draft, simple *tally) {
	id := d.first.id()
	if d.first.eligible != workload.Unknown && d.first.eligible > d.first.submit {
		simple.add("could start later than it was submitted (dependency, hold, date, limit of its array): submitted then", d.hours, id)
	}
	if d.last.flags&flagReserved != 0 {
		simple.add("ran in a reservation: reservations are not modelled", d.hours, id)
	}
	if r := d.runs[len(d.runs)-1]; !d.live && r.end-r.start > r.elapsed+5*workload.Second {
		simple.add("was suspended for a time: taken as if it had run at once", d.hours, id)
	}
	if d.last.flags&flagLicensed != 0 {
		simple.add("asks for licences: not modelled", d.hours, id)
	}
}

// record notes the runs of a job, and returns the work that it needed: its last run, and what
// earlier ones had saved.
func (h *History) record(d *draft, n int32, j *workload.Job, epoch workload.Time) workload.Span {
	work := workload.Span(0)
	for k := range d.runs {
		r := &d.runs[k]
		p := whatif.PastRun{Job: n, Attempt: int32(k + 1), Start: r.start - epoch, End: r.end - epoch, Milli: r.gpus * 1000}
		if k < len(d.runs)-1 {
			state := h.g.words.get(r.state)
			safe := kept(j.Contract, r.elapsed, state != "NODE_FAIL")
			work += safe
			p.Again, p.Lost, p.Cause = true, r.elapsed-safe, fact.CausePreempted
			switch state {
			case "NODE_FAIL", "BOOT_FAIL":
				p.Cause = fact.CauseNodeFailure
			case "PREEMPTED":
			default:
				p.Cause = fact.CauseOperator
			}
			h.Report.again(r, p.Lost, state)
		}
		h.Runs = append(h.Runs, p)
		h.places, h.types = append(h.places, h.g.hosts(h.hosts, r.nodes)), append(h.types, r)
	}
	return work + max(d.elapsed, 0)
}

// makeOutages takes the events of nodes into the cluster.
func (h *History) makeOutages() {
	if len(h.site.Events) == 0 {
		return
	}
	var end workload.Time
	for i := range h.Runs {
		end = max(end, h.Runs[i].End)
	}
	o := outages(h.site.Events, h.nodes, h.Cluster, h.Workload.Epoch, max(h.Workload.Jobs[0].Submit, 0), end)
	h.Report.Outages = &o
}
