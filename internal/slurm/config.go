package slurm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config is what slurmctld is configured to do. Values are as it shows them.
type Config struct {
	// All has every setting that slurmctld shows.
	All map[string]string

	Version, ClusterName                   string
	Port                                   int
	SlurmUser                              string
	SlurmUID                               int64
	SchedulerType, PriorityType            string
	Scheduler                              map[string]string // SchedulerParameters; "" where a name alone says it
	PreemptType, PreemptMode               string
	AccountingStorageType, AuthType        string
	MaxArraySize, MaxJobs                  int
	KillWait, MinJobAge, CredentialsExpire time.Duration // CredentialsExpire 0 = not told: 2 min
	Booted                                 time.Time
}

// Accounting tells whether there is a database with accounts, associations and rights.
func (c *Config) Accounting() bool {
	return strings.HasSuffix(c.AccountingStorageType, "/slurmdbd")
}

// Config reads the configuration.
func (c *Client) Config(ctx context.Context) (*Config, error) {
	out, err := c.Run(ctx, "scontrol", "show", "config")
	if err != nil {
		return nil, err
	}
	return parseConfig(string(out))
}

func parseConfig(text string) (*Config, error) {
	c := &Config{All: map[string]string{}}
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(line, "=")
		if k = strings.TrimSpace(k); !ok || k == "" || strings.Contains(k, " ") {
			continue // headings
		}
		if _, dup := c.All[k]; !dup {
			c.All[k] = null(strings.TrimSpace(v))
		}
	}
	if c.Version = c.All["SLURM_VERSION"]; c.Version == "" {
		return nil, fmt.Errorf("scontrol shows no configuration: %.80q", text)
	}
	c.ClusterName, c.SchedulerType, c.PriorityType = c.All["ClusterName"], c.All["SchedulerType"], c.All["PriorityType"]
	c.PreemptType, c.PreemptMode, c.AccountingStorageType, c.AuthType = c.All["PreemptType"], c.All["PreemptMode"], c.All["AccountingStorageType"], c.All["AuthType"]
	c.SlurmUser, c.SlurmUID = who(c.All["SlurmUser"])
	c.Scheduler = list(c.All["SchedulerParameters"])
	port, _, _ := strings.Cut(c.All["SlurmctldPort"], "-") // a range, of which the first
	c.Port, _ = strconv.Atoi(port)
	c.MaxArraySize, _ = strconv.Atoi(c.All["MaxArraySize"])
	c.MaxJobs, _ = strconv.Atoi(c.All["MaxJobCount"])
	c.KillWait, c.MinJobAge = seconds(c.All["KillWait"]), seconds(c.All["MinJobAge"])
	c.CredentialsExpire = seconds(list(c.All["AuthInfo"])["cred_expire"])
	if n, err := strconv.ParseInt(c.All["BOOT_TIME"], 10, 64); err == nil {
		c.Booted = time.Unix(n, 0)
	}
	return c, nil
}

// who reads "slurm(64030)"; a name without a number has the UID -1.
func who(s string) (name string, uid int64) {
	name, rest, ok := strings.Cut(s, "(")
	uid, err := strconv.ParseInt(strings.TrimSuffix(rest, ")"), 10, 64)
	if !ok || err != nil {
		uid = -1
	}
	return name, uid
}

// list reads "a=1,b,c=2".
func list(s string) map[string]string {
	out := map[string]string{}
	for item := range strings.SplitSeq(s, ",") {
		if k, v, _ := strings.Cut(strings.TrimSpace(item), "="); k != "" {
			out[k] = v
		}
	}
	return out
}

// seconds reads "30 sec" or "30"; what is neither is 0.
func seconds(s string) time.Duration {
	s, _, _ = strings.Cut(s, " ")
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n) * time.Second
}
