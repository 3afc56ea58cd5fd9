package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// longEnded asks accounting about jobs that slurmctld does not know any more. Those of which it does not know either how
// they ended are left out: it may have a job as running that slurmctld lost.
func (c *Client) longEnded(ctx context.Context, ids []string) (map[string]End, error) {
	out, err := c.Run(ctx, "sacct", "-n", "-P", "-X", "-j", strings.Join(ids, ","), "-S", "1970-01-02", "-o", "JobID,State,ExitCode,Start,End")
	if err != nil {
		return nil, err
	}
	ends := map[string]End{}
	for line := range strings.Lines(string(out)) {
		v := strings.Split(strings.TrimSpace(line), "|")
		if len(v) != 5 {
			return nil, fmt.Errorf("sacct tells %q, not a job, its state, exit code and times", line)
		}
		var e End
		e.State, _, _ = strings.Cut(v[1], " ") // "CANCELLED by 1000"
		code, sig, _ := strings.Cut(v[2], ":")
		n, err1 := strconv.ParseInt(code, 10, 32)
		s, err2 := strconv.ParseInt(sig, 10, 8)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("job %s: sacct tells %q, not an exit code and a signal", v[0], v[2])
		}
		if e.Exit = int32(n); s > 0 {
			e.Exit = 128 + int32(s)
		}
		for i, t := range []*time.Time{&e.Start, &e.End} {
			if n, err := strconv.ParseInt(v[3+i], 10, 64); err == nil {
				*t = time.Unix(n, 0)
			}
		}
		if !e.End.IsZero() {
			ends[v[0]] = e
		}
	}
	return ends, nil
}
