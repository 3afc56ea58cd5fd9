package slurmtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
)

// accountingTools have to be there for [Options.Accounting].
var accountingTools = []string{"mariadbd", "mariadb-install-db", "slurmdbd", "sacctmgr", "setpriv"}

// needAccounting skips the test where there can be no accounting.
func (c *Cluster) needAccounting() {
	c.t.Helper()
	if os.Getuid() != 0 {
		c.t.Skip("accounting needs a database with a user of its own: only root can give it one")
	}
	for _, tool := range accountingTools {
		if _, err := exec.LookPath(tool); err != nil {
			c.t.Skipf("there is no %s (Debian: slurmdbd slurm-wlm-mysql-plugin mariadb-server)", tool)
		}
	}
	if _, err := user.Lookup("mysql"); err != nil {
		c.t.Skip("there is no user mysql (Debian: mariadb-server)")
	}
}

// accountingConf are the lines of slurm.conf for it.
func (c *Cluster) accountingConf(port int) []string {
	tracked := "gres/gpu"
	for i := range c.opts.Nodes {
		if t := ",gres/gpu:" + c.opts.typeOf(i); !strings.Contains(tracked+",", t+",") {
			tracked += t
		}
	}
	return []string{"AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=127.0.0.1", fmt.Sprint("AccountingStoragePort=", port), "AccountingStoragePass=" + c.path("munge/sock"),
		"AccountingStorageTRES=" + tracked}
}

// startAccounting starts a database and slurmdbd, and has them know the cluster.
func (c *Cluster) startAccounting(port int) {
	c.t.Helper()
	must := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	other, err := user.Lookup("mysql")
	must(err)
	uid, err := strconv.Atoi(other.Uid)
	must(err)
	must(os.Mkdir(c.path("sql"), 0o700))
	must(os.Chown(c.path("sql"), uid, -1))
	c.open()
	ctx := context.Background()
	if out, err := exec.CommandContext(ctx, "mariadb-install-db", "--no-defaults", "--user=mysql", "--datadir="+c.path("sql/data"), "--skip-test-db", "--auth-root-authentication-method=socket").CombinedOutput(); err != nil { //nolint:gosec // our own folder
		c.t.Fatalf("making a database: %v\n%s", err, out)
	}
	path, err := exec.LookPath("mariadbd")
	must(err)
	c.spawn("mariadbd", path, []string{"--no-defaults", "--user=mysql", "--datadir=" + c.path("sql/data"), "--socket=" + c.path("sql/sock"), "--skip-networking", "--pid-file=" + c.path("sql/pid"), "--skip-log-bin",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900", "--innodb-flush-method=nosync"})
	c.until("the database listens", 30*time.Second, func() bool { _, err := os.Stat(c.path("sql/sock")); return err == nil })

	me, err := user.Current()
	must(err)
	lines := []string{"AuthType=auth/munge", "AuthInfo=socket=" + c.path("munge/sock"), "DbdHost=localhost", "DbdAddr=127.0.0.1", fmt.Sprint("DbdPort=", port), "SlurmUser=" + me.Username,
		"StorageType=accounting_storage/mysql", "StorageHost=localhost", "StorageLoc=slurm", "StorageUser=" + me.Username, "LogFile=" + c.path("log/slurmdbd.log"), "PidFile=" + c.path("state/slurmdbd.pid")}
	must(os.WriteFile(c.path("etc/slurmdbd.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	path, err = exec.LookPath("slurmdbd")
	must(err)
	c.spawn("slurmdbd", path, []string{"-D"}, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "MYSQL_UNIX_PORT="+c.path("sql/sock")) })
	c.until("slurmdbd answers", 30*time.Second, func() bool {
		_, err := c.Tools.Run(ctx, "sacctmgr", "-n", "-P", "show", "cluster")
		return err == nil
	})
	c.Run("sacctmgr", "-i", "-Q", "add", "cluster", "test")
}

// open lets other users in: they reach munged, slurm.conf and the folder of the jobs.
func (c *Cluster) open() {
	c.t.Helper()
	for p, mode := range map[string]os.FileMode{"": 0o755, "etc": 0o755, "etc/slurm.conf": 0o644, "munge": 0o711, "jobs": 0o777 | os.ModeSticky} {
		if err := os.Chmod(c.path(p), mode); err != nil { //nolint:gosec // nothing of it is secret
			c.t.Fatal(err)
		}
	}
}

// As is the cluster as another user of this machine sees it. It needs root, and accounting: without it
// nobody but Slurm's user has rights over others' jobs.
func (c *Cluster) As(name string) *slurm.Client {
	c.t.Helper()
	c.needAccounting()
	u, err := user.Lookup(name)
	if err != nil {
		c.t.Skipf("there is no user %s", name)
	}
	return &slurm.Client{Runner: &as{c.Tools, u}}
}

// as runs tools as another user.
type as struct {
	tools *slurm.Tools
	user  *user.User
}

// Run implements [slurm.Runner].
func (a *as) Run(ctx context.Context, tool string, args ...string) ([]byte, error) {
	out, err := a.tools.Run(ctx, "setpriv", append([]string{"--reuid=" + a.user.Uid, "--regid=" + a.user.Gid, "--clear-groups", tool}, args...)...)
	var e *slurm.ToolError
	if errors.As(err, &e) {
		e.Tool, e.Args = tool, args
	}
	return out, err
}
