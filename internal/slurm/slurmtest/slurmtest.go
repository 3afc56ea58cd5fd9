// Package slurmtest starts a real Slurm for tests: munged, slurmctld and as many slurmd as wanted, all of the
// calling user, on loopback, with pretended GPUs (plain files stand in for devices), in a folder of its own.
// Nothing of it outlives the test.
package slurmtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
)

// Options of a cluster. Zero values are sensible.
type Options struct {
	// Nodes n1, n2, ... (4), with GPUs (8) of GPUType (a100) each; of GPUTypes, one after the other, where there are some.
	Nodes, GPUs int
	GPUType     string
	GPUTypes    []string
	// Partitions are lines of slurm.conf; none = train (the default one) and scav, on all nodes.
	Partitions []string
	// Extra lines of slurm.conf. They take the place of those that would set the same.
	Extra []string
	// Accounting has a database and slurmdbd, and with them accounts, rights and GPUs as TRES. It takes root (else the
	// test is skipped) and some seconds more.
	Accounting bool
	// Backup has a second slurmctld that takes over 4 s after the first fell silent. It takes root, else the test is skipped.
	Backup bool
	// JWT lets slurmctld make tokens, which [Cluster.StartREST] needs.
	JWT bool
}

// Cluster is a Slurm that runs.
type Cluster struct {
	*slurm.Client
	// Dir has all of it, Conf is the path of its slurm.conf.
	Dir, Conf string
	// Tools run its tools.
	Tools *slurm.Tools

	t     testing.TB
	procs map[string]*exec.Cmd
	opts  Options
	guard *guard
}

// binaries that have to be there, by where Debian puts them.
var binaries = map[string][]string{
	"munged":     {"munged"},
	"slurmctld":  {"/usr/sbin/slurmctld-wlm", "slurmctld"},
	"slurmd":     {"/usr/sbin/slurmd-wlm", "slurmd"},
	"slurmstepd": {"/usr/sbin/slurmstepd-wlm", "slurmstepd"},
}

func find(name string) (path string, ok bool) {
	for _, b := range binaries[name] {
		if p, err := exec.LookPath(b); err == nil {
			return p, true
		}
	}
	return "", false
}

// Start starts a cluster, or skips the test where Slurm is not installed.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	paths := map[string]string{}
	for name := range binaries {
		p, ok := find(name)
		if !ok {
			t.Skipf("Slurm is not installed: there is no %s (Debian: slurmctld slurmd slurm-client munge)", name)
		}
		paths[name] = p
	}
	if _, err := exec.LookPath("sbatch"); err != nil {
		t.Skip("Slurm is not installed: there is no sbatch (Debian: slurm-client)")
	}
	if o.Nodes == 0 {
		o.Nodes = 4
	}
	if o.GPUs == 0 {
		o.GPUs = 8
	}
	if o.GPUType == "" {
		o.GPUType = "a100"
	}
	dir, err := os.MkdirTemp("", "slurm") // short: sockets have to fit into 108 characters
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Dir: dir, Conf: filepath.Join(dir, "etc", "slurm.conf"), t: t, procs: map[string]*exec.Cmd{}, opts: o}
	c.guard = watch(t, dir, c.Conf)
	c.Tools = &slurm.Tools{Conf: c.Conf}
	c.Client = &slurm.Client{Runner: c.Tools}
	t.Cleanup(c.stop)
	if o.Accounting {
		c.needAccounting()
	}
	if o.Backup {
		c.needBackup()
	}
	ports := freePorts(t, o.Nodes+2)
	c.write(paths, ports)
	c.spawn("munged", paths["munged"], []string{"--force", "--foreground", "--key-file=" + c.path("munge/key"), "--socket=" + c.path("munge/sock"),
		"--pid-file=" + c.path("munge/pid"), "--seed-file=" + c.path("munge/seed"), "--log-file=" + c.path("munge/log")})
	c.until("munged listens", 10*time.Second, func() bool { _, err := os.Stat(c.path("munge/sock")); return err == nil })
	if o.Accounting {
		c.startAccounting(ports[0])
	}
	c.StartController()
	if o.Backup {
		c.StartBackup()
	}
	for i := range o.Nodes {
		c.StartNode(fmt.Sprint("n", i+1))
	}
	c.until("all nodes are idle", 60*time.Second, func() bool {
		nodes, err := c.Nodes(context.Background())
		up := 0
		for i := range nodes {
			if nodes[i].State == "IDLE" && len(nodes[i].Flags) == 0 {
				up++
			}
		}
		return err == nil && up == o.Nodes
	})
	return c
}

func (c *Cluster) path(p string) string { return filepath.Join(c.Dir, p) }

