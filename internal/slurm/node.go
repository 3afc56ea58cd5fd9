package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/trace"
)

// Node is a machine of the cluster.
type Node struct {
	Name string
	// State is the base state (IDLE, MIXED, ALLOCATED, DOWN, ...); Flags are what is added to it (DRAIN, MAINT, ...).
	State string
	Flags []string
	// Reason is what an operator, or Slurm, says about it.
	Reason     string
	Partitions []string
	// Features that it has now.
	Features []string
	CPUs     int
	// Memory in MiB.
	Memory int64
	GPUs   trace.GPUs
	// CPUsUsed, MemoryUsed, in MiB, and GPUsUsed, with their numbers, were given to jobs.
	CPUsUsed   int
	MemoryUsed int64
	GPUsUsed   trace.GPUs
}

// Down tells whether nothing runs there.
func (n *Node) Down() bool {
	switch n.State {
	case "DOWN", "ERROR", "UNKNOWN", "FUTURE":
		return true
	}
	return n.has("POWERED_DOWN") || n.has("POWERING_DOWN") || n.has("INVALID_REG")
}

// Silent tells whether it does not answer, while Slurm still hopes that it will.
func (n *Node) Silent() bool { return !n.Down() && n.has("NOT_RESPONDING") }

// Closed tells whether it takes nothing new.
func (n *Node) Closed() bool {
	return n.Silent() || n.has("DRAIN") || n.has("FAIL") || n.has("MAINTENANCE") || n.has("REBOOT_REQUESTED") || n.has("REBOOT_ISSUED")
}

func (n *Node) has(flag string) bool {
	for _, f := range n.Flags {
		if f == flag {
			return true
		}
	}
	return false
}

// Nodes reads all nodes.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	out, err := c.Run(ctx, "scontrol", "-a", "-o", "-d", "show", "node")
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		n, err := parseNode(strings.TrimRight(line, "\n"))
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// parseNode reads a line of scontrol. Free texts (Comment, Extra, Reason) stand at its end, so the first of
// each key is the true one.
func parseNode(line string) (n Node, err error) {
	v := pairs(line)
	if n.Name = v["NodeName"]; n.Name == "" {
		return n, fmt.Errorf("a line about nodes names none: %.80q", line)
	}
	n.State, n.Flags = nodeState(v["State"])
	if n.CPUs, err = strconv.Atoi(first(v, "CPUEfctv", "CPUTot")); err != nil {
		return n, fmt.Errorf("node %s: CPUs: %w", n.Name, err)
	}
	if n.Memory, err = strconv.ParseInt(v["RealMemory"], 10, 64); err != nil {
		return n, fmt.Errorf("node %s: RealMemory: %w", n.Name, err)
	}
	if p := null(v["Partitions"]); p != "" {
		n.Partitions = strings.Split(p, ",")
	}
	n.Features = some(v["ActiveFeatures"])
	n.CPUsUsed, _ = strconv.Atoi(v["CPUAlloc"])
	n.MemoryUsed, _ = strconv.ParseInt(v["AllocMem"], 10, 64)
	if g := null(v["Gres"]); g != "" {
		if n.GPUs, err = trace.ParseGPUs(g); err != nil {
			return n, fmt.Errorf("node %s: Gres=%s: %w", n.Name, g, err)
		}
		n.GPUsUsed = gpusUsed(v["GresUsed"])
	}
	if _, reason, ok := strings.Cut(line, " Reason="); ok {
		if i := strings.LastIndex(reason, " ["); i >= 0 {
			reason = reason[:i] // who, and when
		}
		n.Reason = strings.TrimSpace(reason)
	}
	return n, nil
}

// gpusUsed reads "gpu:a100:2(IDX:0-1)" and "gpu:a100:0(IDX:N/A)". It is only for show: what cannot be read is none.
func gpusUsed(s string) trace.GPUs {
	g, err := trace.ParseGPUs(null(s))
	if err != nil || g.Count == 0 {
		return trace.GPUs{}
	}
	return g
}

// nodeState reads "IDLE+DRAIN", "DOWN*", "MIXED+MAINT".
func nodeState(s string) (base string, flags []string) {
	list := strings.Split(s, "+")
	base = list[0]
	if b := strings.TrimRight(base, "*~#!%$@^-"); b != base {
		if strings.Contains(base, "*") {
			flags = append(flags, "NOT_RESPONDING")
		}
		base = b
	}
	for _, f := range list[1:] {
		f = strings.TrimRight(f, "*~#!%$@^-")
		switch f {
		case "MAINT":
			f = "MAINTENANCE"
		case "DRAINING", "DRAINED":
			f = "DRAIN"
		}
		flags = append(flags, f)
	}
	return base, flags
}

// pairs cuts "A=b C=d" into the first value of each key.
func pairs(line string) map[string]string {
	out := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		if k, v, ok := strings.Cut(field, "="); ok {
			if _, dup := out[k]; !dup {
				out[k] = v
			}
		}
	}
	return out
}

func first(v map[string]string, keys ...string) string {
	for _, k := range keys {
		if v[k] != "" {
			return v[k]
		}
	}
	return ""
}
