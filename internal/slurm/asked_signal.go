package slurm

import (
	"context"
	"fmt"
	"strings"
)

// Slurm shows nobody which signal a job asked for. It stands in the script, which slurmctld gives to its owner and to
// operators, or on the command line, which only accounting keeps.

// SignalInScript is the signal that a job's script asks for, the zero one where it asks for none. [ErrNoJob] is for a job
// that is not known, or has no script, or one that the caller may not read: scontrol ends with code 0 in all of these cases,
// and writes nothing.
func (c *Client) SignalInScript(ctx context.Context, id string) (Signal, error) {
	out, err := c.Run(ctx, "scontrol", "write", "batch_script", id, "-")
	if err != nil {
		return Signal{}, err
	}
	if len(out) == 0 {
		return Signal{}, fmt.Errorf("the script of job %s: %w", id, ErrNoJob)
	}
	return signalOfScript(string(out)), nil
}

// SignalOnLine is the signal that the command line asks for by which a job was submitted, the zero one where it asks for
// none, or accounting does not know that line: it learns it some seconds after the submission. command is the job's script,
// "" = it is not known.
func (c *Client) SignalOnLine(ctx context.Context, id, command string) (Signal, error) {
	out, err := c.Run(ctx, "sacct", "-n", "-P", "-X", "-j", id, "-o", "SubmitLine")
	if err != nil {
		return Signal{}, err
	}
	return signalOfLine(strings.TrimSpace(string(out)), command), nil
}

// Ask has a job told by a signal that its end is near, just as slurmctld does before its time limit: the shell of its script,
// or all steps without that shell.
func (c *Client) Ask(ctx context.Context, id string, s Signal) error {
	args := []string{"--signal=" + s.Name, id}
	if s.Batch {
		args = append([]string{"--batch"}, args...)
	}
	_, err := c.Run(ctx, "scancel", args...)
	return err
}
