package slurm

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Unlimited is what has no limit.
const Unlimited = math.MaxInt32

// Partition is a queue of the cluster, and the nodes behind it.
type Partition struct {
	Name    string
	Default bool
	// State is UP, DOWN (takes jobs, starts none), DRAIN (takes none) or INACTIVE.
	State string
	Nodes []string
	// Tier is its PriorityTier: those of a higher one are looked at first.
	Tier int
	// DefaultTime and MaxTime of jobs; 0 = none.
	DefaultTime, MaxTime time.Duration
	// MinNodes and MaxNodes of a job; MaxNodes is [Unlimited] where it is not limited.
	MinNodes, MaxNodes int
	PreemptMode        []string
	// Grace that a preempted job has.
	Grace time.Duration
	QOS   string
	// OverSubscribe is NO, EXCLUSIVE, YES:n or FORCE:n.
	OverSubscribe string
	// Accounts, Groups and QOSes that may use it; nil = all.
	AllowAccounts, AllowGroups, AllowQOS []string
	// Accounts and QOSes that may not.
	DenyAccounts, DenyQOS     []string
	RootOnly, ReservationOnly bool
}

// Partitions reads all partitions, hidden ones included.
func (c *Client) Partitions(ctx context.Context) ([]Partition, error) {
	out, err := c.Run(ctx, "scontrol", "-a", "-o", "show", "partition")
	if err != nil {
		return nil, err
	}
	return parsePartitions(string(out))
}

func parsePartitions(text string) (out []Partition, err error) {
	for line := range strings.Lines(text) {
		v := pairs(line)
		if v["PartitionName"] == "" {
			continue
		}
		p := Partition{Name: v["PartitionName"], Default: v["Default"] == "YES", State: v["State"], OverSubscribe: v["OverSubscribe"], QOS: null(v["QoS"]),
			AllowAccounts: some(v["AllowAccounts"]), AllowGroups: some(v["AllowGroups"]), AllowQOS: some(v["AllowQos"]), DenyAccounts: some(v["DenyAccounts"]), DenyQOS: some(v["DenyQos"]),
			RootOnly: v["RootOnly"] == "YES", ReservationOnly: v["ReqResv"] == "YES", PreemptMode: some(v["PreemptMode"]), Grace: seconds(v["GraceTime"])}
		if p.Nodes, err = Hosts(v["Nodes"]); err != nil {
			return nil, fmt.Errorf("partition %s: %w", p.Name, err)
		}
		r := reader{fields: []string{v["DefaultTime"], v["MaxTime"]}}
		p.DefaultTime, p.MaxTime = r.limit(), r.limit()
		if r.err != nil {
			return nil, fmt.Errorf("partition %s: %w", p.Name, r.err)
		}
		p.Tier, _ = strconv.Atoi(v["PriorityTier"])
		p.MinNodes, _ = strconv.Atoi(v["MinNodes"])
		if p.MaxNodes, err = strconv.Atoi(v["MaxNodes"]); err != nil {
			p.MaxNodes = Unlimited
		}
		out = append(out, p)
	}
	return out, nil
}

// some reads a list of names; nil = none are told, or all.
func some(s string) []string {
	switch s = null(s); s {
	case "", "ALL":
		return nil
	}
	return strings.Split(s, ",")
}
