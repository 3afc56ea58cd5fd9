package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

const (
	nodes   = 8
	perNode = 8
)

// operator is the user that escala runs as: it is not root, and slurmctld counts its calls apart from all others.
const operator = "daemon"

// shortDay is what the site's slurm.conf says beside what tests need. On a day of a quarter of an hour the backfill
// has to look often, and to see seconds; fair share is all but the whole priority, with half of the window of
// contract's for its half-life.
var shortDay = []string{
	"SchedulerParameters=bf_interval=2,bf_resolution=1,bf_continue,bf_max_job_test=1000,sched_interval=2,default_queue_depth=1000,requeue_delay=1",
	"MinJobAge=3600", "PriorityType=priority/multifactor", "PriorityWeightFairShare=100000", "PriorityWeightAge=1000", "PriorityMaxAge=01:00:00",
	"PriorityDecayHalfLife=00:50:00", "PriorityCalcPeriod=00:01:00",
}

// asShipped is a Slurm that looks at its queue as often as it does by default.
var asShipped = []string{"SchedulerParameters=requeue_delay=1", "MinJobAge=3600", "PriorityType=priority/multifactor", "PriorityWeightFairShare=100000"}

// Without the weights Slurm's fair share is one of cores.
const partition = "PartitionName=train Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 State=UP TRESBillingWeights=CPU=0.0,GRES/gpu=1.0"

//go:embed job.sh
var jobScript []byte

//go:embed contract.yaml
var contractYAML []byte

// site is a Slurm with accounts.
type site struct {
	*slurmtest.Cluster
	work string // what jobs read and write
}

func newSite(b *bench, conf []string) (*site, error) {
	s := &site{Cluster: slurmtest.Start(b, slurmtest.Options{Nodes: nodes, GPUs: perNode, Accounting: true, Partitions: []string{partition}, Extra: conf})}
	for _, a := range accounts {
		s.Run("sacctmgr", "-i", "-Q", "add", "account", a, "Description="+a, "Organization="+a, "Fairshare=1")
		s.Run("sacctmgr", "-i", "-Q", "add", "user", "root", "account="+a, "Fairshare=1")
	}
	s.Run("sacctmgr", "-i", "-Q", "add", "user", operator, "account=root", "AdminLevel=Operator")
	s.work = filepath.Join(s.Dir, "work")
	if err := os.Mkdir(s.work, 0o700); err != nil {
		return nil, err
	}
	return s, os.WriteFile(filepath.Join(s.work, "job.sh"), jobScript, 0o700) //nolint:gosec // a program
}

// submit submits a job of the day.
func (s *site) submit(ctx context.Context, j *job) (id string, err error) {
	ask := []string{"--nodes=1", fmt.Sprint("--gres=gpu:", j.gpus)}
	if j.tasks > 1 {
		ask[0] = fmt.Sprint("--nodes=", j.tasks)
	}
	line := fmt.Sprintf("exec bash %s %s %d", filepath.Join(s.work, "job.sh"), s.work, int(j.length.Seconds()))
	return s.Submit(ctx, line, append(ask, "--account="+j.account, fmt.Sprint("--time=", j.limit), "--job-name=day", "--requeue", "--comment="+j.comment(),
		"--output=/dev/null", "--error=/dev/null", "--export=PATH=/usr/bin:/bin", "--chdir="+s.work)...)
}

// idle tells whether none of the day's jobs is in the queue.
func (s *site) idle(ctx context.Context) (bool, error) {
	out, err := s.Tools.Run(ctx, "squeue", "-h", "-n", "day", "-o", "%A")
	return err == nil && len(out) == 0, err
}

// daemon is escala serve over a site.
type daemon struct {
	s     *site
	bin   string
	state string
	cmd   *exec.Cmd
	who   *syscall.Credential
	began time.Time
}

// shortContract is the name of the policy of this study; others are those that are shipped.
const shortContract = "contract.yaml"

// serve starts escala over a site, as the operator.
func (s *site) serve(ctx context.Context, b *bench, bin, policy string, more ...string) (*daemon, error) {
	u, err := user.Lookup(operator)
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		return nil, fmt.Errorf("user %s has the IDs %q and %q, not numbers", operator, u.Uid, u.Gid)
	}
	d := &daemon{s: s, bin: filepath.Join(s.Dir, "escala"), state: filepath.Join(s.Dir, "serve"), who: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, began: time.Now()}
	data, err := os.ReadFile(bin)
	if err != nil {
		return nil, err
	}
	tree := budget.Equal("lab", accounts).YAML()
	if err := os.Mkdir(d.state, 0o700); err != nil {
		return nil, err
	}
	for path, text := range map[string][]byte{d.bin: data, filepath.Join(s.Dir, shortContract): contractYAML, filepath.Join(s.Dir, "budgets.yaml"): tree} {
		if err := os.WriteFile(path, text, 0o755); err != nil { //nolint:gosec // a program, and what it reads
			return nil, err
		}
	}
	if err := os.Chown(d.state, int(uid), int(gid)); err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(s.Dir, "serve.log"))
	if err != nil {
		return nil, err
	}
	b.Cleanup(func() { _ = file.Close() })
	if policy == shortContract {
		policy = filepath.Join(s.Dir, shortContract)
	}
	d.cmd = d.command(ctx, append([]string{"serve", "--world", "slurm", "--enforce", "--partition", "train", "--state", d.state, "--listen", "none", "--slurm-conf", s.Conf,
		"--policy", policy, "--budgets", filepath.Join(s.Dir, "budgets.yaml")}, more...)...)
	d.cmd.Stdout, d.cmd.Stderr = file, file
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	b.Cleanup(d.kill)
	for range 300 {
		if err := d.command(ctx, "status").Run(); err == nil {
			return d, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	said, _ := os.ReadFile(file.Name())
	return nil, fmt.Errorf("escala does not get ready: %s", said)
}

// command of escala, as the operator.
func (d *daemon) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, d.bin, args...)
	c.Dir = "/"
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "SLURM_CONF=" + d.s.Conf, "ESCALA_SERVER=unix:" + filepath.Join(d.state, "escala.sock")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: d.who}
	return c
}

// ask runs a command and returns what it wrote.
func (d *daemon) ask(ctx context.Context, args ...string) ([]byte, error) {
	out, err := d.command(ctx, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("escala %s: %w%s", strings.Join(args, " "), err, saidBy(err))
	}
	return out, nil
}

func (d *daemon) kill() {
	if d.cmd.ProcessState == nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
	}
}

// busy is the processor time that a process has used, and what those have used that it ran.
func busy(pid int) (own, ran time.Duration, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(f) < 15 {
		return 0, 0, fmt.Errorf("/proc/PID/stat has %d fields, not 15 or more", len(f))
	}
	var ticks [4]int64 // of 10 ms, on every Linux
	for i := range ticks {
		if ticks[i], err = strconv.ParseInt(f[11+i], 10, 64); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * 10 * time.Millisecond, time.Duration(ticks[2]+ticks[3]) * 10 * time.Millisecond, nil
}
