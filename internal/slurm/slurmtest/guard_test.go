package slurmtest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNothingOutlivesAKilledTest runs this test again in a process that is killed while a job runs.
func TestNothingOutlivesAKilledTest(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLURMTEST_VICTIM") != "" {
		c := Start(t, Options{Nodes: 1})
		id := c.Sbatch("sleep 1000")
		c.Wait("a job runs", func() bool { return strings.TrimSpace(c.Run("squeue", "-h", "-j", id, "-o", "%T")) == "RUNNING" })
		_, _ = os.Stdout.WriteString("\n" + c.Dir + "\n")
		select {}
	}
	for name := range binaries {
		if _, ok := find(name); !ok {
			t.Skip("Slurm is not installed")
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestNothingOutlivesAKilledTest$") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), "SLURMTEST_VICTIM=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir := ""
	for in := bufio.NewScanner(out); in.Scan(); {
		if strings.HasPrefix(in.Text(), os.TempDir()) {
			dir = in.Text()
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if dir == "" {
		t.Fatal("no cluster was started")
	}
	left := []int{}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		left = processes(filepath.Join(dir, "etc", "slurm.conf"))
		if _, err := os.Stat(dir); os.IsNotExist(err) && len(left) == 0 {
			return
		}
	}
	t.Errorf("%s or its processes %v are still there", dir, left)
}