// write makes all files. Slurm's daemons know what they are by the name they are called by.
func (c *Cluster) write(paths map[string]string, ports []int) {
	c.t.Helper()
	must := func(err error) {
		if err != nil {
			c.t.Helper()
			c.t.Fatal(err)
		}
	}
	for _, d := range []string{"bin", "etc", "log", "state", "spool", "munge", "dev", "jobs"} {
		must(os.MkdirAll(c.path(d), 0o755))
	}
	must(os.Chmod(c.path("munge"), 0o700)) //nolint:gosec // a folder has to be entered
	for name, p := range paths {
		if name != "munged" {
			must(os.Symlink(p, c.path("bin/"+name)))
		}
	}
	key := make([]byte, 128)
	_, _ = rand.Read(key)
	must(os.WriteFile(c.path("munge/key"), key, 0o400))
	if c.opts.JWT {
		_, _ = rand.Read(key)
		must(os.WriteFile(c.path("state/jwt.key"), key[:32], 0o600))
	}
	for i := range c.opts.GPUs {
		must(os.WriteFile(c.path(fmt.Sprint("dev/gpu", i)), nil, 0o600))
	}
	gres := ""
	for i := range c.opts.Nodes {
		gres += fmt.Sprintf("NodeName=n%d Name=gpu Type=%s File=%s/dev/gpu[0-%d]\n", i+1, c.opts.typeOf(i), c.Dir, c.opts.GPUs-1)
	}
	must(os.WriteFile(c.path("etc/gres.conf"), []byte(gres), 0o600))
	must(os.WriteFile(c.path("etc/cgroup.conf"), nil, 0o600))
	must(os.WriteFile(c.path("log/jobcomp.txt"), nil, 0o600))
	must(os.WriteFile(c.Conf, []byte(c.conf(ports)), 0o600))
}

func (c *Cluster) conf(ports []int) string {
	c.t.Helper()
	me, err := user.Current()
	if err != nil {
		c.t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		c.t.Fatal(err)
	}
	lines := []string{
		"ClusterName=test", fmt.Sprintf("SlurmctldHost=%s(127.0.0.1)", host), fmt.Sprint("SlurmctldPort=", ports[1]), "SlurmUser=" + me.Username, "SlurmdUser=" + me.Username,
		"AuthType=auth/munge", "AuthInfo=socket=" + c.path("munge/sock") + ",cred_expire=5", "CredType=cred/munge",
		"StateSaveLocation=" + c.path("state"), "SlurmdSpoolDir=" + c.path("spool/%n"), "SlurmctldPidFile=" + c.path("state/slurmctld.pid"), "SlurmdPidFile=" + c.path("state/slurmd.%n.pid"),
		"SlurmctldLogFile=" + c.path("log/slurmctld.log"), "SlurmdLogFile=" + c.path("log/slurmd.%n.log"),
		"ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none", "SwitchType=switch/none", "MpiDefault=none", "MailProg=/bin/true",
		"SelectType=select/cons_tres", "SelectTypeParameters=CR_Core", "GresTypes=gpu", "SlurmdParameters=config_overrides", "ReturnToService=2", "KillWait=2", "MinJobAge=300", "MessageTimeout=5",
		"CommunicationParameters=NoInAddrAny", "TreeWidth=65533", "SchedulerType=sched/backfill", "SchedulerParameters=bf_interval=2,sched_interval=2,requeue_delay=1", "PriorityType=priority/basic",
		"PreemptType=preempt/none", "JobRequeue=1", "SlurmdTimeout=10", "JobCompType=jobcomp/filetxt", "JobCompLoc=" + c.path("log/jobcomp.txt"),
	}
	if c.opts.Accounting {
		lines = append(lines, c.accountingConf(ports[0])...)
	}
	if c.opts.Backup {
		both := c.backupConf()
		lines = slices.DeleteFunc(lines, func(line string) bool {
			return slices.ContainsFunc(both, func(other string) bool { return keyOf(line) == keyOf(other) })
		})
		lines = append(lines, both...)
	}
	if c.opts.JWT {
		lines = append(lines, "AuthAltTypes=auth/jwt", "AuthAltParameters=jwt_key="+c.path("state/jwt.key"))
	}
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc(c.opts.Extra, func(extra string) bool { return strings.EqualFold(keyOf(line), keyOf(extra)) })
	})
	for i := range c.opts.Nodes {
		lines = append(lines, fmt.Sprintf("NodeName=n%d NodeAddr=127.0.0.1 Port=%d CPUs=64 RealMemory=512000 Gres=gpu:%s:%d State=UNKNOWN", i+1, ports[i+2], c.opts.typeOf(i), c.opts.GPUs))
	}
	if len(c.opts.Partitions) == 0 {
		lines = append(lines, "PartitionName=train Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 State=UP", "PartitionName=scav Nodes=ALL MaxTime=INFINITE DefaultTime=60 State=UP")
	}
	lines = append(append(lines, c.opts.Partitions...), c.opts.Extra...)
	return strings.Join(lines, "\n") + "\n"
}

