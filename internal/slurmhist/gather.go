package slurmhist

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// word is a text that many records share, by its place in a list of them.
type word int32

// words keeps one copy of each text. Nought is "".
type words struct {
	list []string
	at   map[string]word
}

func (w *words) put(s string) word {
	if s == "" {
		return 0
	}
	if i, ok := w.at[s]; ok {
		return i
	}
	if w.at == nil {
		w.at, w.list = map[string]word{}, []string{""}
	}
	s = strings.ToValidUTF8(strings.Clone(s), "\ufffd")
	i := word(len(w.list))
	w.at[s] = i
	w.list = append(w.list, s)
	return i
}

func (w *words) get(i word) string {
	if i == 0 {
		return ""
	}
	return w.list[i]
}

// record is one of the accounting, as small as it can be: a quarter has millions.
type record struct {
	number                       int64
	task, part                   int32 // -1 = none
	submit, eligible, start, end workload.Time
	elapsed, limit               workload.Span
	user, account, partition     word
	cluster                      word
	qos, state, nodes            word
	constraints, req, alloc      word
	reqMem, reqGRES, allocGRES   word
	said                         int32
	nnodes, cpus                 int32
	seq                          int32
	flags                        uint8
}

const (
	flagReserved uint8 = 1 << iota
	flagLicensed
	flagNoStart
	flagNoEnd
	flagBroken // its comment cannot be read
)

// Gatherer collects records of Slurm's accounting.
type Gatherer struct {
	words words
	lists trace.SlurmLists
	recs  []record
	said  []slurm.Terms
	saidN map[slurm.Terms]int32
	// Records that were read, each once, and of which cluster each.
	Records  int
	clusters map[word]int
	left     tally
	// slab holds lists of one word.
	slab []word
	// broken counts comments that cannot be read.
	broken tally
}

// NewGatherer returns one without records.
func NewGatherer() *Gatherer {
	return &Gatherer{lists: trace.SlurmLists{}, said: []slurm.Terms{{}}, saidN: map[slurm.Terms]int32{{}: 0}, clusters: map[word]int{}}
}

// Add takes a record. It may be of a run that is known already: slices of time overlap.
func (g *Gatherer) Add(r *trace.SlurmRecord) {
	if r.Fault == "" && strings.Contains(r.ID, ".") {
		return // steps are no jobs, and no records of any
	}
	g.Records++
	if r.Fault != "" {
		g.left.add("record that cannot be read: "+r.Fault, 0, "line "+strconv.Itoa(r.Line))
		return
	}
	if r.Submit == workload.Unknown {
		g.left.add("submit time not readable", 0, strings.Clone(r.ID))
		return
	}
	number, task, part, ok := parseID(r.ID)
	if !ok {
		cause := "job ID not readable"
		if strings.Contains(r.ID, "_[") {
			cause = "tasks of an array that were not split off: they never started"
		}
		g.left.add(cause, 0, strings.Clone(r.ID))
		return
	}
	cluster := g.words.put(r.Cluster)
	g.clusters[cluster]++
	x := record{
		number: number, task: task, part: part, submit: r.Submit, eligible: r.Eligible, start: r.Start, end: r.End, elapsed: -1, limit: r.Limit,
		cluster: cluster, user: g.words.put(r.User), account: g.words.put(r.Account), partition: g.words.put(r.Partition), qos: g.words.put(r.QOS), state: g.words.put(r.State),
		nodes: g.words.put(r.NodeList), constraints: g.words.put(r.Constraints), req: g.words.put(r.ReqTRES), alloc: g.words.put(r.AllocTRES),
		reqMem: g.words.put(r.ReqMem), reqGRES: g.words.put(r.ReqGRES), allocGRES: g.words.put(r.AllocGRES),
		nnodes: int32(min(r.Nodes, 1<<30)), cpus: int32(min(r.CPUs, 1<<30)), seq: int32(len(g.recs)),
	}
	if d, ok := r.Duration(); ok {
		x.elapsed = d
	}
	for _, f := range []struct {
		is   bool
		flag uint8
	}{{r.Reserved, flagReserved}, {r.Licenses != "" || strings.Contains(r.ReqTRES, "license/"), flagLicensed}, {r.NoStart, flagNoStart}, {r.NoEnd, flagNoEnd}} {
		if f.is {
			x.flags |= f.flag
		}
	}
	if strings.Contains(r.Comment, slurm.ContractPrefix) {
		g.comment(&x, r.Comment)
	}
	g.recs = append(g.recs, x)
}

func (g *Gatherer) comment(x *record, comment string) {
	d, err := slurm.ParseContract(strings.Clone(comment))
	if err != nil {
		x.flags |= flagBroken
		return
	}
	n, ok := g.saidN[d]
	if !ok {
		n = int32(len(g.said))
		g.saidN[d] = n
		g.said = append(g.said, d)
	}
	x.said = n
}

// parseID reads 123, 123_7 and 123+1.
func parseID(id string) (number int64, task, part int32, ok bool) {
	task, part = -1, -1
	base := id
	if i := strings.IndexAny(id, "_+"); i >= 0 {
		base = id[:i]
		n, err := strconv.ParseInt(id[i+1:], 10, 32)
		if err != nil || n < 0 {
			return 0, 0, 0, false
		}
		if id[i] == '_' {
			task = int32(n)
		} else {
			part = int32(n)
		}
	}
	number, err := strconv.ParseInt(base, 10, 64)
	return number, task, part, err == nil && number >= 0
}

func (r *record) id() string {
	s := strconv.FormatInt(r.number, 10)
	switch {
	case r.task >= 0:
		s += "_" + strconv.Itoa(int(r.task))
	case r.part >= 0:
		s += "+" + strconv.Itoa(int(r.part))
	}
	return s
}

// slurm is the record as the trace package judges it.
func (g *Gatherer) slurm(r *record) *trace.SlurmRecord {
	return &trace.SlurmRecord{
		ID: r.id(), State: g.words.get(r.state), Submit: r.submit, Eligible: r.eligible, Start: r.start, End: r.end, NoStart: r.flags&flagNoStart != 0, NoEnd: r.flags&flagNoEnd != 0,
		Elapsed: r.elapsed, Nodes: int64(r.nnodes), CPUs: int64(r.cpus), ReqMem: g.words.get(r.reqMem), ReqTRES: g.words.get(r.req), AllocTRES: g.words.get(r.alloc),
		ReqGRES: g.words.get(r.reqGRES), AllocGRES: g.words.get(r.allocGRES),
	}
}

// sort brings the runs of each job together, in the order of time, and drops records that
// stand twice: the one read last is the newest.
func (g *Gatherer) sort() {
	slices.SortFunc(g.recs, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.task, b.task), cmp.Compare(a.part, b.part), cmp.Compare(a.submit, b.submit),
			cmp.Compare(a.start, b.start), cmp.Compare(a.seq, b.seq))
	})
	out := g.recs[:0]
	for _, r := range g.recs {
		if n := len(out); n > 0 {
			if was := &out[n-1]; was.sameJob(&r) && was.submit == r.submit && (was.start == r.start || was.start == workload.Unknown) {
				*was = r
				g.Records--
				continue
			}
		}
		out = append(out, r)
	}
	g.recs = out
}

func (r *record) sameJob(o *record) bool {
	return r.number == o.number && r.task == o.task && r.part == o.part
}

// tres is the amount of a resource in a list, 0 where it is not told.
func tres(list, name string) int64 {
	for item := range strings.SplitSeq(list, ",") {
		if k, v, ok := strings.Cut(item, "="); ok && k == name {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 0 {
				return 0
			}
			return n
		}
	}
	return 0
}
