package slurmworld_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// saves is a script that goes on where it was: it counts, and when its signal comes it writes down how far it is. That it got
// another signal it tells, too.
const saves = `#!/bin/bash
#SBATCH --gres=gpu:8 --time=30
%s
trap 'echo "$n" > %s; echo "signal USR1" >> %s; exit 0' USR1
trap 'echo "signal TERM" >> %s; exit 0' TERM
n=$(cat %s 2>/dev/null || echo 0)
echo "start from $n" >> %s
[ "$n" -gt 0 ] && exit 0
while :; do sleep 0.1; n=$((n + 1)); done
`

// TestOwnSignal: a job that has to give way is told by the signal that it asked Slurm for, has as long as it asked for, and
// goes on from what it saved; one that runs since before escala began is told by it just as well.
func TestOwnSignal(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	contracts, err := slurm.ParseContracts("contracts.yaml", []byte("defaults: {min-runtime: 0s, checkpoint-on-stop: true}\npartitions: {train: {grace: 7s}}\nqos: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, Cluster: slurmtest.Start(t, slurmtest.Options{Nodes: 2}), path: filepath.Join(t.TempDir(), "journal.db"), contracts: contracts}
	file := func(kind, name string) string { return filepath.Join(s.Dir, "jobs", kind+"."+name) }
	submit := func(name, directive string, args ...string) string {
		t.Helper()
		state, log, path := file("state", name), file("log", name), file("sh", name)
		if err := os.WriteFile(path, fmt.Appendf(nil, saves, directive, state, log, log, state, log), 0o755); err != nil { //nolint:gosec // a script
			t.Fatal(err)
		}
		return strings.TrimSpace(s.Cluster.Run("sbatch", append(append([]string{"--parsable", "--requeue", "--output=" + file("out", name), "--open-mode=append"}, args...), path)...))
	}
	log := func(name string) string {
		b, _ := os.ReadFile(file("log", name))
		return string(b)
	}
	early := submit("early", "#SBATCH --signal=B:USR1@20")
	s.await("the first runs", func() bool { return strings.Contains(log("early"), "start from 0") })
	s.open("contract", false)
	late := submit("late", "#SBATCH --signal=B:USR1@25")
	s.await("both run", func() bool { return s.fate(early) == "running" && s.fate(late) == "running" })
	for id, want := range map[string]time.Duration{early: 20 * time.Second, late: 25 * time.Second} {
		j, err := s.d.Job(t.Context(), id)
		if err != nil || j.Spec.Contract.Grace != want.Milliseconds() || !j.Spec.Contract.HasMinRuntime || j.Spec.Contract.MinRuntime != 0 {
			t.Errorf("job %s: %+v, %v", id, j.Spec.Contract, err)
		}
	}
	s.stop()
	s.open("contract", false) // what it knew of their signals is read again
	s.await("it is back", func() bool { return s.fate(early) == "running" && s.fate(late) == "running" })
	winner := s.Sbatch("exit 0", "-N2", "--gres=gpu:8", "--time=5", "--comment=escala:min-runtime=5m")
	s.await("the large job has run", func() bool { return s.fate(winner) == "completed" })
	for name, id := range map[string]string{"early": early, "late": late} {
		s.await("it has come to its end", func() bool { return s.fate(id) == "completed" })
		text := log(name)
		if !strings.HasPrefix(text, "start from 0\nsignal USR1\nstart from ") || strings.Contains(text, "TERM") || strings.HasSuffix(text, "start from 0\n") {
			t.Errorf("job %s: %q", name, text)
		}
		if j := s.line(id); j.ID != "" && j.Restarts != 1 {
			t.Errorf("job %s: %+v", name, j)
		}
	}
}

// TestSiteContract: what a job says, what its partition is for, and what --no-requeue and --time mean.
func TestSiteContract(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	t.Parallel()
	contracts, err := slurm.ParseContracts("contracts.yaml", []byte("defaults: {min-runtime: 1h, resumable: true}\npartitions: {train: {class: debug, team: quick, checkpoint-interval: 10m, priority: 40}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{T: t, Cluster: slurmtest.Start(t, slurmtest.Options{Nodes: 2}), path: filepath.Join(t.TempDir(), "journal.db"), contracts: contracts, administers: true}
	s.open("contract", false)
	plain := s.Sbatch("sleep 60", "--gpus=1", "--requeue", "--time=20", "--time-min=10", "--nice=30")
	own := s.Sbatch("sleep 60", "--gpus=1", "--requeue", "--comment=escala:min-runtime=2h,team=vision,resumable=no")
	once := s.Sbatch("sleep 60", "--gpus=1", "--no-requeue", "--comment=escala:resumable=yes")
	wrong := s.Sbatch("sleep 60", "--gpus=1", "--requeue", "--comment=escala:min-runtime=2h,teem=vision")
	array := s.Sbatch("sleep 60", "--gpus=1", "--requeue", "--array=1-2", "--comment=escala:grace=soon")
	const minute = 60_000
	for id, want := range map[string]string{
		plain:        fmt.Sprint("quick ", 15*minute, " true ", 20*minute),
		own:          fmt.Sprint("vision ", 120*minute, " false ", 60*minute),
		once:         fmt.Sprint("quick ", 15*minute, " false ", 60*minute),
		wrong:        fmt.Sprint("quick ", 15*minute, " true ", 60*minute),
		array + "_2": fmt.Sprint("quick ", 15*minute, " true ", 60*minute),
	} {
		s.await("job "+id+" is known", func() bool { return s.fate(id) != "" })
		j, err := s.d.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		c := j.Spec.Contract
		if got := fmt.Sprint(j.Spec.Team, " ", c.MinRuntime, " ", !c.NotResumable, " ", j.Spec.Limit); got != want || c.CheckpointInterval != 10*minute || j.Spec.Priority != map[bool]int64{true: 10, false: 40}[id == plain] {
			t.Errorf("job %s: %s, want %s; %+v", id, got, want, c)
		}
	}
	for id, want := range map[string]string{
		wrong: `escala: the comment is not understood, and nothing of it holds: "teem" is not known; did you mean team? want min-runtime`,
		array: "escala: the comment is not understood, and nothing of it holds: grace=soon is no length of time",
	} {
		text := ""
		s.await("the job is told", func() bool {
			text, err = s.AdminComment(t.Context(), id)
			return err == nil && text != ""
		})
		if !strings.HasPrefix(text, want) {
			t.Errorf("job %s: %q", id, text)
		}
	}
}

// TestNoRequeue: a job that cannot be requeued is stopped where the policy stops it, and that is its end, whatever its comment says.
func TestNoRequeue(t *testing.T) {
	s := newSite(t, 0)
	s.open("contract", false)
	const script = "echo start; trap 'echo told; exit 0' TERM; while :; do sleep 0.1; done"
	out := func(id string) string {
		b, _ := os.ReadFile(filepath.Join(s.Dir, "jobs", id+".out"))
		return string(b)
	}
	once := s.Sbatch(script, "-N2", "--gres=gpu:8", "--no-requeue", "--comment=escala:min-runtime=0,resumable=yes,checkpoint-on-stop")
	s.await("it runs", func() bool { return s.fate(once) == "running" && out(once) == "start\n" })
	winner := s.Sbatch("exit 0", "-N2", "--gres=gpu:8", "--time=5", "--comment=escala:min-runtime=5m")
	s.await("the other has run", func() bool { return s.fate(winner) == "completed" })
	s.await("it is gone", func() bool { return s.line(once).ID == "" })
	// slurmstepd writes a line of its own where TERM comes.
	if got := out(once); strings.Count(got, "start\n") != 1 || !strings.HasSuffix(got, "told\n") {
		t.Errorf("%q", got)
	}
	if fate := s.fate(once); fate == "running" || fate == "waiting" || fate == "completed" {
		t.Errorf("it is %s", fate)
	}
}

// TestSignalOfTheCommandLine: what is asked for on the command line goes before the script, and what the comment says before both.
func TestSignalOfTheCommandLine(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	s := &site{T: t, Cluster: slurmtest.Start(t, slurmtest.Options{Nodes: 2, Accounting: true}), path: filepath.Join(t.TempDir(), "journal.db"), accounting: true}
	s.open("contract", false)
	path := filepath.Join(s.Dir, "jobs", "told.sh")
	told := "#!/bin/bash\n#SBATCH --signal=B:HUP@5 --gres=gpu:8 --time=30 --requeue --output=" + s.Dir + "/jobs/%j.out --open-mode=append\n" +
		"[ -n \"$SLURM_RESTART_COUNT\" ] && exit 0\nfor s in HUP USR1 USR2 TERM; do trap \"echo got $s; exit 0\" $s; done\necho ready\nwhile :; do sleep 0.1; done\n"
	if err := os.WriteFile(path, []byte(told), 0o755); err != nil { //nolint:gosec // a script
		t.Fatal(err)
	}
	submit := func(args ...string) string {
		return strings.TrimSpace(s.Cluster.Run("sbatch", append(append([]string{"--parsable"}, args...), path)...))
	}
	out := func(id string) string {
		b, _ := os.ReadFile(filepath.Join(s.Dir, "jobs", id+".out"))
		return string(b)
	}
	line := submit("--signal=B:USR1@10", "--comment=escala:min-runtime=0,checkpoint-on-stop")
	comment := submit("--signal=B:USR1@10", "--comment=escala:min-runtime=0,checkpoint-on-stop,signal=B:USR2@15")
	s.await("both run", func() bool { return strings.Contains(out(line), "ready") && strings.Contains(out(comment), "ready") })
	s.await("accounting knows them", func() bool {
		return strings.Contains(s.Cluster.Run("sacct", "-n", "-P", "-X", "-j", line, "-o", "SubmitLine"), "USR1")
	})
	s.Sbatch("exit 0", "-N2", "--gres=gpu:8", "--time=5", "--comment=escala:min-runtime=5m")
	for id, want := range map[string]string{line: "ready\ngot USR1\n", comment: "ready\ngot USR2\n"} {
		s.await("job "+id+" has come to its end", func() bool { return s.fate(id) == "completed" })
		if got := out(id); got != want {
			t.Errorf("job %s: %q, want %q", id, got, want)
		}
	}
}
