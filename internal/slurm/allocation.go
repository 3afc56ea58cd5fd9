package slurm

import (
	"context"
	"fmt"
	"strings"

	"github.com/escala-sched/escala/trace"
)

// Allocation tells how many GPUs a job that runs has on each of its nodes. Where Slurm does not
// tell, it is empty.
func (c *Client) Allocation(ctx context.Context, id string) (map[string]int64, error) {
	name, err := c.Run(ctx, "squeue", "-h", "-a", "-j", id, "-o", "%j")
	if err != nil {
		return nil, err
	}
	out, err := c.Run(ctx, "scontrol", "-o", "-d", "show", "job", id)
	if err != nil {
		return nil, err
	}
	return parseAllocation(string(out), strings.TrimSuffix(string(name), "\n"))
}

// parseAllocation reads a line of scontrol. The job's name stands before all that is looked for, and
// may be anything, so it is taken out; comments and paths come behind.
func parseAllocation(line, name string) (map[string]int64, error) {
	_, rest, ok := strings.Cut(line, " JobName="+name+" ")
	if !ok {
		return nil, fmt.Errorf("what scontrol tells of the job does not begin with its name")
	}
	rest, _, _ = strings.Cut(rest, " MinCPUsNode=") // free texts come after this
	gpus := map[string]int64{}
	hosts := []string(nil)
	for field := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "Nodes":
			var err error
			if hosts, err = Hosts(value); err != nil {
				return nil, err
			}
		case "GRES":
			if value == "" || value == "(null)" {
				continue
			}
			g, err := trace.ParseGPUs(value)
			if err != nil {
				return nil, fmt.Errorf("GRES=%s: %w", value, err)
			}
			for _, h := range hosts {
				gpus[h] += g.Count
			}
		}
	}
	return gpus, nil
}
