package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

func isNoJob(err error) bool { return errors.Is(err, ErrNoJob) }

// mostAtOnce is how many jobs are changed by one process.
const mostAtOnce = 500

// UpdateEach changes jobs, many in one process, and tells for each that could not be changed why; the others
// were. err is for what concerns all: slurmctld does not answer, a change that Slurm does not know. Then
// it is not known which were changed.
func (c *Client) UpdateEach(ctx context.Context, ids []string, changes ...string) (failed map[string]error, err error) {
	return c.each(ctx, ids, func(some []string) []string {
		return append([]string{"update", "jobid=" + strings.Join(some, ",")}, changes...)
	})
}

// Hold keeps waiting jobs from starting, as their owner would; Release takes that back, and the priority that an
// operator gave as well. Jobs that could not be are told as by [Client.UpdateEach].
func (c *Client) Hold(ctx context.Context, ids ...string) (failed map[string]error, err error) {
	return c.each(ctx, ids, func(some []string) []string { return []string{"uhold", strings.Join(some, ",")} })
}

// Release is the opposite of [Client.Hold].
func (c *Client) Release(ctx context.Context, ids ...string) (failed map[string]error, err error) {
	return c.each(ctx, ids, func(some []string) []string { return []string{"release", strings.Join(some, ",")} })
}

func (c *Client) each(ctx context.Context, ids []string, args func([]string) []string) (map[string]error, error) {
	failed := map[string]error{}
	for len(ids) > 0 {
		some := ids[:min(len(ids), mostAtOnce)]
		ids = ids[len(some):]
		_, err := c.Run(ctx, "scontrol", args(some)...)
		if err == nil {
			continue
		}
		var e *ToolError
		if !errors.As(err, &e) || errors.Is(err, ErrAway) {
			return failed, err
		}
		found := perJob(e, some)
		if len(found) == 0 {
			return failed, err
		}
		for id, err := range found {
			failed[id] = err
		}
	}
	return failed, nil
}

// perJob finds which jobs scontrol complains of: "Invalid job id specified for job 12", "12_3: Job has already
// finished". A complaint about tasks of an array is one about it.
func perJob(e *ToolError, ids []string) map[string]error {
	out := map[string]error{}
	for _, line := range e.Lines {
		text, id := line, ""
		if i := strings.LastIndex(line, " for job "); i >= 0 {
			text, id = line[:i], line[i+len(" for job "):]
		} else if head, rest, ok := strings.Cut(line, ": "); ok {
			id, text = head, rest
		}
		if id = known(id, ids); id != "" && out[id] == nil {
			out[id] = &ToolError{Tool: e.Tool, Args: e.Args, Exit: e.Exit, Text: text, Lines: []string{line}}
		}
	}
	return out
}

// known finds the job that was named, by its ID or by that of its array.
func known(id string, ids []string) string {
	array, _, _ := strings.Cut(id, "_")
	for _, want := range []string{id, array} {
		for _, have := range ids {
			if want != "" && want == have {
				return have
			}
		}
	}
	return ""
}

// Drain takes nodes out of use once what runs there has ended, Resume brings them back. Both need the rights
// of an administrator.
func (c *Client) Drain(ctx context.Context, nodes, reason string) error {
	if reason == "" {
		return fmt.Errorf("draining %s: a reason has to be told", nodes)
	}
	_, err := c.Run(ctx, "scontrol", "update", "nodename="+nodes, "state=drain", "reason="+reason)
	return err
}

// Resume is the opposite of [Client.Drain].
func (c *Client) Resume(ctx context.Context, nodes string) error {
	_, err := c.Run(ctx, "scontrol", "update", "nodename="+nodes, "state=resume")
	return err
}

// CreateReservation reserves nodes by scontrol's own words ("starttime=now", "duration=60", "nodes=n1", "users=ana",
// "flags=maint") and returns its name. It needs the rights of an operator.
func (c *Client) CreateReservation(ctx context.Context, words ...string) (string, error) {
	out, err := c.Run(ctx, "scontrol", append([]string{"create", "reservation"}, words...)...)
	if err != nil {
		return "", err
	}
	_, name, ok := strings.Cut(strings.TrimSpace(string(out)), "Reservation created: ")
	if !ok || name == "" {
		return "", fmt.Errorf("scontrol answered %.80q, not the name of a reservation", out)
	}
	return name, nil
}

// DeleteReservation removes a reservation.
func (c *Client) DeleteReservation(ctx context.Context, name string) error {
	_, err := c.Run(ctx, "scontrol", "delete", "reservation="+name)
	return err
}
