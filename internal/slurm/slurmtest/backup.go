package slurmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// A slurmctld knows which of the two it is by the name of its host, and listens at the address that this name has. So
// that both can be on one machine each gets a name space with a host name, an /etc/hosts and a place for its PID of
// its own: a second one that found the first's PID would end it.

// controllers are the hosts that the two believe to be on.
var controllers = [2]struct{ name, addr string }{{"ctl1", "127.0.0.1"}, {"ctl2", "127.0.0.2"}}

// needBackup skips the test where there can be no second slurmctld.
func (c *Cluster) needBackup() {
	c.t.Helper()
	if os.Getuid() != 0 {
		c.t.Skip("a second slurmctld on one machine needs a host name of its own: only root can give it one")
	}
	if out, err := exec.CommandContext(context.Background(), "unshare", "--uts", "--mount", "true").CombinedOutput(); err != nil {
		c.t.Skipf("a second slurmctld on one machine needs a host name of its own, and unshare cannot give it one: %v %s", err, out)
	}
}

// backupConf are the lines of slurm.conf for both.
func (c *Cluster) backupConf() []string {
	var lines []string
	for _, h := range controllers {
		lines = append(lines, fmt.Sprintf("SlurmctldHost=%s(%s)", h.name, h.addr))
	}
	return append(lines, "SlurmctldTimeout=4", "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny", "SlurmctldPidFile="+c.path("pid/slurmctld.pid"))
}

// spawnController starts one of the two.
func (c *Cluster) spawnController(name string, which int) {
	c.t.Helper()
	h := controllers[which]
	hosts, pid := c.path("etc/hosts."+h.name), c.path("state.d/"+h.name)
	var b strings.Builder
	for _, h := range controllers {
		fmt.Fprintln(&b, h.addr, h.name)
	}
	fmt.Fprintln(&b, "127.0.0.1 localhost")
	if err := os.WriteFile(hosts, []byte(b.String()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	for _, dir := range []string{pid, c.path("pid")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			c.t.Fatal(err)
		}
	}
	const script = `hostname "$1" && mount --bind "$2" /etc/hosts && mount --bind "$3" "$4" && exec "$5" -D -L "$6"`
	c.spawn(name, "unshare", []string{"--uts", "--mount", "/bin/sh", "-c", script, "sh", h.name, hosts, pid, c.path("pid"), c.path("bin/slurmctld"), c.path("log/" + name + ".log")})
}

// StartBackup starts the second slurmctld of a cluster with [Options.Backup].
func (c *Cluster) StartBackup() {
	c.t.Helper()
	c.spawnController("slurmctld2", 1)
	c.Wait("the second slurmctld answers", func() bool {
		_, up := c.pings()
		return up
	})
}

// StopBackup ends it.
func (c *Cluster) StopBackup() { c.kill("slurmctld2", syscall.SIGTERM) }

// pings tells which of the two answer.
func (c *Cluster) pings() (first, second bool) {
	out, _ := c.Tools.Run(context.Background(), "scontrol", "ping") // it fails where one is away
	up := func(h string) bool { return strings.Contains(string(out), "at "+h+" is UP") }
	return up(controllers[0].name), up(controllers[1].name)
}
