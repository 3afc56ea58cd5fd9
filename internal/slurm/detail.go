package slurm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/trace"
)

// Detail is what the queue alone does not tell of a job: [Client.Jobs] and JSON do.
type Detail struct {
	Texts
	AdminComment string
	// Deadline by which it has to have ended, zero = none; MinLimit is what its time limit may be cut to in order to
	// start it earlier, 0 = it may not.
	Deadline time.Time
	MinLimit time.Duration
	// HetOffset is which part of a heterogeneous job it is.
	HetOffset int
	// MaxNodes that it can use, NumNodes where that is not told. Of a job that waits, NumNodes is the least that it
	// takes, or what slurmctld would have given it when it looked last: no tool tells the two apart.
	MaxNodes int
	// MemoryPerNode or MemoryPerCPU that it asks for, in MiB; 0 = not asked for.
	MemoryPerNode, MemoryPerCPU int64
	// Allocated is what it has, as TRES ("cpu=4,gres/gpu=2,node=1"); "" while it waits.
	Allocated string
	// GPUsOn has the GPUs that it has on each node, where Slurm tells.
	GPUsOn map[string]trace.GPUs
	// Exit is the exit code, or 128 + the signal that ended it.
	Exit int32
}

// Jobs reads all that there is to know of the jobs of the queue, in four calls. For what is looked at every few
// seconds take [Client.Queue]. What came or went between the calls lacks its details.
func (c *Client) Jobs(ctx context.Context) (jobs []Job, odd []error, err error) {
	jobs, odd, err = c.Queue(ctx)
	if err != nil {
		return nil, nil, err
	}
	texts, err := c.Texts(ctx)
	if err != nil {
		return nil, nil, err
	}
	claims, err := c.claims(ctx)
	if err != nil {
		return nil, nil, err
	}
	out, err := c.Run(ctx, "scontrol", "-a", "-o", "-d", "show", "job")
	if err != nil {
		return nil, nil, err
	}
	records := cutRecords(string(out), claims)
	for i := range jobs {
		j := &jobs[i]
		j.Texts, j.AdminComment, j.MaxNodes = texts[j.Number], null(claims[j.Number].admin), j.NumNodes
		body, ok := records[j.Number]
		if !ok {
			continue
		}
		if body == "" { // two claim to be it
			if body, err = c.record(ctx, j.Number, claims[j.Number]); err != nil {
				if !errors.Is(err, ErrNoJob) {
					odd = append(odd, err)
				}
				continue
			}
		}
		if err := j.read(body); err != nil {
			odd = append(odd, fmt.Errorf("job %s: %w", j.ID, err))
		}
	}
	return jobs, odd, nil
}

// record reads one job: what comes first is the true one.
func (c *Client) record(ctx context.Context, number int64, by claims) (string, error) {
	out, err := c.Run(ctx, "scontrol", "-o", "-d", "show", "job", strconv.FormatInt(number, 10))
	if err != nil {
		return "", err
	}
	body, ok := bodyOf(string(out), by)
	if !ok {
		return "", fmt.Errorf("what scontrol tells of job %d is not what squeue does", number)
	}
	return body, nil
}

// claims are texts that scontrol shows in the middle of what it knows itself, all but the last written by the owner.
type claims struct{ name, mcs, account, wckey, from, admin string }

