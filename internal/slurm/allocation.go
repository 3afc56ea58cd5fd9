package slurm

import (
	"context"
	"fmt"
	"maps"
	"strconv"
)

// Allocation tells how many GPUs a job that runs has on each of its nodes. Where Slurm does not
// tell, it is empty.
func (c *Client) Allocation(ctx context.Context, id string) (map[string]int64, error) {
	by, err := c.claims(ctx, "-j", id)
	if err != nil {
		return nil, err
	}
	if number, err := strconv.ParseInt(id, 10, 64); err == nil {
		// The ID of a heterogeneous job stands for all its parts, the first of which has that number.
		maps.DeleteFunc(by, func(n int64, _ claims) bool { return n != number })
	}
	if len(by) != 1 {
		return nil, fmt.Errorf("%s stands for %d jobs", id, len(by))
	}
	gpus := map[string]int64{}
	for number, its := range by {
		body, err := c.record(ctx, number, its)
		if err != nil {
			return nil, err
		}
		on, err := gpusOn(body)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", id, err)
		}
		for host, g := range on {
			gpus[host] = g.Count
		}
	}
	return gpus, nil
}
