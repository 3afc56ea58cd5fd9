package cli

import (
	"encoding/json"
	"os"

	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/escala-sched/escala/internal/api"
)

// parsed is what a command line asks for.
func parsed(t *testing.T, script string, args ...string) (*api.Submit, error) {
	t.Helper()
	f := newJobFlags()
	if err := f.set.Parse(args); err != nil {
		return nil, err
	}
	if err := f.directives("job.sh", []byte(script)); err != nil {
		return nil, err
	}
	return f.submit(noon)
}

// TestSubmitFlags: each option ends up in its field.
func TestSubmitFlags(t *testing.T) {
	got, err := parsed(t, "", strings.Fields("--name n --team t --user u --partition p --kind training --gpus 2 --tasks 4 --tasks-min 2 --tasks-max 8 --gpu-type A,B --cpus 0.5 --memory 16G --within rack "+
		"--nodes n1,n2 --span --priority -3 --min-runtime 15m --estimate 2h --time 4h --deadline +1h --checkpoint 30m --restart-cost 1m --grace 90s --not-resumable --after 1:ok,2 --after 3:not-ok "+
		"--array 0-4:2%1 --begin +2h --hold --retries 3 --label a=1 --label b=x=y")...)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(got)
	want := `{"name":"n","user":"u","team":"t","partition":"p","kind":"training","need":{"gpus":2,"tasks":4,"min_tasks":2,"max_tasks":8,"cpu_milli":500,"memory_mib":16384,"gpu_types":["A","B"],` +
		`"within":"rack","nodes":["n1","n2"],"span":true},"priority":-3,"estimate_seconds":7200,"limit_seconds":14400,"deadline":"2026-12-01T13:00:00+01:00",` +
		`"contract":{"min_runtime_seconds":900,"checkpoint_seconds":1800,"restart_cost_seconds":60,"grace_seconds":90,"not_resumable":true},` +
		`"after":[{"job":"1","when":"ok"},{"job":"2","when":"any"},{"job":"3","when":"not-ok"}],"labels":{"a":"1","b":"x=y"},"hold":true,"begin":"2026-12-01T14:00:00+01:00","retries":3,"array":[0,2,4],"array_throttle":1}`
	if d := cmp.Diff(want, string(body)); d != "" {
		t.Error(d)
	}
}

