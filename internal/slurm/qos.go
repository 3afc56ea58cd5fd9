package slurm

import (
	"context"
	"strings"
)

// QOS lists the names of all there are. It takes accounting.
func (c *Client) QOS(ctx context.Context) ([]string, error) {
	out, err := c.Run(ctx, "sacctmgr", "-n", "-P", "show", "qos", "format=Name")
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}