// keyOf is what a line of slurm.conf sets.
func keyOf(line string) string {
	key, _, _ := strings.Cut(line, "=")
	return strings.TrimSpace(key)
}

// typeOf is the type of the GPUs of a node.
func (o *Options) typeOf(node int) string {
	if len(o.GPUTypes) == 0 {
		return o.GPUType
	}
	return o.GPUTypes[node%len(o.GPUTypes)]
}

// spawn starts a daemon in the foreground. The guard ends it if the test cannot.
func (c *Cluster) spawn(name, path string, args []string, with ...func(*exec.Cmd)) {
	c.t.Helper()
	log, err := os.OpenFile(c.path("log/"+name+".out"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(path, args...) //nolint:gosec // a daemon of the test's own
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "SLURM_CONF="+c.Conf), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, set := range with {
		set(cmd)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.procs[name] = cmd
}

// kill ends a daemon.
func (c *Cluster) kill(name string, sig syscall.Signal) {
	cmd := c.procs[name]
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig)
	_ = cmd.Wait()
	delete(c.procs, name)
}

// StartController starts slurmctld, StopController ends it: what it knows is on disk.
func (c *Cluster) StartController() {
	c.t.Helper()
	if c.opts.Backup {
		c.spawnController("slurmctld", 0)
		c.Wait("the first slurmctld answers", func() bool {
			up, _ := c.pings()
			return up
		})
		return
	}
	c.spawn("slurmctld", c.path("bin/slurmctld"), []string{"-D"})
	c.until("slurmctld answers", 30*time.Second, func() bool { _, err := c.Tools.Run(context.Background(), "scontrol", "ping"); return err == nil })
}

// KillController kills slurmctld: what it had not written yet is lost.
func (c *Cluster) KillController() { c.kill("slurmctld", syscall.SIGKILL) }

// StopController ends slurmctld.
func (c *Cluster) StopController() { c.kill("slurmctld", syscall.SIGTERM) }

// StartNode starts the slurmd of a node.
func (c *Cluster) StartNode(name string) {
	c.t.Helper()
	if err := os.MkdirAll(c.path("spool/"+name), 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.spawn(name, c.path("bin/slurmd"), []string{"-D", "-N", name, "-d", c.path("bin/slurmstepd")})
}

// KillNode ends the slurmd of a node and all that runs there, as when its power fails. Slurm notices after
// SlurmdTimeout (10 s).
func (c *Cluster) KillNode(name string) {
	c.t.Helper()
	c.kill(name, syscall.SIGKILL)
	for _, pid := range c.stepsOf(name) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// LoseNode is [Cluster.KillNode], and has Slurm notice at once.
func (c *Cluster) LoseNode(name string) {
	c.t.Helper()
	c.KillNode(name)
	c.Run("scontrol", "update", "nodename="+name, "state=down", "reason=lost")
}

// Sbatch submits a job that runs a line of shell, and returns its ID.
func (c *Cluster) Sbatch(line string, args ...string) string {
	c.t.Helper()
	id, err := c.Submit(context.Background(), line, append([]string{"--output=" + c.path("jobs/%j.out"), "--open-mode=append", "--export=PATH=/usr/bin:/bin", "--chdir=" + c.path("jobs")}, args...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// Run runs one of Slurm's tools, and fails the test where it fails. It returns what the tool wrote.
func (c *Cluster) Run(tool string, args ...string) string {
	c.t.Helper()
	out, err := c.Tools.Run(context.Background(), tool, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(out)
}

// Wait waits for something to become true, for half a minute, and fails the test where it does not.
func (c *Cluster) Wait(what string, is func() bool) {
	c.t.Helper()
	c.until(what, 30*time.Second, is)
}

// until waits for something to become true, and fails with the logs where it does not.
func (c *Cluster) until(what string, most time.Duration, is func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	for ; !is(); time.Sleep(50 * time.Millisecond) {
		if ctx.Err() != nil {
			log, _ := os.ReadFile(c.path("log/slurmctld.log"))
			c.t.Fatalf("after %s it is not so that %s\n%s", most, what, log[max(0, len(log)-2000):])
		}
	}
}

// stop ends all of it.
func (c *Cluster) stop() {
	for name := range c.procs {
		if name != "munged" {
			c.kill(name, syscall.SIGKILL)
		}
	}
	c.killAll()
	c.kill("munged", syscall.SIGKILL)
	if c.t.Failed() {
		log, _ := os.ReadFile(c.path("log/slurmctld.log"))
		c.t.Logf("the end of slurmctld's log:\n%s", log[max(0, len(log)-3000):])
	}
	_ = os.RemoveAll(c.Dir)
	c.guard.dismiss()
}
