package slurmtest

import (
	"io"
	"os/exec"
	"syscall"
	"testing"
)

// guard is a process that outlives the test for a moment: a test that is killed, or whose time is over,
// runs no cleanup, and slurmd's steps would go on.
type guard struct {
	cmd  *exec.Cmd
	line io.WriteCloser
}

// guardScript waits for its input to end, which it does with the test. What then has this slurm.conf in its
// environment is ended, and the folder removed. It goes round more than once, since what is ended last
// may have started something.
const guardScript = `read -r word && exit 0
for round in 1 2 3; do
	for p in /proc/[0-9]*; do
		pid=${p#/proc/}
		[ "$pid" != $$ ] && grep -qzxF "SLURM_CONF=$2" "$p/environ" 2>/dev/null && kill -9 "$pid" 2>/dev/null
	done
	sleep 0.2
done
rm -rf "$1"`

// watch starts the guard of a folder.
func watch(t testing.TB, dir, conf string) *guard {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "guard", dir, conf) //nolint:gosec // a script of our own
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	line, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &guard{cmd, line}
}

// dismiss ends the guard: there is nothing left to end.
func (g *guard) dismiss() {
	_, _ = io.WriteString(g.line, "done\n")
	_ = g.line.Close()
	_ = g.cmd.Wait()
}
