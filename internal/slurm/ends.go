package slurm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// endFields are what is asked of jobs that have ended.
var endFields = []string{"ArrayJobID", "ArrayTaskID", "JobID", "State", "exit_code", "StartTime", "EndTime"}

// Ends looks up jobs that are in the queue no more, in one call however many they are; one more goes to accounting about those that
// slurmctld does not keep any more (MinJobAge). Those of which neither knows how they ended are left out.
func (c *Client) Ends(ctx context.Context, ids []string) (map[string]End, error) {
	ends, err := c.justEnds(ctx, ids)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := ends[id]; return ok })
	if len(missing) == 0 || len(missing) > mostNumbers {
		return ends, nil
	}
	past, err := c.longEnded(ctx, missing)
	if err != nil {
		return ends, nil //nolint:nilerr // as in Ended: what accounting does not tell is not known
	}
	if ends == nil {
		return past, nil
	}
	maps.Copy(ends, past)
	return ends, nil
}

// justEnds asks slurmctld.
func (c *Client) justEnds(ctx context.Context, ids []string) (map[string]End, error) {
	sep := separator()
	args := []string{"-h", "-a", "-t", "all", "--local", "--array-unique", "-O", strings.Join(endFields, ":"+sep+",") + ":" + sep}
	if len(ids) <= mostNumbers {
		args = append(args, "-j", strings.Join(ids, ","))
	}
	out, err := c.Run(ctx, "squeue", args...)
	switch {
	case err != nil && isNoJob(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return parseEnds(string(out), sep)
}

func parseEnds(out, sep string) (map[string]End, error) {
	v := strings.Split(out, sep)
	n := len(endFields)
	if (len(v)-1)%n != 0 {
		return nil, fmt.Errorf("squeue tells %d fields of ends, not %d of each job", len(v)-1, n)
	}
	ends := map[string]End{}
	for ; len(v) > n; v = v[n:] {
		for i := range v[:n] {
			v[i] = null(strings.TrimSpace(v[i]))
		}
		id := v[2]
		if v[1] != "" && v[0] != "" {
			id = v[0] + "_" + v[1]
		}
		e, err := endOf(v[3], v[4], v[5], v[6])
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", id, err)
		}
		ends[id] = e
	}
	return ends, nil
}

// endOf reads how a job ended. Times that are not known are zero.
func endOf(state, exit, start, end string) (e End, err error) {
	status, err := strconv.ParseUint(strings.TrimSpace(exit), 10, 32)
	if err != nil {
		return e, fmt.Errorf("exit code: %w", err)
	}
	e = End{State: strings.TrimSpace(state), Exit: exitOf(uint32(status))}
	for _, t := range []struct {
		text string
		to   *time.Time
	}{{start, &e.Start}, {end, &e.End}} {
		if n, err := strconv.ParseInt(strings.TrimSpace(t.text), 10, 64); err == nil {
			*t.to = time.Unix(n, 0)
		}
	}
	return e, nil
}
