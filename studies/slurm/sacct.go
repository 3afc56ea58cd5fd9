package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// run is a stretch in which a job had its GPUs, since the day began.
type run struct {
	job      int
	from, to time.Duration
}

// record is a line of sacct.
type record struct {
	job                int
	submit, start, end time.Time
	gpus               int
	state              string
}

// records asks Slurm's accounting for all runs of some jobs. With --duplicates a job that was requeued has one for each.
func (s *site) records(ctx context.Context, ids map[string]int) ([]record, []byte, error) {
	text, err := s.Tools.Run(ctx, "sacct", "-a", "-X", "-n", "-P", "--duplicates", "-S", "now-1days", "-o", "JobIDRaw,Submit,Start,End,AllocTRES,State")
	if err != nil {
		return nil, nil, err
	}
	list, err := parseRecords(text, ids)
	return list, text, err
}

func parseRecords(text []byte, ids map[string]int) (out []record, err error) {
	for line := range strings.Lines(string(text)) {
		v := strings.Split(strings.TrimSpace(line), "|")
		if len(v) != 6 {
			return nil, fmt.Errorf("sacct wrote %q: want 6 fields", line)
		}
		n, ok := ids[v[0]]
		if !ok {
			continue // the lease, say
		}
		r := record{job: n, state: v[5]}
		for i, to := range []*time.Time{&r.submit, &r.start, &r.end} {
			if sec, err := strconv.ParseInt(v[1+i], 10, 64); err == nil {
				*to = time.Unix(sec, 0)
			}
		}
		for t := range strings.SplitSeq(v[4], ",") {
			if g, ok := strings.CutPrefix(t, "gres/gpu="); ok {
				if r.gpus, err = strconv.Atoi(g); err != nil {
					return nil, fmt.Errorf("sacct wrote %q: %w", line, err)
				}
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// runsOf makes runs of records. Those that never had GPUs are none: a job that waits, or was requeued before it began. Records have whole
// seconds, and the next run of a job may begin in the one in which the last ended, or, as Slurm writes it, before: no GPU is
// counted twice, what overlaps is taken off the later one.
func runsOf(records []record, jobs []job, began time.Time) ([]run, error) {
	slices.SortStableFunc(records, func(a, b record) int { return a.start.Compare(b.start) })
	last := make([]time.Duration, len(jobs))
	for i := range last {
		last[i] = -1
	}
	var out []run
	for _, r := range records {
		if r.start.IsZero() || r.gpus == 0 {
			continue
		}
		if r.gpus != jobs[r.job].all() {
			return nil, fmt.Errorf("job %d has %d GPUs in Slurm's accounting, and asked for %d", r.job, r.gpus, jobs[r.job].all())
		}
		if r.end.IsZero() {
			return nil, fmt.Errorf("job %d has no end in Slurm's accounting (%s)", r.job, r.state)
		}
		from := max(r.start.Sub(began), last[r.job])
		to := max(r.end.Sub(began), from)
		last[r.job] = to
		out = append(out, run{r.job, from, to})
	}
	for i := range last {
		if last[i] < 0 {
			return nil, fmt.Errorf("job %d never ran, says Slurm's accounting", i)
		}
	}
	return out, nil
}

// start is a run as the job itself saw it begin.
type start struct {
	job  int
	at   time.Time
	runs int // before this one
}

// starts reads what the jobs wrote.
func (s *site) starts(ids map[string]int) (out []start, err error) {
	data, err := os.ReadFile(filepath.Join(s.work, "starts"))
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var id string
		var runs int
		var micro int64
		if _, err := fmt.Sscan(lines.Text(), &id, &runs, &micro); err != nil {
			return nil, fmt.Errorf("a job wrote %q: %w", lines.Text(), err)
		}
		if n, ok := ids[id]; ok {
			out = append(out, start{n, time.UnixMicro(micro), runs})
		}
	}
	return out, nil
}
