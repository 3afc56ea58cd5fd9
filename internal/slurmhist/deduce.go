package slurmhist

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// seen is what runs tell of a node.
type seen struct {
	partitions []word
	// now and most are GPUs in use, of all types and then of each; cpus likewise.
	now, most         []int64
	cpusNow, cpusMost int64
}

func (n *seen) take(kind int, gpus int64) {
	for len(n.now) <= kind {
		n.now, n.most = append(n.now, 0), append(n.most, 0)
	}
	n.now[kind] += gpus
	n.most[kind] = max(n.most[kind], n.now[kind])
}

// deducer follows what was in use where.
type deducer struct {
	g     *Gatherer
	nodes map[word]*seen
	names map[word][]word
	// kinds are the types of GPUs by number, from 1 on.
	kinds   map[string]int
	running []ending
}

// ending is a run that goes on until a time.
type ending struct {
	at  workload.Time
	run *runDraft
}

// deduce makes nodes of what ran, but for those that are known. A node has as many GPUs as were
// ever in use on it at once.
func (g *Gatherer) deduce(drafts []draft, known func(node string) bool, cpuJobs bool) []Node {
	d := &deducer{g: g, nodes: map[word]*seen{}, names: map[word][]word{}, kinds: map[string]int{}}
	var runs []*runDraft
	for i := range drafts {
		for k := range drafts[i].runs {
			r := &drafts[i].runs[k]
			for _, h := range g.hosts(d.names, r.nodes) {
				if d.nodes[h] == nil {
					d.nodes[h] = &seen{}
				}
				if n, p := d.nodes[h], drafts[i].last.partition; !slices.Contains(n.partitions, p) {
					n.partitions = append(n.partitions, p)
				}
			}
			if r.end > r.start {
				runs = append(runs, r)
			}
		}
	}
	slices.SortStableFunc(runs, func(a, b *runDraft) int { return cmp.Compare(a.start, b.start) })
	for _, r := range runs {
		for len(d.running) > 0 && d.running[0].at <= r.start {
			d.use(heap.Pop(d).(ending).run, -1)
		}
		d.use(r, 1)
		heap.Push(d, ending{r.end, r})
	}
	return d.found(known, cpuJobs)
}

// Len, Less, Swap, Push and Pop make a heap of the runs by their ends.
func (d *deducer) Len() int           { return len(d.running) }
func (d *deducer) Less(i, k int) bool { return d.running[i].at < d.running[k].at }
func (d *deducer) Swap(i, k int)      { d.running[i], d.running[k] = d.running[k], d.running[i] }

// Push adds one.
func (d *deducer) Push(x any) { d.running = append(d.running, x.(ending)) }

// Pop takes the last.
func (d *deducer) Pop() any {
	n := len(d.running) - 1
	x := d.running[n]
	d.running = d.running[:n]
	return x
}

// use adds what a run has in use on its nodes, or takes it away. Types are of a node where all of
// the run's are, or where it had one node.
func (d *deducer) use(r *runDraft, sign int64) {
	hosts := d.g.hosts(d.names, r.nodes)
	n := int64(len(hosts))
	for _, h := range hosts {
		x := d.nodes[h]
		x.cpusNow += sign * (r.cpus / n)
		x.cpusMost = max(x.cpusMost, x.cpusNow)
		if r.gpus%n != 0 { // at least one each; who had the rest is not told
			x.take(0, sign)
			continue
		}
		x.take(0, sign*(r.gpus/n))
		if len(r.types) != 1 && n != 1 {
			continue
		}
		for _, t := range r.types {
			k, ok := d.kinds[t.Name]
			if !ok {
				k = len(d.kinds) + 1
				d.kinds[t.Name] = k
			}
			x.take(k, sign*(t.Count/n))
		}
	}
}

func (d *deducer) found(known func(node string) bool, cpuJobs bool) []Node {
	var out []Node
	for w, n := range d.nodes {
		name := d.g.words.get(w)
		if known(name) || (len(n.most) == 0 || n.most[0] == 0) && !cpuJobs {
			continue
		}
		x := Node{Name: name, GPUs: d.types(n)}
		if cpuJobs {
			x.CPUs = n.cpusMost
		}
		for _, p := range n.partitions {
			if p != 0 {
				x.Partitions = append(x.Partitions, d.g.words.get(p))
			}
		}
		slices.Sort(x.Partitions)
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Node) int { return natural(a.Name, b.Name) })
	return out
}

// types are the GPUs of a node: of one type all that were in use, of several what was in use of
// each.
func (d *deducer) types(n *seen) []trace.GPUType {
	if len(n.most) == 0 || n.most[0] == 0 {
		return nil
	}
	var out []trace.GPUType
	for _, name := range slices.Sorted(maps.Keys(d.kinds)) {
		if k := d.kinds[name]; k < len(n.most) && n.most[k] > 0 {
			out = append(out, trace.GPUType{Name: name, Count: n.most[k]})
		}
	}
	switch len(out) {
	case 0:
		return []trace.GPUType{{Count: n.most[0]}}
	case 1:
		out[0].Count = n.most[0]
	}
	return out
}

// hosts are the nodes of a run. A list that cannot be read names none.
func (g *Gatherer) hosts(known map[word][]word, lists []word) []word {
	if len(lists) == 1 {
		if out, ok := known[lists[0]]; ok {
			return out
		}
	}
	var out []word
	for _, l := range lists {
		one, ok := known[l]
		if !ok {
			names, err := slurm.Hosts(g.words.get(l))
			if err != nil {
				names = nil
			}
			for _, n := range names {
				one = append(one, g.words.put(n))
			}
			known[l] = one
		}
		for _, h := range one {
			if len(lists) == 1 || !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// natural orders names by the numbers in them: n2 before n10.
func natural(a, b string) int {
	for a != "" && b != "" {
		if digit(a[0]) && digit(b[0]) {
			x, y := number(a), number(b)
			if c := cmp.Or(cmp.Compare(len(trimZeros(x)), len(trimZeros(y))), cmp.Compare(trimZeros(x), trimZeros(y)), cmp.Compare(len(x), len(y))); c != 0 {
				return c
			}
			a, b = a[len(x):], b[len(y):]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func number(s string) string {
	i := 0
	for i < len(s) && digit(s[i]) {
		i++
	}
	return s[:i]
}

func trimZeros(s string) string {
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}
