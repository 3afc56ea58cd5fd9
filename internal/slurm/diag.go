package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Diag is how busy slurmctld is. Counts are since Since.
type Diag struct {
	At, Since                     time.Time
	ServerThreads, AgentQueue     int64
	DBDQueue                      int64
	Submitted, Started, Completed int64
	Canceled, Failed              int64
	Pending, Running              int64
	Main, Backfill                Cycle
	// Backfilled jobs since slurmctld began.
	Backfilled int64
	// Calls by what was asked ("REQUEST_JOB_INFO"), and by user.
	Calls, Users map[string]Calls
}

// Cycle is how long one of the two schedulers takes to look at the queue.
type Cycle struct {
	Last, Max, Mean time.Duration
	// Count of cycles, jobs looked at in one on average, and how long the queue was at the last.
	Count, Depth, Queue int64
}

// Calls is how often something was asked of slurmctld, and how long it took on average and in all.
type Calls struct {
	Count     int64
	Mean, All time.Duration
}

// Diag reads slurmctld's statistics.
func (c *Client) Diag(ctx context.Context) (*Diag, error) {
	out, err := c.Run(ctx, "sdiag")
	if err != nil {
		return nil, err
	}
	return parseDiag(string(out))
}

func parseDiag(text string) (*Diag, error) {
	d := &Diag{Calls: map[string]Calls{}, Users: map[string]Calls{}}
	var cycle *Cycle
	var calls map[string]Calls
	plain := map[string]*int64{"Server thread count": &d.ServerThreads, "Agent queue size": &d.AgentQueue, "DBD Agent queue size": &d.DBDQueue,
		"Jobs submitted": &d.Submitted, "Jobs started": &d.Started, "Jobs completed": &d.Completed, "Jobs canceled": &d.Canceled, "Jobs failed": &d.Failed,
		"Jobs pending": &d.Pending, "Jobs running": &d.Running, "Total backfilled jobs (since last slurm start)": &d.Backfilled}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "sdiag output at"):
			d.At = bracketed(line)
		case strings.HasPrefix(line, "Data since"):
			d.Since = bracketed(line)
		case strings.HasPrefix(line, "Main schedule statistics"):
			cycle = &d.Main
		case strings.HasPrefix(line, "Backfilling stats"):
			cycle = &d.Backfill
		case strings.HasPrefix(line, "Remote Procedure Call statistics by message type"):
			cycle, calls = nil, d.Calls
		case strings.HasPrefix(line, "Remote Procedure Call statistics by user"):
			calls = d.Users
		case strings.HasPrefix(line, "Pending RPC"):
			calls = nil
		case calls != nil:
			if name, c, ok := callsOf(line); ok {
				calls[name] = c
			}
		default:
			k, v, _ := strings.Cut(line, ":")
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			if err != nil || n < 0 {
				continue
			}
			if p := plain[k]; p != nil {
				*p = n
			} else if cycle != nil {
				cycle.set(k, n)
			}
		}
	}
	if d.At.IsZero() {
		return nil, fmt.Errorf("sdiag shows no statistics: %.80q", text)
	}
	return d, nil
}

func (c *Cycle) set(key string, n int64) {
	micro := time.Duration(min(n, 1<<50)) * time.Microsecond
	switch key {
	case "Last cycle":
		c.Last = micro
	case "Max cycle":
		c.Max = micro
	case "Mean cycle":
		c.Mean = micro
	case "Total cycles":
		c.Count = n
	case "Mean depth cycle", "Depth Mean":
		c.Depth = n
	case "Last queue length":
		c.Queue = n
	}
}

// callsOf reads "REQUEST_PING   ( 1008) count:2   ave_time:753    total_time:1506".
func callsOf(line string) (name string, c Calls, ok bool) {
	name, rest, _ := strings.Cut(line, "(")
	_, rest, ok = strings.Cut(rest, ")")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return "", c, false
	}
	for field := range strings.FieldsSeq(rest) {
		k, v, _ := strings.Cut(field, ":")
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return "", c, false
		}
		switch k {
		case "count":
			c.Count = n
		case "ave_time":
			c.Mean = time.Duration(min(n, 1<<50)) * time.Microsecond
		case "total_time":
			c.All = time.Duration(min(n, 1<<50)) * time.Microsecond
		}
	}
	return name, c, true
}

// bracketed reads the seconds in "Mon Nov 30 11:47:11 2026 (1796039231)".
func bracketed(line string) time.Time {
	_, s, _ := strings.Cut(line, "(")
	n, err := strconv.ParseInt(strings.TrimSuffix(s, ")"), 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0)
}
