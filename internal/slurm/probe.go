package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
)

// Right is what Slurm lets its caller do.
type Right uint8

// Rights, each with all those before it.
const (
	// Owner may change jobs of their own only.
	Owner Right = iota
	// Operator may change everybody's jobs, and reservations.
	Operator
	// Administrator may change nodes, too.
	Administrator
	// SlurmUser is the user of slurmctld, or root: they may do all.
	SlurmUser
)

func (r Right) String() string {
	return [...]string{"owner", "operator", "administrator", "SlurmUser"}[min(r, SlurmUser)]
}

// Probe is what can be done with a cluster from here.
type Probe struct {
	Config *Config
	// Major and Minor of Slurm's version, such as 22 and 5.
	Major, Minor int
	// JSON has the tools that can write JSON.
	JSON map[string]bool
	// User that asks, and what they may do. RightUnknown is why that could not be found out, nil = it was:
	// then Right is the least that it is.
	User         string
	UID          int64
	Right        Right
	RightUnknown error
}

// AtLeast compares the version.
func (p *Probe) AtLeast(major, minor int) bool {
	return p.Major > major || p.Major == major && p.Minor >= minor
}

// Probe asks what there is. It costs some calls.
func (c *Client) Probe(ctx context.Context) (*Probe, error) {
	config, err := c.Config(ctx)
	if err != nil {
		return nil, err
	}
	p := &Probe{Config: config, JSON: map[string]bool{}}
	if p.Major, p.Minor, err = version(config.Version); err != nil {
		return nil, err
	}
	// squeue is not tried: in 22.05 it tells of all jobs, whatever is asked for.
	for tool, args := range map[string][]string{"squeue": {"--help"}, "sinfo": {"--json"}, "scontrol": {"show", "partition", "--json"}, "sdiag": {"--json"}} {
		out, err := c.Run(ctx, tool, args...)
		if errors.Is(err, ErrAway) || ctx.Err() != nil {
			return nil, err
		}
		p.JSON[tool] = err == nil && (bytes.HasPrefix(bytes.TrimSpace(out), []byte("{")) || tool == "squeue" && bytes.Contains(out, []byte("--json")))
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	p.User = me.Username
	if p.UID, err = strconv.ParseInt(me.Uid, 10, 64); err != nil {
		return nil, fmt.Errorf("the user's number: %w", err)
	}
	p.Right, p.RightUnknown = c.right(ctx, p)
	return p, nil
}

func (c *Client) right(ctx context.Context, p *Probe) (Right, error) {
	if p.UID == 0 || p.UID == p.Config.SlurmUID {
		return SlurmUser, nil
	}
	if !p.Config.Accounting() {
		return Owner, nil
	}
	return c.RightOf(ctx, p.User)
}

// RightOf asks the database for what a user may do. One whom it does not know is an [Owner].
func (c *Client) RightOf(ctx context.Context, name string) (Right, error) {
	out, err := c.Run(ctx, "sacctmgr", "-n", "-P", "show", "user", name, "format=AdminLevel")
	if err != nil {
		return Owner, fmt.Errorf("asking for the rights of %s: %w", name, err)
	}
	level, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	switch strings.ToLower(level) {
	case "administrator", "admin":
		return Administrator, nil
	case "operator":
		return Operator, nil
	}
	return Owner, nil
}

// version reads "22.05.8" and "23.11.0-0rc1".
func version(s string) (major, minor int, err error) {
	a, rest, _ := strings.Cut(s, ".")
	b, _, _ := strings.Cut(rest, ".")
	major, err1 := strconv.Atoi(a)
	minor, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("%q is no version of Slurm", s)
	}
	return major, minor, nil
}
