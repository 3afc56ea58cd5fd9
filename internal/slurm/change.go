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
// The ID of an array stands for all of its tasks that wait, those too that were set apart from the others; to change
// only some, name each, or them: "12_1", "12_[3-5]" (see [Job.Address]). The nodes that are asked for (reqnodelist) can be
// changed of one task, or of an array of which no task runs or was set apart: else scontrol refuses all that it is
// told in that call.
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
				if found, all := perJob(e, some); all {
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
		found, all := perJob(e, some)
		if len(found) == 0 && !all {
			return failed, err
		}
		maps.Copy(failed, found)
	}
	return failed, nil
}

// perJob finds which jobs scontrol complains of: "Invalid job id specified for job 12", "12_3: Job has already
// finished". A complaint about tasks of an array is one about it, unless others of its tasks were changed ("12_4-7: No
// error") and these only run already, or have ended. all tells whether it is known of each line whose it is.
func perJob(e *ToolError, ids []string) (found map[string]error, all bool) {
	found, all = map[string]error{}, true
	changed := map[string]bool{}
	for _, line := range e.Lines {
		text, id := line, ""
		if i := strings.LastIndex(line, " for job "); i >= 0 {
			text, id = line[:i], line[i+len(" for job "):]
		} else if head, rest, ok := strings.Cut(line, ": "); ok {
			id, text = head, rest
		}
		whose := known(id, ids)
		err := &ToolError{Tool: e.Tool, Args: e.Args, Exit: e.Exit, Text: text, Lines: []string{line}}
		switch {
		case whose == "":
			all = all && strings.HasPrefix(line, "slurm_suspend error") // says it a second time
		case text == "No error":
			changed[whose] = true
		case found[whose] == nil || whose != id && !past(err):
			found[whose] = err
		}
	}
	for id := range changed {
		if past(found[id]) {
			delete(found, id)
		}
	}
	return found, all
}

// past tells whether a task could not be changed only since it is past that.
func past(err error) bool {
	var e *ToolError
	return errors.Is(err, ErrEnded) || errors.As(err, &e) && strings.Contains(e.Text, "no longer pending")
}

// Address names to scontrol a line of the queue and nothing else: of tasks that wait together "12_[2-4,7]", where
// the array's ID would stand for those too that run, or were set apart.
func (j *Job) Address() string {
	if j.Tasks == nil {
		return j.ID
	}
	var b strings.Builder
	for i := 0; i < len(j.Tasks); {
		n := 1
		for i+n < len(j.Tasks) && j.Tasks[i+n] == j.Tasks[i]+int32(n) { //nolint:gosec // fewer than an array can have
			n++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, j.Tasks[i])
		if n > 1 {
			fmt.Fprint(&b, "-", j.Tasks[i+n-1])
		}
		i += n
	}
	return j.ID + "_[" + b.String() + "]"
}

// known finds the job that was named: by its ID, by tasks of the array among which it is, or by that array's ID.
func known(id string, ids []string) string {
	array, tasks, _ := strings.Cut(id, "_")
	if array == "" {
		return ""
	}
	if slices.Contains(ids, id) {
		return id
	}
	of := ""
	for _, have := range ids {
		list, ok := strings.CutPrefix(have, array+"_[")
		if !ok {
			continue
		}
		theirs, err1 := Tasks(strings.TrimSuffix(list, "]"))
		some, err2 := Tasks(tasks)
		if err1 == nil && err2 == nil && slices.Contains(theirs, some[0]) {
			of = have
		}
	}
	if of == "" && slices.Contains(ids, array) {
		of = array
	}
	return of
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
