package slurm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func isNoJob(err error) bool { return errors.Is(err, ErrNoJob) }

// mostAtOnce is how many jobs are changed by one process.
const mostAtOnce = 500

// UpdateEach changes jobs, many in one process, and tells for each that could not be changed why; the others
// were. err is for what concerns all: slurmctld does not answer, a change that Slurm does not know. Then
// it is not known which were changed.
//
// The ID of an array stands for all of its tasks that have not ended, those too that were set apart from the
// others. To change only some, name each: "12_1", "12_3". The nodes of an array with tasks of their own cannot be
// changed by its ID at all.
func (c *Client) UpdateEach(ctx context.Context, ids []string, changes ...string) (failed map[string]error, err error) {
	if single(changes) {
		return c.singly(ctx, ids, changes)
	}
	return c.each(ctx, ids, func(some []string) []string {
		return append([]string{"update", "jobid=" + strings.Join(some, ",")}, changes...)
	})
}

// single tells whether scontrol takes these changes for one job only.
func single(changes []string) bool {
	for _, kv := range changes {
		k, v, _ := strings.Cut(kv, "=")
		switch strings.ToLower(k) {
		case "reqnodelist", "reqnodes", "nodelist", "numnodes":
			return true
		case "timelimit":
			if strings.HasPrefix(v, "+") || strings.HasPrefix(v, "-") {
				return true
			}
		}
	}
	return false
}

// singly changes one job after the other, if it can be by one process that reads commands.
func (c *Client) singly(ctx context.Context, ids, changes []string) (map[string]error, error) {
	failed := map[string]error{}
	feeder, ok := c.Runner.(Feeder)
	for _, kv := range slices.Concat(changes, ids) {
		ok = ok && plain(kv)
	}
	for len(ids) > 0 {
		some := ids[:min(len(ids), mostAtOnce)]
		ids = ids[len(some):]
		if ok {
			commands := make([]string, len(some))
			for i, id := range some {
				commands[i] = "update jobid=" + id + " " + strings.Join(changes, " ")
			}
			err := feeder.Feed(ctx, "scontrol", commands)
			if err == nil {
				continue
			}
			var e *ToolError
			tool := errors.As(err, &e)
			if !tool && !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ErrAway) {
				return failed, err
			}
			if tool {
				if found := perJob(e, some); len(found) == len(e.Lines) {
					maps.Copy(failed, found)
					continue
				}
			}
			// Some complaint names no job: whose it is can be told only by asking again, which changes nothing more.
		}
		for _, id := range some {
			err := c.Update(ctx, id, changes...)
			if errors.Is(err, ErrAway) || ctx.Err() != nil {
				return failed, err
			}
			if err != nil {
				failed[id] = err
			}
		}
	}
	return failed, nil
}

// plain tells whether a word is one, and nothing more, to a tool that reads commands.
func plain(word string) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_=,.:+-?*()[]/@%", r)
	}) < 0
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
		maps.Copy(failed, found)
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
