package workload

import (
	"fmt"
	"strings"
)

// Need is what a job needs at once: a gang that starts whole or not at all. It
// is comparable, and jobs with equal needs form one class: what refuses one
// refuses all (SEMANTICS 12).
type Need struct {
	// Tasks is the size of the gang. 0 means that GPUs is a total which the
	// scheduler cuts over nodes (see the rule in docs/semantics.md).
	Tasks int32
	// GPUs is the number of GPUs per task, or the total where Tasks is 0.
	GPUs int32
	// Milli is the part of each GPU that is used, in thousandths: 1..1000.
	// 0 means 1000, a whole GPU. Parts need GPUs == 1.
	Milli int32
	// MinTasks and MaxTasks make the gang moldable: it starts with the largest
	// number of tasks in the range that fits. Both 0 = rigid.
	MinTasks, MaxTasks int32
	// PerNode is how many of the tasks one node takes at most, 0 = as many as it holds.
	// 1 puts each on a node of its own.
	PerNode int32
	// CPU (milli-cores) and Memory (MiB) are per task, or for the whole job where Tasks is 0.
	CPU, Memory int64
	// GPUTypes are the GPU types allowed, joined by '|'; "" = any.
	GPUTypes string
	// Within names a level of the cluster's topology ("rack", "block"): all tasks
	// must lie in one place of that level. "" = anywhere.
	Within string
	// Nodes restricts the job to the named nodes, joined by '|'; "" = any.
	Nodes string
	// Span lets a total (Tasks 0) be cut over nodes in any way, even where it fits one.
	Span bool
}

// MilliPerGPU is the part of each GPU used, in thousandths, 1000 for a whole one.
func (n *Need) MilliPerGPU() int32 {
	if n.Milli == 0 {
		return 1000
	}
	return n.Milli
}

// Fractional tells whether the need is for a part of one GPU.
func (n *Need) Fractional() bool { return n.Milli != 0 && n.Milli != 1000 }

// TotalGPUs is the number of GPUs (whole devices touched) of the rigid gang.
func (n *Need) TotalGPUs() int32 {
	if n.Tasks > 0 {
		return n.Tasks * n.GPUs
	}
	return n.GPUs
}

// TotalMilli is the GPU capacity the rigid gang occupies, in milli-GPU.
func (n *Need) TotalMilli() int64 { return int64(n.TotalGPUs()) * int64(n.MilliPerGPU()) }

// AllowsType tells whether the GPU type t may serve the need. Nodes whose type
// the cluster does not name ("") serve any.
func (n *Need) AllowsType(t string) bool {
	return n.GPUTypes == "" || t == "" || inList(n.GPUTypes, t)
}

// AllowsNode tells whether the node of that name may serve the need.
func (n *Need) AllowsNode(name string) bool { return n.Nodes == "" || inList(n.Nodes, name) }

func inList(list, want string) bool {
	for list != "" {
		item, rest, _ := strings.Cut(list, "|")
		if item == want {
			return true
		}
		list = rest
	}
	return false
}

// Check returns what is wrong with the need in itself, nil if nothing.
func (n *Need) Check() error {
	switch {
	case n.GPUs < 0 || n.Tasks < 0 || n.CPU < 0 || n.Memory < 0 || n.Milli < 0 || n.PerNode < 0:
		return fmt.Errorf("negative amount in %s; every amount must be 0 or more", n)
	case n.Milli > 1000:
		return fmt.Errorf("milli %d is more than a whole GPU; want 1..1000", n.Milli)
	case n.Fractional() && n.GPUs != 1:
		return fmt.Errorf("a part of a GPU (milli %d) needs gpus 1, not %d", n.Milli, n.GPUs)
	case n.GPUs == 0 && n.CPU == 0 && n.Memory == 0:
		return fmt.Errorf("asks for nothing; want gpus, cpu or memory above 0")
	case (n.MinTasks != 0 || n.MaxTasks != 0) && (n.MinTasks < 1 || n.MaxTasks < n.MinTasks):
		return fmt.Errorf("elastic range %d..%d; want 1 <= min <= max", n.MinTasks, n.MaxTasks)
	case n.MaxTasks != 0 && n.Tasks == 0:
		return fmt.Errorf("an elastic job needs tasks (the size its duration was measured at)")
	case n.PerNode != 0 && n.Tasks == 0:
		return fmt.Errorf("at most %d tasks per node, but no tasks; want tasks", n.PerNode)
	case n.Span && n.Tasks != 0:
		return fmt.Errorf("span is for a total that is cut over nodes; it excludes tasks")
	}
	return nil
}

// String renders the need as people say it: "2 x 8 GPUs H100 in one rack".
func (n *Need) String() string {
	var b strings.Builder
	if n.Tasks > 0 {
		fmt.Fprintf(&b, "%d x ", n.Tasks)
	}
	switch {
	case n.Fractional():
		fmt.Fprintf(&b, "%d.%03d GPU", n.Milli/1000, n.Milli%1000)
	case n.GPUs == 1:
		b.WriteString("1 GPU")
	case n.GPUs > 0 || n.CPU == 0:
		fmt.Fprintf(&b, "%d GPUs", n.GPUs)
	}
	if n.GPUTypes != "" {
		b.WriteString(" " + strings.ReplaceAll(n.GPUTypes, "|", "/"))
	}
	if n.CPU > 0 {
		if n.GPUs > 0 {
			b.WriteString(" + ")
		}
		fmt.Fprintf(&b, "%g cores", float64(n.CPU)/1000)
	}
	if n.Memory > 0 {
		fmt.Fprintf(&b, " + %d MiB", n.Memory)
	}
	switch {
	case n.PerNode == 1 && (n.Tasks > 1 || n.MaxTasks > 1):
		b.WriteString(", each on a node of its own")
	case n.PerNode > 0 && n.Tasks > n.PerNode:
		fmt.Fprintf(&b, ", at most %d on one node", n.PerNode)
	}
	if n.Within != "" {
		b.WriteString(" in one " + n.Within)
	}
	return b.String()
}