// claims reads them of all jobs, or of those that are named for squeue.
func (c *Client) claims(ctx context.Context, which ...string) (map[int64]claims, error) {
	sep := separator()
	names := []string{"JobID", "Name", "mcslabel", "Account", "wckey", "AllocNodes", "admin_comment"}
	out, err := c.Run(ctx, "squeue", append([]string{"-h", "-a", "--array-unique", "-O", strings.Join(names, ":"+sep+",") + ":" + sep}, which...)...)
	if err != nil {
		return nil, err
	}
	v := strings.Split(string(out), sep)
	by := map[int64]claims{}
	for ; len(v) > len(names); v = v[len(names):] {
		n, err := strconv.ParseInt(strings.TrimPrefix(v[0], "\n"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("squeue names a job %.40q", v[0])
		}
		by[n] = claims{name: v[1], mcs: v[2], account: v[3], wckey: v[4], from: v[5], admin: v[6]}
	}
	return by, nil
}

// cutRecords finds the records of jobs in what scontrol tells of all. Names and comments may hold what looks
// like a record, so one counts only with the texts that the job really has; "" for a job that has several.
func cutRecords(text string, by map[int64]claims) map[int64]string {
	const begin = "JobId="
	out := map[int64]string{}
	for at := 0; at < len(text); {
		line := text[at:]
		if strings.HasPrefix(line, begin) {
			digits, _, _ := strings.Cut(line[len(begin):], " ")
			n, err := strconv.ParseInt(digits, 10, 64)
			if c, known := by[n]; err == nil && known {
				if body, ok := bodyOf(line, c); ok {
					if _, twice := out[n]; twice {
						body = ""
					}
					out[n] = body
				}
			}
		}
		next := strings.IndexByte(line, '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return out
}

// bodyOf is the part of a record that its owner cannot write. It ends where that begins to be mixed with what they can;
// before that their texts are taken out. ok is false where these are not there: then it is another's record.
func bodyOf(record string, by claims) (body string, ok bool) {
	line, _, _ := strings.Cut(record, "\n")
	head, _, ok := strings.Cut(line, " JobName=")
	if !ok {
		return "", false
	}
	rest, ok := strings.CutPrefix(record[len(head)+len(" JobName="):], by.name+" ")
	if !ok {
		return "", false
	}
	out := []string{head}
	for _, x := range []struct{ key, value, behind string }{{"MCS_label=", by.mcs, " "}, {"Account=", by.account, " "}, {"WCKey=", by.wckey, " "}, {"AllocNode:Sid=", by.from, ":"}} {
		before, after, found := strings.Cut(rest, x.key)
		if !found || strings.Contains(before, " Features=") {
			continue // this Slurm does not show it
		}
		if rest, ok = strings.CutPrefix(after, x.value+x.behind); !ok && null(x.value) == "" {
			rest, ok = strings.CutPrefix(after, "N/A"+x.behind) // what is not set has several spellings
		}
		if !ok {
			return "", false
		}
		out = append(out, before)
	}
	for _, key := range []string{" Features=", " Network=", " Command=", " WorkDir=", " Comment="} {
		if before, _, found := strings.Cut(rest, key); found {
			return strings.Join(append(out, before), " "), true
		}
	}
	return "", false
}

// read takes what a record tells.
func (j *Job) read(body string) (err error) {
	v := pairs(body)
	j.HetOffset, _ = strconv.Atoi(v["HetJobOffset"])
	_, most, _ := strings.Cut(v["NumNodes"], "-")
	if n, err := strconv.Atoi(most); err == nil {
		j.MaxNodes = max(n, j.NumNodes)
	}
	if j.MemoryPerNode, err = mebibytes(v["MinMemoryNode"]); err != nil {
		return err
	}
	if j.MemoryPerCPU, err = mebibytes(v["MinMemoryCPU"]); err != nil {
		return err
	}
	if len(j.Nodes) > 0 {
		j.Allocated = null(first(v, "AllocTRES", "TRES"))
	}
	r := reader{fields: []string{unset(v["Deadline"]), unset(v["TimeMin"])}}
	if j.Deadline, j.MinLimit = r.time(), r.limit(); r.err != nil {
		return r.err
	}
	code, sig, _ := strings.Cut(v["ExitCode"], ":")
	if n, err := strconv.ParseInt(code, 10, 32); err == nil {
		j.Exit = int32(n)
	}
	if n, err := strconv.ParseInt(sig, 10, 16); err == nil && n > 0 {
		j.Exit = 128 + int32(n)
	}
	j.GPUsOn, err = gpusOn(body)
	return err
}

// unset reads the ways in which scontrol says that there is none.
func unset(s string) string {
	switch s {
	case "N/A", "Unknown", "None", "(null)":
		return ""
	}
	return s
}

// gpusOn reads the lines "Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:a100:2(IDX:0-1)".
func gpusOn(body string) (map[string]trace.GPUs, error) {
	var out map[string]trace.GPUs
	var hosts []string
	for field := range strings.FieldsSeq(body) {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "Nodes":
			var err error
			if hosts, err = Hosts(value); err != nil {
				return nil, err
			}
		case "GRES":
			g, err := trace.ParseGPUs(value)
			if errors.Is(err, trace.ErrNotTold) || err == nil && g.Count == 0 {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("GRES=%s: %w", value, err)
			}
			if out == nil {
				out = map[string]trace.GPUs{}
			}
			for _, h := range hosts {
				out[h] = g
			}
		}
	}
	return out, nil
}

// mebibytes reads "3G", "100M", "0", "512000": MiB where no unit is told.
func mebibytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	digits := strings.TrimRight(s, "KMGTP")
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f < 0 || f > 1e12 {
		return 0, fmt.Errorf("%q is no amount of memory", s)
	}
	switch s[len(digits):] {
	case "K":
		f /= 1 << 10
	case "", "M":
	case "G":
		f *= 1 << 10
	case "T":
		f *= 1 << 20
	case "P":
		f *= 1 << 30
	default:
		return 0, fmt.Errorf("%q is no amount of memory", s)
	}
	return int64(f), nil
}
