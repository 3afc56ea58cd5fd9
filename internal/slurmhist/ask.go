package slurmhist

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/trace"
)

// Ask asks Slurm by its own tools. None of the calls changes anything.
type Ask struct {
	// Now is the time up to which is asked.
	Now time.Time
	// Progress, if set, is told the day that is asked for, of how many.
	Progress func(day, days int)
}

// NoTool says that a tool of Slurm's is not there.
type NoTool struct{ Name string }

func (e *NoTool) Error() string { return e.Name + " is not on this machine" }

// separator of fields: no comment holds it.
const separator = "\x1f"

// columns are those asked for, where this sacct has them. The comment is not the last: it may hold
// line breaks, and a record ends with its last column.
var columns = []string{"JobID", "Cluster", "User", "Account", "Partition", "QOS", "Priority", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "State", "NNodes", "NCPUS", "ReqMem",
	"ReqTRES", "AllocTRES", "TimelimitRaw", "NodeList", "Reservation", "Licenses", "Constraints", "Comment", "JobIDRaw"}

// command is a tool with the clock in UTC and times as they are read here.
func command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, &NoTool{name}
	}
	c := exec.CommandContext(ctx, path, args...) //nolint:gosec // Slurm's tools, by arguments of our own
	c.Env = append(os.Environ(), "TZ=UTC", "SLURM_TIME_FORMAT=standard", "LC_ALL=C")
	c.WaitDelay = 5 * time.Second
	return c, nil
}

// said is an error of a tool, with what it said.
func said(ctx context.Context, c *exec.Cmd, err error, stderr *bytes.Buffer) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text := strings.Join(strings.Fields(stderr.String()), " ")
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	if text == "" {
		text = err.Error()
	}
	return fmt.Errorf("%s: %s", strings.Join(append([]string{c.Path[strings.LastIndexByte(c.Path, '/')+1:]}, short(c.Args[1:])...), " "), text)
}

// short leaves out what is long of a command.
func short(args []string) []string {
	if len(args) > 4 {
		return append(slices.Clone(args[:4]), "...")
	}
	return args
}

// output is what a tool prints.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	c, err := command(ctx, name, args...)
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, said(ctx, c, err, &stderr)
	}
	return out, nil
}

// Records asks for the accounting since a time, a day at a time: one query for a quarter would
// keep slurmdbd from its work.
func (a *Ask) Records(ctx context.Context, since time.Time, g *Gatherer) (Input, error) {
	help, err := output(ctx, "sacct", "--helpformat")
	if err != nil {
		return Input{}, err
	}
	has := strings.Fields(string(help))
	var ask []string
	for _, c := range columns {
		if slices.Contains(has, c) {
			ask = append(ask, c)
		}
	}
	version, _ := output(ctx, "sacct", "--version") // nothing rests on it
	in := Input{What: "accounting", Slurm: strings.TrimPrefix(strings.TrimSpace(string(version)), "slurm ")}
	sum := sha256.New()
	days := int((a.Now.Sub(since) + 24*time.Hour - 1) / (24 * time.Hour))
	for day := range days {
		if a.Progress != nil {
			a.Progress(day+1, days)
		}
		from := since.Add(time.Duration(day) * 24 * time.Hour)
		to := from.Add(24 * time.Hour)
		if to.After(a.Now) {
			to = a.Now
		}
		const layout = "2006-01-02T15:04:05"
		args := []string{"-a", "-X", "-D", "-P", "--noconvert", "--delimiter=" + separator, "-S", from.UTC().Format(layout), "-E", to.UTC().Format(layout), "-o", strings.Join(ask, ",")}
		in.Name = "sacct " + strings.Join(args[:5], " ") + " ... by the day, since " + since.UTC().Format(layout) + "Z"
		if err := a.slice(ctx, args, sum, g); err != nil {
			return in, err
		}
	}
	in.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return in, nil
}

func (a *Ask) slice(ctx context.Context, args []string, sum io.Writer, g *Gatherer) error {
	c, err := command(ctx, "sacct", args...)
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	_, scanned := trace.ScanSlurm("sacct", io.TeeReader(out, sum), time.UTC, func(r *trace.SlurmRecord) error {
		g.Add(r)
		return nil
	})
	if scanned != nil {
		_, _ = io.Copy(io.Discard, out) // or it would not end
	}
	if err := c.Wait(); err != nil {
		return said(ctx, c, err, &stderr)
	}
	return scanned
}

// asked is a call, and what takes its answer.
type asked struct {
	what string
	args []string
	take func(name string, data []byte) error
}

// Site asks for nodes, partitions, QOS, configuration and events. What cannot be asked is a
// warning: the accounting alone is enough.
func (a *Ask) Site(ctx context.Context, since time.Time, s *Site) (inputs []Input, warnings []string, err error) {
	events := []string{"sacctmgr", "-P", "show", "event", "start=" + since.UTC().Format("2006-01-02T15:04:05"), "format=Cluster,NodeName,TimeStart,TimeEnd,State,Reason"}
	for _, q := range []asked{
		{"nodes", []string{"scontrol", "show", "node"}, s.AddNodes},
		{"partitions", []string{"scontrol", "show", "partition"}, s.AddNodes},
		{"configuration", []string{"scontrol", "show", "config"}, s.AddConfig},
		{"qos", []string{"sacctmgr", "-P", "show", "qos"}, s.AddQOS},
		{"events", events, func(name string, data []byte) error { return s.AddEvents(name, data, time.UTC) }},
	} {
		in, data, err := a.call(ctx, q.what, q.args)
		if err == nil {
			err = q.take(in.Name, data)
		}
		if ctx.Err() != nil {
			return inputs, warnings, ctx.Err()
		}
		if err != nil {
			warnings = append(warnings, "not asked: "+q.what+": "+err.Error())
			continue
		}
		inputs = append(inputs, in)
	}
	return inputs, warnings, nil
}

// Assoc asks for the associations.
func (a *Ask) Assoc(ctx context.Context) (Input, []byte, error) {
	return a.call(ctx, "associations", []string{"sacctmgr", "-P", "show", "assoc", "tree",
		"format=Cluster,Account,ParentName,User,Partition,Share,GrpTRES,GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxJobs,MaxSubmit,MaxWall"})
}

func (a *Ask) call(ctx context.Context, what string, args []string) (Input, []byte, error) {
	data, err := output(ctx, args[0], args[1:]...)
	return Input{What: what, Name: strings.Join(short(args), " "), SHA256: Sum(data)}, data, err
}

// Sum is the SHA-256 of some bytes, in hex.
func Sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// IsNoTool tells whether an error is that a tool is not there.
func IsNoTool(err error) bool {
	var e *NoTool
	return errors.As(err, &e)
}
