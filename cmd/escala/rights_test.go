package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// said keeps what a program writes.
type said struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.all.String(), text)
}

// TestLeastRights runs the program as users of a Slurm with accounting: with the right of an operator it decides over the jobs of
// others, and says what it cannot do; with that of an administrator it does that as well; with none it refuses to begin.
func TestLeastRights(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	t.Parallel()
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2, Accounting: true, Extra: []string{"PrivateData=jobs"}})
	c.Run("sacctmgr", "-i", "-Q", "add", "account", "lab", "Description=lab", "Organization=lab")
	people := map[string]string{"games": "None", "list": "Operator", "irc": "Administrator"}
	for name, level := range people {
		c.Run("sacctmgr", "-i", "-Q", "add", "user", name, "account=lab", "AdminLevel="+level)
	}
	program := openCopy(t)
	for _, name := range []string{"games", "list", "irc"} {
		t.Run(people[name], func(t *testing.T) { decides(t, c, program, name, people[name]) })
	}
}

// openCopy is this program where others may run it.
func openCopy(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("escala")
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	dir, err := os.MkdirTemp("", "rights")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // others are to run what is there
		t.Fatal(err)
	}
	out, err := os.OpenFile(filepath.Join(dir, "escala"), os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // the same
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

func decides(t *testing.T, c *slurmtest.Cluster, program, name, level string) {
	u, err := user.Lookup(name)
	if err != nil {
		t.Skipf("there is no user %s", name)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	state, err := os.MkdirTemp("", "state")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	if err := os.Chown(state, uid, gid); err != nil {
		t.Fatal(err)
	}
	as := func(args ...string) *exec.Cmd {
		cmd := exec.Command(program, args...) //nolint:gosec // this very program
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + state, "XDG_STATE_HOME=" + state, "SLURM_CONF=" + c.Conf, "GORACE=atexit_sleep_ms=0"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}} //nolint:gosec // ids are small
		return cmd
	}
	var log said
	daemon := as("serve", "--world", "slurm", "--enforce", "--partition", "train", "--listen", "none")
	daemon.Stderr = &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	if level == "None" {
		if err := <-ended; err == nil || daemon.ProcessState.ExitCode() != 2 || !log.has("adminlevel=Operator") {
			t.Errorf("%v: %s", err, log.all.String())
		}
		return
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = daemon.Process.Kill()
			<-ended
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Log(log.all.String())
		}
	})
	owner := c.As("games")
	submit := func(args ...string) string {
		id, err := owner.Submit(t.Context(), "sleep 600", append([]string{"--output=/dev/null", "--chdir=/", "--export=PATH=/usr/bin:/bin", "--requeue", "-w", "n1", "--gres=gpu:8"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Cancel(context.Background(), id) })
		return id
	}
	is := func(id, state string) bool {
		return strings.TrimSpace(c.Run("squeue", "-h", "-j", id, "-o", "%T")) == state
	}
	low := submit("--comment=escala:min-runtime=0,grace=1s")
	c.Wait("it runs, by escala", func() bool { return is(low, "RUNNING") && log.has("lease") })
	high := submit("--comment=escala:min-runtime=1h")
	c.Wait("it gave way", func() bool { return is(high, "RUNNING") && is(low, "PENDING") })
	admin := level == "Administrator"
	if log.has("off, they need administrator") == admin {
		t.Errorf("what %s says of its right", level)
	}
	if out, err := as("drain", "n2", "--reason", "a fan").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if admin {
		c.Wait("the node is drained and the job says why", func() bool {
			text, err := c.AdminComment(t.Context(), low)
			return err == nil && strings.HasPrefix(text, "escala: stopped and requeued at ") && strings.Contains(c.Run("scontrol", "show", "node", "n2"), "Reason=escala: a fan ("+name+")")
		})
		if out, err := as("resume", "n2").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		c.Wait("the node is open", func() bool { return strings.Contains(c.Run("scontrol", "show", "node", "n2"), "State=IDLE ") })
		if out, err := as("cancel", high).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		c.Wait("accounting has why it was cancelled", func() bool {
			return strings.HasPrefix(c.Run("sacct", "-n", "-P", "-X", "-j", high, "-o", "AdminComment"), "escala: stopped at ")
		})
	} else {
		c.Wait("it is said that the node is closed here alone", func() bool { return log.has("not in Slurm: that needs administrator") })
		if text, err := c.AdminComment(t.Context(), low); err != nil || text != "" || strings.Contains(c.Run("scontrol", "show", "node", "n2"), "DRAIN") {
			t.Errorf("an operator wrote %q, %v, or drained a node", text, err)
		}
	}
	stop()
	if out, err := as("release-control").CombinedOutput(); err != nil || !strings.Contains(string(out), "waiting jobs are Slurm's again; 1 leases") {
		t.Errorf("%v: %s", err, out)
	}
	if log.has("failed") || log.has(slurm.ErrDenied.Error()) {
		t.Error("something failed")
	}
}
