package slurm

import (
	"context"
	"fmt"
	"strings"
)

// AdminComment of a job: what administrators, or programs of theirs, wrote into it.
func (c *Client) AdminComment(ctx context.Context, id string) (string, error) {
	sep := separator()
	out, err := c.Run(ctx, "squeue", "-h", "-a", "-t", "all", "-j", id, "-O", "admin_comment:"+sep)
	if err != nil {
		return "", err
	}
	text, _, ok := strings.Cut(string(out), sep)
	if !ok {
		return "", fmt.Errorf("job %s: %w", id, ErrNoJob)
	}
	return null(text), nil
}
