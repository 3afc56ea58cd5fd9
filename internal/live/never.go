package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// Never is a job that could not run on the empty cluster: it is not taken.
type Never struct {
	Reason fact.Reason
	// Msg says what was asked for, and what there is.
	Msg string
}

func (e *Never) Error() string { return "it can never run here: " + e.Msg }

// roomy is what a question about a need turns on.
type roomy struct {
	need      workload.Need
	partition string
}

// mostRoomy bounds the needs that are known to fit.
const mostRoomy = 4096

// never refuses a job that the engine would set aside for good. In shadow it is taken all the same:
// the other scheduler has it, whatever is known of its cluster here.
func (t *tx) never(j *workload.Job) error {
	d := t.d
	if d.cfg.Shadow {
		return nil
	}
	k := roomy{j.Need, j.Partition}
	spare := d.header.Policy.Preemption.Spare != nil // there its labels count, too
	if d.roomy[k] && !spare {
		return nil
	}
	why, never := d.engine.Never(j)
	if !never {
		if d.roomy == nil || len(d.roomy) >= mostRoomy {
			d.roomy = map[roomy]bool{}
		}
		d.roomy[k] = true
		return nil
	}
	return &Never{Reason: why, Msg: neverText(d.header.Cluster, j, why, d.names())}
}

// neverText says what a job asks for that the cluster does not have.
func neverText(c *cluster.Spec, j *workload.Job, why fact.Reason, names report.Namer) string {
	n := &j.Need
	switch why.Code {
	case fact.NoSuchType:
		return fmt.Sprintf("it asks for GPUs of type %s, and the cluster has %s", strings.ReplaceAll(n.GPUTypes, "|", " or "), typesText(c))
	case fact.NoSuchPartition:
		return fmt.Sprintf("it asks for partition %s, and %s", j.Partition, known(j.Partition, partitionsOf(c), "partition"))
	case fact.NoSuchLevel:
		return fmt.Sprintf("it has to lie in one %s, and %s", n.Within, known(n.Within, c.Levels, "level of topology"))
	case fact.NeverFits:
	default:
		return report.Sentence(why, names)
	}
	if text := namedText(c, n); text != "" {
		return text
	}
	return "it asks for " + askedText(n) + ", and " + nodesText(c, j)
}

// askedText is what a job asks for at least.
func askedText(n *workload.Need) string {
	if n.MaxTasks > 0 {
		least := *n
		least.Tasks, least.MinTasks, least.MaxTasks = max(n.MinTasks, 1), 0, 0
		return "at least " + least.String()
	}
	return n.String()
}

// known lists what there is of a kind.
func known(word string, list []string, what string) string {
	switch len(list) {
	case 0:
		return "the cluster has no " + what
	case 1:
		return "the only " + what + " is " + list[0]
	}
	text := "there are " + strings.Join(list, ", ")
	if near := yamlx.Nearest(word, list); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// namedText says which of the nodes that a job names are none.
func namedText(c *cluster.Spec, n *workload.Need) string {
	if n.Nodes == "" {
		return ""
	}
	var all []string
	for i := range c.Nodes {
		all = append(all, c.Nodes[i].Name)
	}
	named := strings.Split(n.Nodes, "|")
	for _, name := range named {
		if slices.Contains(all, name) {
			continue
		}
		text := "it names node " + name + ", which is none of the cluster's"
		if near := yamlx.Nearest(name, all); near != "" {
			text += "; did you mean " + near + "?"
		}
		return text
	}
	return ""
}

func partitionsOf(c *cluster.Spec) []string {
	var out []string
	for i := range c.Nodes {
		out = append(out, c.Nodes[i].Partitions...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// typesText counts GPUs by type.
func typesText(c *cluster.Spec) string {
	counts := map[string]int64{}
	var order []string
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.GPUs == 0 {
			continue
		}
		if counts[n.GPUType] == 0 {
			order = append(order, n.GPUType)
		}
		counts[n.GPUType] += int64(n.GPUs)
	}
	for i, t := range order {
		order[i] = fmt.Sprintf("%d of type %s", counts[t], t)
	}
	if len(order) == 0 {
		return "no GPUs"
	}
	return strings.Join(order, ", ")
}

// nodesText lists the nodes that may serve a job, by kind.
func nodesText(c *cluster.Spec, j *workload.Job) string {
	if len(c.Nodes) == 0 {
		return "the cluster has " + many(int(c.Count), "GPU")
	}
	n := &j.Need
	type kind struct {
		gpus        int32
		gpuType     string
		cpu, memory int64
	}
	counts := map[kind]int{}
	var order []kind
	all := true
	for i := range c.Nodes {
		x := &c.Nodes[i]
		if n.GPUs > 0 && (x.GPUs == 0 || !n.AllowsType(x.GPUType)) || !n.AllowsNode(x.Name) ||
			j.Partition != "" && len(x.Partitions) > 0 && !slices.Contains(x.Partitions, j.Partition) {
			all = all && x.GPUs == 0
			continue
		}
		k := kind{gpus: x.GPUs, gpuType: x.GPUType}
		if n.CPU > 0 {
			k.cpu = x.CPU
		}
		if n.Memory > 0 {
			k.memory = x.Memory
		}
		if counts[k]++; counts[k] == 1 {
			order = append(order, k)
		}
	}
	var parts []string
	for _, k := range order {
		text := many(counts[k], "node") + " of " + many(int(k.gpus), "GPU")
		if k.gpuType != "" {
			text += " " + k.gpuType
		}
		if k.cpu > 0 {
			text += fmt.Sprintf(", %g cores", float64(k.cpu)/1000)
		}
		if k.memory > 0 {
			text += fmt.Sprintf(", %d MiB", k.memory)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "no node of the cluster may serve that"
	}
	return pick(all, "the cluster has ", "what may serve it are ") + strings.Join(parts, "; ")
}

func pick(ok bool, a, b string) string {
	if ok {
		return a
	}
	return b
}