func TestSubmitDefaults(t *testing.T) {
	got, err := parsed(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&api.Submit{Need: api.Need{GPUs: 1}}, got); d != "" {
		t.Error(d)
	}
	got, err = parsed(t, "", "--gpu-part", "50%", "--unallocated", "--checkpoint", "on-stop")
	zero := int64(0)
	if d := cmp.Diff(&api.Submit{Need: api.Need{GPUs: 1, GPUMilli: 500}, Contract: api.Contract{MinRuntimeSeconds: &zero, CheckpointOnStop: true}}, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestSubmitRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--kind play":                       "want one of training",
		"--unallocated --min-runtime 5m":    "--unallocated has no minimum runtime",
		"--gpus 2 --gpu-part 0.5":           "say one of them",
		"--gpu-part 1.5":                    "want a part of one GPU",
		"--gpu-part 0":                      "want a part of one GPU",
		"--gpus -1":                         "negative",
		"--cpus many":                       "--cpus many: want a number",
		"--memory 16":                       "--memory 16: want a size",
		"--after 1:never":                   "--after",
		"--array 9-1":                       "--array",
		"--begin soon":                      "--begin",
		"--deadline soon":                   "--deadline",
		"--label x":                         "want key=value",
		"--estimate soon":                   "want a duration",
		"--checkpoint sometimes":            "want on-stop, never",
		"--min-runtime 1h2":                 "want a duration",
		"--gpus two":                        "two",
		"--tasks 2 --nodes a,b --gpus 1.5x": "1.5x",
	} {
		if _, err := parsed(t, "", strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}

// TestDirectives: the head of a script has options, and the command line goes before it.
func TestDirectives(t *testing.T) {
	script := "#!/bin/sh\n#ESCALA --gpus 4 --name 'from script'\n# --gpus 5\n\n#ESCALA --label a=1 --nodes n1 --min-runtime 1h\n#ESCALATE\necho\n#ESCALA --gpus 9\n"
	got, err := parsed(t, script, "--gpus", "2", "--label", "a=2", "--label", "b=3", "--nodes", "n2")
	if err != nil {
		t.Fatal(err)
	}
	hour := int64(3600)
	want := &api.Submit{Name: "from script", Need: api.Need{GPUs: 2, Nodes: []string{"n2"}}, Labels: map[string]string{"a": "2", "b": "3"}, Contract: api.Contract{MinRuntimeSeconds: &hour}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for script, want := range map[string]string{
		"#!/bin/sh\n\n#ESCALA --gpu 2":      "job.sh:3: #ESCALA has no option --gpu; did you mean --gpus?",
		"#!/bin/sh\n#ESCALA --gpus x":       `job.sh:2: #ESCALA --gpus "x": want a whole number`,
		"#!/bin/sh\n#ESCALA --gpus":         "job.sh:2: #ESCALA: flag needs an argument: --gpus",
		"#!/bin/sh\n#ESCALA python":         `job.sh:2: #ESCALA holds options alone, but has "python"`,
		"#!/bin/sh\n#ESCALA --name 'x":      "job.sh:2: a quote is not closed",
		"#!/bin/sh\n#ESCALA --server unix:": "job.sh:2: #ESCALA has no option --server",
		"#!/bin/sh\n#ESCALA --help":         "job.sh:2: --help can not stand in #ESCALA",
	} {
		if _, err := parsed(t, script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", script, err, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	w := newWorld(t)
	w.Environ = func() []string { return []string{"A=1", "B=x=y", "SHLVL=2", "ESCALA_TOKEN=secret", "TERM=xterm"} }
	w.Getenv = func(k string) string { return map[string]string{"A": "1"}[k] }
	here, _ := os.Getwd()
	for _, tc := range []struct {
		args  string
		local bool
		want  map[string]string
		dir   string
	}{
		{"", true, map[string]string{"A": "1", "B": "x=y"}, here},
		{"--env-none", true, map[string]string{}, here},
		{"--env-none --env A --env C=3", true, map[string]string{"A": "1", "C": "3"}, here},
		{"--env B=2 --dir /tmp", true, map[string]string{"A": "1", "B": "2"}, "/tmp"},
		{"", false, map[string]string{}, ""},
	} {
		f := newJobFlags()
		if err := f.set.Parse(strings.Fields(tc.args)); err != nil {
			t.Fatal(err)
		}
		r, err := f.run(w.State, tc.local)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.want, r.Env); d != "" || r.Dir != tc.dir {
			t.Errorf("%q: dir %q, env %s", tc.args, r.Dir, d)
		}
	}
}

func TestCommandName(t *testing.T) {
	for line, want := range map[string]string{
		"sleep 60": "sleep", "/usr/bin/python3 /home/a/train.py --lr 1": "train.py", "python -m x": "python", "uv run python train.py": "train.py",
		"sh -c true": "sh", "env": "env", "torchrun --nproc 8 train.py": "torchrun",
	} {
		if got := commandName(strings.Fields(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestSubmitHelp: every field of a submission has an option.
func TestSubmitHelp(t *testing.T) {
	f := newJobFlags()
	for _, name := range []string{"name", "team", "user", "partition", "kind", "gpus", "tasks", "tasks-min", "tasks-max", "gpu-part", "gpu-type", "cpus", "memory", "within", "nodes", "span", "priority", "min-runtime",
		"unallocated", "estimate", "time", "deadline", "checkpoint", "restart-cost", "grace", "not-resumable", "after", "array", "begin", "hold", "retries", "label", "dir", "env", "env-none", "signal", "resume-exit"} {
		if f.set.Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
	w := newWorld(t)
	for _, c := range newRoot(w.State).Commands() {
		if c.GroupID == groupLive && c.Name() != "serve" && c.Name() != "journal" && c.Name() != "token" && c.Name() != "release-control" && (c.Flags().Lookup("server") == nil || c.Flags().Lookup("token") != nil) {
			t.Errorf("%s: wants --server, and never a token on the command line", c.Name())
		}
		if c.GroupID == groupLive && !strings.Contains(c.Example, "escala "+c.Name()) && c.Name() != "journal" {
			t.Errorf("%s has no example of itself", c.Name())
		}
	}
}
