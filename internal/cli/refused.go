package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/place"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// refusedCause is a cause for which jobs can never run, how many they are and the first of them.
type refusedCause struct {
	what, try string
	count     int
	most      int32
	first     string
}

// checkRefused says which jobs can never run on the cluster, why and what would
// help; it is an error if that is all of them, since then no figure means anything.
func (s *State) checkRefused(t *study) error {
	if len(t.refusals) == 0 {
		return nil
	}
	text, try := t.refusedAll()
	if len(t.refusals) == len(t.workload.Jobs) {
		return badUsage(try, "%s", text)
	}
	s.say("Warning: %s. They are counted as refused and enter no figure. Try: %s\n", text, try)
	return nil
}

// refusedAll says how many jobs can never run, why, and what would help most of them.
func (t *study) refusedAll() (text, try string) {
	causes := t.refusedCauses()
	var lines []string
	for _, c := range causes {
		lines = append(lines, fmt.Sprintf("%s (the first is %s)", c.what, c.first))
	}
	return fmt.Sprintf("%s of %s can never run on cluster %s: %s", grouped(int64(len(t.refusals))), plural(len(t.workload.Jobs), "job"),
		t.cluster.Name, strings.Join(lines, "; ")), causes[0].try
}

// refusedOn finds the jobs that can never run on a cluster without running any:
// each distinct need is put to the empty cluster, all its nodes healthy.
func refusedOn(w *workload.Workload, c *cluster.Spec) (*study, error) {
	layout := cluster.NewLayout(c)
	p, err := place.New(layout, policy.Placement{By: policy.BestFit})
	if err != nil {
		return nil, err
	}
	var empty []*cluster.Free
	for i := range layout.Pools {
		empty = append(empty, cluster.NewFree(layout, int32(i)))
	}
	type key struct {
		need      workload.Need
		partition string
	}
	codes := map[key]fact.Code{}
	t := &study{workload: w, cluster: c}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		k := key{j.Need, j.Partition}
		code, known := codes[k]
		if !known {
			code = refusedCode(p, empty, p.Shape(j.Need, j.Partition))
			codes[k] = code
		}
		if code != 0 {
			t.refusals = append(t.refusals, sim.Refusal{Job: int32(i), Reason: fact.Reason{Code: code}})
		}
	}
	return t, nil
}

// refusedCode says why the empty cluster cannot hold a shape, 0 if it can.
func refusedCode(p *place.Placer, empty []*cluster.Free, s *place.Shape) fact.Code {
	if sizes := s.Rigid(); sizes != nil {
		s = sizes[len(sizes)-1] // the smallest
	}
	for k, pool := range s.Pools {
		if p.FitsIn(empty[pool], s, k) {
			return 0
		}
	}
	if len(s.Pools) == 0 {
		return p.NoPool(&s.Need)
	}
	return fact.NeverFits
}

// refusedCauses groups the refused jobs by cause, most frequent first.
func (t *study) refusedCauses() []*refusedCause {
	var out []*refusedCause
	byText := map[string]*refusedCause{}
	for _, r := range t.refusals {
		j := &t.workload.Jobs[r.Job]
		what, try := t.refusedText(j, r)
		c := byText[what]
		if c == nil {
			c = &refusedCause{what: what, try: try, first: fmt.Sprintf("job %q", j.ID)}
			byText[what] = c
			out = append(out, c)
		}
		c.count++
		c.most = max(c.most, j.Need.TotalGPUs())
	}
	slices.SortStableFunc(out, func(a, b *refusedCause) int { return b.count - a.count })
	const most = 5
	if len(out) > most {
		out = out[:most]
	}
	for _, c := range out {
		if c.count == 1 {
			verb, rest, _ := strings.Cut(c.what, " ")
			c.what = "1 " + verb + "s " + rest
			if c.most > 1 {
				c.what += fmt.Sprintf(", with %d GPUs", c.most)
			}
			continue
		}
		c.what = fmt.Sprintf("%s %s", grouped(int64(c.count)), c.what)
		if c.most > 1 {
			c.what += fmt.Sprintf(", up to %d GPUs each", c.most)
		}
	}
	return out
}

func (t *study) refusedText(j *workload.Job, r sim.Refusal) (what, try string) {
	switch r.Reason.Code {
	case fact.NoSuchType:
		types := strings.ReplaceAll(j.Need.GPUTypes, "|", " or ")
		return fmt.Sprintf("ask for GPU type %s, the cluster has %s", types, orNone(t.types())), "a cluster file whose nodes say gpu: " + types
	case fact.NoSuchPartition:
		return fmt.Sprintf("ask for partition %s, the cluster has %s", j.Partition, orNone(t.partitions())), "a cluster file whose nodes say partition: " + j.Partition
	case fact.NoSuchLevel:
		return fmt.Sprintf("want to lie within one %s, the cluster names %s", j.Need.Within, orNone(t.cluster.Levels)), "a cluster file with levels: [" + j.Need.Within + "]"
	}
	return "need more than one pool or node of it holds", "a larger --cluster"
}

func (t *study) types() []string {
	var out []string
	for i := range t.cluster.Nodes {
		out = appendNew(out, t.cluster.Nodes[i].GPUType)
	}
	return out
}

func (t *study) partitions() []string {
	var out []string
	for i := range t.cluster.Nodes {
		for _, p := range t.cluster.Nodes[i].Partitions {
			out = appendNew(out, p)
		}
	}
	return out
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// refusedList is what is known of the refused jobs, for scripts.
func (t *study) refusedList() []refusedCount {
	var out []refusedCount
	at := map[string]int{}
	for _, r := range t.refusals {
		j := &t.workload.Jobs[r.Job]
		what, _ := t.refusedText(j, r)
		i, known := at[what]
		if !known {
			i = len(out)
			at[what] = i
			out = append(out, refusedCount{Cause: what, First: j.ID})
		}
		out[i].Count++
	}
	return out
}
