package slurm_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestSignalsAreReadAsSlurmReadsThem: what sbatch takes is taken, and what it refuses is refused.
func TestSignalsAreReadAsSlurmReadsThem(t *testing.T) {
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1})
	for _, text := range []string{"USR1", "usr1", "SIGUSR1", "sigterm", "10", "64", "B:USR1", "B:USR1@90", "b:HUP@0", "R:USR1@5", "BR:USR1", "RB:INT", "QUIT", "ABRT", "KILL", "ALRM", "USR2", "URG", "CONT", "STOP", "TSTP", "TTIN", "TTOU",
		"USR1@65535", "USR1@65536", "USR1@1m", "USR1@-5", "USR1@", "USR3", "0", "65", "SEGV", "", "B:", ":USR1", "X:USR1", "B:USR1:HUP", "SIGSIGUSR1", "PIPE", "CHLD", "BX:USR1", "010", "+9", "SIG10"} {
		_, mine := slurm.ParseSignal(text)
		_, theirs := c.Submit(t.Context(), "true", "--hold", "--output=/dev/null", "--signal="+text)
		if mine == nil && theirs != nil {
			t.Errorf("%q is taken, and sbatch refuses it: %v", text, theirs)
		}
		// sbatch takes some that it reads as something else, or as nothing.
		if mine != nil && theirs == nil && !slices.Contains([]string{"USR1@", "65", ":USR1", "+9"}, text) {
			t.Errorf("%q is not taken, and sbatch takes it: %v", text, mine)
		}
	}
}

// TestSignalThatAJobAskedFor: it is found in scripts, on command lines where there is accounting, and reaches whom it is for.
func TestSignalThatAJobAskedFor(t *testing.T) {
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1})
	file := filepath.Join(c.Dir, "jobs", "train.sh")
	step := filepath.Join(c.Dir, "jobs", "step.sh")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // a script
			t.Fatal(err)
		}
	}
	write(step, "#!/bin/bash\ntrap 'echo step got USR1; exit 0' USR1\nwhile :; do sleep 0.1; done\n")
	write(file, "#!/bin/bash\n#SBATCH --signal=B:USR1@90\n#SBATCH --output="+c.Dir+"/jobs/%j.out\ntrap 'echo shell got USR1; exit 0' USR1\nsrun --overlap "+step+" &\necho ready\nwhile :; do sleep 0.1; done\n")
	submit := func(args ...string) string {
		return strings.TrimSpace(c.Run("sbatch", append([]string{"--parsable"}, args...)...))
	}
	one, array := submit(file), submit("--array=3-5", "--hold", file)
	want := slurm.Signal{Name: "USR1", Batch: true, Before: 90 * time.Second}
	for _, id := range []string{one, array, array + "_4"} {
		if got, err := c.SignalInScript(t.Context(), id); err != nil || got != want {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	if _, err := c.SignalInScript(t.Context(), "4711"); !errors.Is(err, slurm.ErrNoJob) {
		t.Errorf("of no job: %v", err)
	}
	if got, err := c.SignalOnLine(t.Context(), one, file); err == nil {
		t.Errorf("without accounting: %+v", got)
	}
	for _, x := range []struct {
		batch            bool
		gets, gets2, not string
	}{{true, "shell got USR1", "", "step got"}, {false, "step got USR1", "", "shell got"}} {
		id := one
		if !x.batch {
			id = submit(file)
		}
		out := func() string {
			b, _ := os.ReadFile(filepath.Join(c.Dir, "jobs", id+".out"))
			return string(b)
		}
		c.Wait("the job is ready", func() bool {
			return strings.Contains(out(), "ready") && strings.Contains(c.Run("squeue", "-h", "-s", "-j", id), id+".0")
		})
		time.Sleep(500 * time.Millisecond) // the step's own trap
		if err := c.Ask(t.Context(), id, slurm.Signal{Name: "USR1", Batch: x.batch}); err != nil {
			t.Fatal(err)
		}
		c.Wait("the signal is there: "+x.gets, func() bool { return strings.Contains(out(), x.gets) })
		if strings.Contains(out(), x.not) {
			t.Errorf("batch %v: %s", x.batch, out())
		}
		_ = c.Cancel(t.Context(), id)
	}
	bare := c.Sbatch("sleep 30")
	c.Wait("the job without steps runs", func() bool { return strings.Contains(c.Run("squeue", "-h", "-j", bare, "-t", "R"), bare) })
	if err := c.Ask(t.Context(), bare, slurm.Signal{Name: "USR1"}); err != nil {
		t.Errorf("a job without steps: %v", err)
	}
}
