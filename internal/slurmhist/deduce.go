package slurmhist

import (
	"cmp"
	"maps"
	"slices"

	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// seen is what runs tell of a node.
type seen struct {
	partitions map[word]bool
	// now and most are GPUs in use by type; "" is the sum of all. cpus likewise.
	now, most         map[string]int64
	cpusNow, cpusMost int64
}

// use is a change of what a node has in use.
type use struct {
	at         workload.Time
	node       word
	kind       string
	gpus, cpus int64
}

// deduce makes nodes of what ran: those of only that are not nil are left out. A node has as many
// GPUs as were ever in use on it at once.
func (g *Gatherer) deduce(drafts []draft, known func(node string) bool, cpuJobs bool) []Node {
	nodes := map[word]*seen{}
	var uses []use
	names := map[word][]word{}
	for i := range drafts {
		d := &drafts[i]
		for k := range d.runs {
			r := &d.runs[k]
			hosts := g.hosts(names, r.nodes)
			if len(hosts) == 0 {
				continue
			}
			for _, h := range hosts {
				if nodes[h] == nil {
					nodes[h] = &seen{partitions: map[word]bool{}, now: map[string]int64{}, most: map[string]int64{}}
				}
				nodes[h].partitions[d.last.partition] = true
			}
			uses = g.uses(uses, r, hosts)
		}
	}
	slices.SortFunc(uses, func(a, b use) int { // ends before starts
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.gpus, b.gpus), cmp.Compare(a.cpus, b.cpus))
	})
	for i := range uses {
		u := &uses[i]
		n := nodes[u.node]
		n.now[u.kind] += u.gpus
		n.most[u.kind] = max(n.most[u.kind], n.now[u.kind])
		if u.kind == "" {
			n.cpusNow += u.cpus
			n.cpusMost = max(n.cpusMost, n.cpusNow)
		}
	}
	var out []Node
	for w, n := range nodes {
		name := g.words.get(w)
		if known(name) || n.most[""] == 0 && !cpuJobs {
			continue
		}
		x := Node{Name: name, GPUs: n.types()}
		if cpuJobs {
			x.CPUs = n.cpusMost
		}
		for p := range n.partitions {
			if p != 0 {
				x.Partitions = append(x.Partitions, g.words.get(p))
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
func (n *seen) types() []trace.GPUType {
	kinds := slices.Sorted(maps.Keys(n.most))
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "" || n.most[k] == 0 })
	switch {
	case n.most[""] == 0:
		return nil
	case len(kinds) == 0:
		return []trace.GPUType{{Count: n.most[""]}}
	case len(kinds) == 1:
		return []trace.GPUType{{Name: kinds[0], Count: n.most[""]}}
	}
	var out []trace.GPUType
	for _, k := range kinds {
		out = append(out, trace.GPUType{Name: k, Count: n.most[k]})
	}
	return out
}

// uses adds what a run has in use on its nodes. Types are of a node where all of the run's are,
// or where it had one node.
func (g *Gatherer) uses(uses []use, r *runDraft, hosts []word) []use {
	add := func(node word, kind string, gpus, cpus int64) {
		if gpus > 0 || cpus > 0 {
			uses = append(uses, use{r.start, node, kind, gpus, cpus}, use{r.end, node, kind, -gpus, -cpus})
		}
	}
	if r.end <= r.start {
		return uses
	}
	n := int64(len(hosts))
	even := r.gpus%n == 0
	for _, h := range hosts {
		if !even { // at least one each; who had the rest is not told
			add(h, "", 1, r.cpus/n)
			continue
		}
		add(h, "", r.gpus/n, r.cpus/n)
		if len(r.types) == 1 || n == 1 {
			for _, t := range r.types {
				add(h, t.Name, t.Count/n, 0)
			}
		}
	}
	return uses
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
			names, err := Hosts(g.words.get(l))
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
