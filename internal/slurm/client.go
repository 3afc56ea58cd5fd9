package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Client asks a Slurm cluster, and tells it what to do.
type Client struct{ Runner }

// Comment of one job, as its owner wrote it, and the nodes that it excludes.
func (c *Client) Comment(ctx context.Context, id string) (comment, excluded string, err error) {
	out, err := c.Run(ctx, "squeue", "-h", "-a", "-j", id, "-o", "%x|%k")
	if err != nil {
		return "", "", err
	}
	excluded, comment, _ = strings.Cut(strings.TrimRight(string(out), "\n"), "|")
	if strings.Contains(id, "_") || !strings.Contains(comment, "\n") {
		return null(comment), null(excluded), nil
	}
	// Tasks of an array have a line each; a comment of several lines is its owner's oddity.
	first, _, _ := strings.Cut(comment, "\n")
	return null(first), null(excluded), nil
}

func null(s string) string {
	if s == "(null)" || s == "N/A" {
		return ""
	}
	return s
}

// End is how a job ended.
type End struct {
	State      string
	Start, End time.Time
	// Exit is the exit code, or 128 + the signal that ended it.
	Exit int32
}

// Ended looks up a job that is in the queue no more. slurmctld knows it for a while (MinJobAge), accounting knows it
// after that, where there is some. [ErrNoJob] is for a job of which nobody knows how it ended.
func (c *Client) Ended(ctx context.Context, id string) (End, error) {
	e, err := c.justEnded(ctx, id)
	if !errors.Is(err, ErrNoJob) {
		return e, err
	}
	// That there is no accounting, or that it does not answer, changes nothing: the job is gone, and only how it ended is lost.
	ends, err2 := c.longEnded(ctx, []string{id})
	if e, ok := ends[id]; ok {
		return e, nil
	}
	if err2 != nil {
		err = fmt.Errorf("%w (accounting: %w)", err, err2)
	}
	return End{}, err
}

// justEnded asks slurmctld.
func (c *Client) justEnded(ctx context.Context, id string) (End, error) {
	out, err := c.Run(ctx, "squeue", "-h", "-a", "-t", "all", "-j", id, "-O", "State:|,exit_code:|,StartTime:|,EndTime:|")
	if err != nil {
		return End{}, err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if line == "" {
		return End{}, fmt.Errorf("job %s: %w", id, ErrNoJob)
	}
	v := strings.Split(line, "|")
	if len(v) != 5 {
		return End{}, fmt.Errorf("job %s: %q is no state, exit code and times", id, line)
	}
	e, err := endOf(v[0], v[1], v[2], v[3])
	if err != nil {
		return End{}, fmt.Errorf("job %s: %w", id, err)
	}
	return e, nil
}

// exitOf reads the status of wait(2), as Slurm keeps it.
func exitOf(status uint32) int32 {
	if sig := status & 0x7f; sig != 0 {
		return 128 + int32(sig)
	}
	return int32(status >> 8 & 0xff)
}

// Update changes a job, or all waiting tasks of an array. scontrol takes no list of jobs here.
func (c *Client) Update(ctx context.Context, id string, changes ...string) error {
	_, err := c.Run(ctx, "scontrol", append([]string{"update", "jobid=" + id}, changes...)...)
	return err
}

// Requeue ends a run and queues the job anew; one that has ended is queued anew as well.
func (c *Client) Requeue(ctx context.Context, id string) error {
	_, err := c.Run(ctx, "scontrol", "requeue", id)
	return err
}

// Signal sends a signal to all processes of a job, its script included.
func (c *Client) Signal(ctx context.Context, id, signal string) error {
	_, err := c.Run(ctx, "scancel", "--full", "--signal="+signal, id)
	return err
}

// Cancel ends a job.
func (c *Client) Cancel(ctx context.Context, id string) error {
	_, err := c.Run(ctx, "scancel", id)
	return err
}

// Submit submits a script of one line and returns the job's ID.
func (c *Client) Submit(ctx context.Context, script string, args ...string) (string, error) {
	out, err := c.Run(ctx, "sbatch", append(append([]string{"--parsable"}, args...), "--wrap="+script)...)
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(out)), ";")
	if _, err := strconv.ParseInt(id, 10, 64); err != nil {
		return "", fmt.Errorf("sbatch answered %q, not an ID", id)
	}
	return id, nil
}
