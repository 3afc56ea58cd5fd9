package slurmtest

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
)

// StartREST starts slurmrestd for a cluster with JWT, and returns what reads through it. slurmrestd serves
// neither as root nor as Slurm's user, so another user is needed: the test is skipped where it does not run as root.
func (c *Cluster) StartREST() *slurm.REST {
	c.t.Helper()
	path, err := exec.LookPath("slurmrestd")
	if err != nil {
		c.t.Skip("slurmrestd is not installed (Debian: slurmrestd slurm-wlm-jwt-plugin)")
	}
	if os.Getuid() != 0 {
		c.t.Skip("slurmrestd needs a user of its own: only root can give it one")
	}
	other, err := user.Lookup("daemon")
	if err != nil {
		c.t.Skip("there is no user daemon to run slurmrestd")
	}
	uid, err1 := strconv.ParseUint(other.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(other.Gid, 10, 32)
	if err1 != nil || err2 != nil || !c.opts.JWT {
		c.t.Fatalf("slurmrestd: %v, %v; is JWT on? %v", err1, err2, c.opts.JWT)
	}
	c.open()
	if err := os.Mkdir(c.path("rest"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Chown(c.path("rest"), int(uid), int(gid)); err != nil {
		c.t.Fatal(err)
	}
	socket := c.path("rest/sock")
	c.spawn("slurmrestd", path, []string{"-a", "rest_auth/jwt", "-s", "openapi/v0.0.38", "unix:" + socket}, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "SLURM_JWT=daemon")
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	})
	c.until("slurmrestd listens", 10*time.Second, func() bool { _, err := os.Stat(socket); return err == nil })
	me, err := user.Current()
	if err != nil {
		c.t.Fatal(err)
	}
	return &slurm.REST{Socket: socket, User: me.Username, Token: func(ctx context.Context) (string, error) { return c.Token(ctx, time.Hour) }}
}
