package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// rootOnly skips a test of what only root can do.
func rootOnly(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root runs jobs as others")
	}
}

// started opens a world, runs one job to its end, and returns what it wrote.
func (g *rig) runToEnd(w *World, r *reports, o world.Order) (world.Report, string) {
	g.t.Helper()
	w.Do(o)
	end := g.end(r, o.Run)
	return end, g.log(w, o.Run)
}

// end waits for the end of a run.
func (g *rig) end(r *reports, id world.Run) world.Report {
	g.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if x, ok := r.endOf(id); ok {
			return x
		}
		time.Sleep(time.Millisecond)
	}
	g.t.Fatalf("%v does not end", id)
	return world.Report{}
}

func (r *reports) endOf(id world.Run) (world.Report, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all[id] {
		if x.Kind == fact.JobFinished || x.Kind == fact.JobStopped || x.Kind == fact.StartFailed {
			return x, true
		}
	}
	return world.Report{}, false
}

func (r *reports) count(id world.Run, k fact.Kind) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all[id] {
		if x.Kind == k {
			n++
		}
	}
	return n
}

func (g *rig) await(r *reports, id world.Run, k fact.Kind) {
	g.t.Helper()
	for range 30_000 {
		if r.count(id, k) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	g.t.Fatalf("no %v of %v", k, id)
}

func (g *rig) log(w *World, id world.Run) string {
	g.t.Helper()
	in, _, err := w.OpenLog(id, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	defer in.Close()
	b, err := io.ReadAll(in)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}

// world opens a world that has begun and is closed at the end.
func (g *rig) world() (*World, *reports) {
	g.t.Helper()
	w := g.open()
	r := newReports()
	if err := w.Begin(g.t.Context(), nil, r.report); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { w.Close() })
	return w, r
}

func TestEnvironment(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	o := g.add(Payload{Script: "env; echo; ls /proc/self/fd | wc -l; umask; pwd; id -u; id -g; grep NoNewPrivs /proc/self/status; ps -o sid= -p $$ | tr -d ' ' | sed s/^$$\\$/leader/",
		Env: map[string]string{"MINE": "yes", "ESCALA_GPUS": "99", "CUDA_VISIBLE_DEVICES": "7"}, Umask: "027"})
	o.ID, o.Attempt = "12_7", 3
	o.Protected = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	o.Place[0].GPUs, o.Place[0].Count = 0b101, 2
	o.Spec = &workload.Job{User: "ann", Team: "lab", Labels: map[string]string{"wandb": "run-1", "mlflow.id": "x y"}, Contract: workload.Contract{Grace: 90_000}}
	end, out := g.runToEnd(w, r, o)
	if end.Outcome != workload.OutcomeCompleted {
		t.Fatalf("%+v\n%s", end, out)
	}
	for _, want := range []string{"MINE=yes", "ESCALA_JOB_ID=12_7", "ESCALA_JOB_NUMBER=0", "ESCALA_ATTEMPT=3", "ESCALA_USER=ann", "ESCALA_TEAM=lab",
		"ESCALA_GPUS=2", "ESCALA_NODE=" + w.node.Name, "ESCALA_PROTECTED_UNTIL=2026-05-01T10:00:00Z", "ESCALA_PROTECTED_UNTIL_UNIX=1777629600",
		"ESCALA_UNALLOCATED=false", "ESCALA_CHECKPOINT_DIR=" + w.path("checkpoints", "0"), "ESCALA_GRACE_SECONDS=90", "ESCALA_ARRAY_INDEX=7",
		"CUDA_VISIBLE_DEVICES=0,2", "NVIDIA_VISIBLE_DEVICES=0,2", "ESCALA_LABEL_WANDB=run-1", "ESCALA_LABEL_MLFLOW_ID=x y", "0027", filepath.Join(g.base, "home")} {
		if !strings.Contains("\n"+out, "\n"+want+"\n") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if os.Geteuid() == 0 {
		for _, want := range []string{"65534\n65534\n", "NoNewPrivs:\t1"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	if !strings.Contains(out, "\n4\n") { // ls has 0, 1, 2 and the folder it reads
		t.Errorf("the job has other files open than it should:\n%s", out)
	}
}

func TestNoGPUs(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	o := g.script("echo [$CUDA_VISIBLE_DEVICES] $NVIDIA_VISIBLE_DEVICES $ESCALA_GPUS")
	o.Place[0].GPUs, o.Place[0].Count, o.Place[0].CPU = 0, 0, 1000
	if _, out := g.runToEnd(w, r, o); out != "[] void 0\n" {
		t.Errorf("got %q", out)
	}
}

func TestScripts(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	for script, want := range map[string]string{
		"echo $0 | tail -c 7":                       "script\n",
		"#!/bin/sh -u\necho $- | grep -o u":         "u\n",
		"#! /usr/bin/env  sh\r\necho a; echo b >&2": "a\nb\n",
	} {
		if end, out := g.runToEnd(w, r, g.script("%s", script)); out != want {
			t.Errorf("%q: got %q, want %q; %+v", script, out, want, end)
		}
	}
}

func TestStartFails(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	id := uint32(0)
	for name, c := range map[string]struct {
		p   Payload
		own bool
	}{
		"no such program":   {Payload{Argv: []string{"no-such-program"}}, true},
		"no such path":      {Payload{Argv: []string{"/no/such/program"}}, true},
		"not executable":    {Payload{Argv: []string{"/etc/passwd"}}, true},
		"no such directory": {Payload{Argv: []string{"true"}, Dir: "/no/such/dir"}, true},
		"no interpreter":    {Payload{Script: "#!/no/such/shell\n"}, true},
		"closed directory":  {Payload{Argv: []string{"true"}, Dir: "/root"}, true},
		"root":              {Payload{Argv: []string{"true"}, UID: &id, GID: &id}, true},
		"output":            {Payload{Argv: []string{"true"}, Stdout: "/no/such/dir/out"}, true},
		"two things":        {Payload{Argv: []string{"true"}, Script: "true"}, true},
	} {
		if name == "closed directory" && os.Geteuid() != 0 {
			continue
		}
		o := g.add(c.p)
		w.Do(o)
		if end := g.end(r, o.Run); end.Kind != fact.StartFailed || end.Own != c.own || end.Node != -1 {
			t.Errorf("%s: %+v", name, end)
		} else {
			t.Logf("%s: %s", name, end.Text)
		}
	}
	o := g.script("true")
	delete(g.payloads, o.Job)
	w.Do(o)
	if end := g.end(r, o.Run); end.Kind != fact.StartFailed || end.Own || end.Node != -1 {
		t.Errorf("no payload: %+v", end)
	}
	o = g.script("true")
	o.Place[0].GPUs = 1 << 40
	w.Do(o)
	if end := g.end(r, o.Run); end.Kind != fact.StartFailed || !end.Own {
		t.Errorf("foreign GPUs: %+v", end)
	}
}

func TestExits(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	hundred, none := 100, -1
	for _, c := range []struct {
		p    Payload
		kind fact.Kind
		exit int32
	}{
		{Payload{Script: "kill -SEGV $$"}, fact.JobFinished, 128 + 11},
		{Payload{Script: "exit 100", ResumeExit: &hundred}, fact.JobStopped, 100},
		{Payload{Script: "exit 75", ResumeExit: &hundred}, fact.JobFinished, 75},
		{Payload{Script: "exit 75", ResumeExit: &none}, fact.JobFinished, 75},
	} {
		if end, _ := g.runToEnd(w, r, g.add(c.p)); end.Kind != c.kind || end.Exit != c.exit {
			t.Errorf("%+v: %+v", c, end)
		}
	}
}

func TestReasonAndSignal(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	o := g.add(Payload{Signal: "USR1", Script: fmt.Sprintf("trap 'cat $ESCALA_REASON_FILE; exit 0' USR1\ntouch %s/ready/0.1\nwhile :; do sleep 0.01; done", g.base)})
	w.Do(o)
	g.await(r, o.Run, fact.JobStarted)
	g.ready(t, o.Run)
	before := time.Now()
	w.Do(world.Order{Do: fact.Stop, Run: o.Run, Cause: fact.CausePreempted, Grace: time.Minute, Why: "job 7 goes before it"})
	if end := g.end(r, o.Run); end.Kind != fact.JobStopped || end.Exit != 0 {
		t.Errorf("%+v", end)
	}
	var why struct {
		Cause, Sentence string
		Deadline        time.Time
	}
	log := g.log(w, o.Run) // the shell may have said something before
	if err := json.Unmarshal([]byte(log[strings.IndexByte(log, '{'):]), &why); err != nil {
		t.Fatal(err)
	}
	if left := why.Deadline.Sub(before); why.Cause != "preempted" || why.Sentence != "job 7 goes before it" || left < 50*time.Second || left > 70*time.Second {
		t.Errorf("%+v", why)
	}
}

func TestCheckpoints(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	gate := g.gate(0)
	o := g.script("cat $ESCALA_CHECKPOINT_DIR/state 2>/dev/null; echo saved >$ESCALA_CHECKPOINT_DIR/state; touch $ESCALA_CHECKPOINT_DIR/.saved; head -c 1 %s >/dev/null; exit 75", gate)
	w.Do(o)
	g.await(r, o.Run, fact.JobCheckpointed)
	g.release(o.Run)
	if end := g.end(r, o.Run); end.Cause != fact.CauseYielded {
		t.Errorf("%+v", end)
	}
	n := r.count(o.Run, fact.JobCheckpointed)
	o.Attempt = 2
	w.Do(o)
	g.await(r, o.Run, fact.JobCheckpointed)
	g.release(o.Run)
	g.end(r, o.Run)
	if log := g.log(w, o.Run); log != "saved\n" {
		t.Errorf("the state of the first attempt is not there for the second: %q", log)
	}
	t.Logf("%d and %d reports", n, r.count(o.Run, fact.JobCheckpointed))
}

func TestOutputFiles(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	o := g.add(Payload{Script: "echo out; echo err >&2", Stdout: "o-%j-%n-%a%%.txt", Umask: "007"})
	end, log := g.runToEnd(w, r, o)
	if end.Outcome != workload.OutcomeCompleted {
		t.Fatalf("%+v", end)
	}
	name := filepath.Join(g.base, "home", "o-job-0-0-1%.txt")
	got, err := os.ReadFile(name)
	if err != nil || string(got) != "out\nerr\n" {
		t.Errorf("%q %v", got, err)
	}
	if info, _ := os.Stat(name); info.Mode().Perm() != 0o660 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if !strings.Contains(log, name) {
		t.Errorf("the log does not say where the output is: %q", log)
	}
	o = g.add(Payload{Script: "echo out; echo err >&2", Stderr: "e.txt"})
	if _, log := g.runToEnd(w, r, o); !strings.HasSuffix(log, "out\n") {
		t.Errorf("%q", log)
	}
	if got, _ := os.ReadFile(filepath.Join(g.base, "home", "e.txt")); string(got) != "err\n" {
		t.Errorf("%q", got)
	}
}

func TestLogRotates(t *testing.T) {
	g := newRig(t)
	g.opts.LogSegment, g.opts.LogSegments = 10_000, 3
	w, r := g.world()
	o := g.script("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; echo last >&2")
	w.Do(o)
	g.end(r, o.Run)
	in, at, err := w.OpenLog(o.Run, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(in)
	in.Close()
	var want bytes.Buffer
	for i := range 20000 {
		fmt.Fprintln(&want, i)
	}
	want.WriteString("last\n")
	if at != int64(want.Len()) {
		t.Errorf("it ends at %d, want %d", at, want.Len())
	}
	if len(got) < 20_000 || len(got) > 30_000 || !bytes.HasSuffix(want.Bytes(), got) {
		t.Errorf("%d bytes, which are not the last of what was written", len(got))
	}
	from := at - 100
	in, at, _ = w.OpenLog(o.Run, from)
	got, _ = io.ReadAll(in)
	in.Close()
	if string(got) != string(want.Bytes()[from:]) || at != int64(want.Len()) {
		t.Errorf("from %d: %q", from, got)
	}
	in, at, _ = w.OpenLog(o.Run, at+1000)
	if got, _ = io.ReadAll(in); len(got) != 0 || at != int64(want.Len()) {
		t.Errorf("past the end: %q at %d", got, at)
	}
	in.Close()
	if _, _, err := w.OpenLog(world.Run{Job: 77, Attempt: 1}, 0); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("no log: %v", err)
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || u.Unwrap() == nil {
			return err
		}
		err = u.Unwrap()
	}
}

// TestLogLinks: who owns a log's folder cannot have the daemon read what it may not.
func TestLogLinks(t *testing.T) {
	rootOnly(t)
	g := newRig(t)
	w, r := g.world()
	o := g.script("cd $(dirname $ESCALA_CHECKPOINT_DIR)/../logs/0.1; rm log.*; ln -s /etc/shadow log.00000000000000000000; mkfifo log.00000000000000000009")
	w.Do(o)
	g.end(r, o.Run)
	if in, _, err := w.OpenLog(o.Run, 0); err == nil {
		b, _ := io.ReadAll(in)
		in.Close()
		t.Errorf("read %d bytes through a link", len(b))
	}
}

func TestPrivacy(t *testing.T) {
	rootOnly(t)
	g := newRig(t)
	w, r := g.world()
	gate := g.gate(0)
	o := g.add(Payload{Script: fmt.Sprintf("cat ../order.json $(dirname $ESCALA_REASON_FILE)/order.json; ls $(dirname $ESCALA_REASON_FILE) ..; touch %s/ready/0.1; head -c 1 %s >/dev/null", g.base, gate),
		Env: map[string]string{"TOKEN": "geheim"}})
	w.Do(o)
	g.await(r, o.Run, fact.JobStarted)
	g.ready(t, o.Run)
	w.mu.Lock()
	var pid int
	for s := range w.supers {
		pid = s.pid
	}
	w.mu.Unlock()
	for _, f := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, f))
		if err != nil || bytes.Contains(b, []byte("geheim")) || bytes.Contains(b, []byte("ESCALA_RUN=")) {
			t.Errorf("%s of the supervisor: %q %v", f, b, err)
		}
	}
	g.release(o.Run)
	g.end(r, o.Run)
	if log := g.log(w, o.Run); strings.Contains(log, "geheim") || strings.Contains(log, "stop.json") {
		t.Errorf("the job can read its order:\n%s", log)
	}
	for name, mode := range map[string]os.FileMode{"logs/0.1": 0o700, "checkpoints/0": 0o700, "runs/0.1": 0o711, "runs/0.1/order.json": 0o600, "logs/0.1/" + segmentName(0): 0o600} {
		info, err := os.Stat(w.path(name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	var st unix.Stat_t
	if unix.Stat(w.path("logs/0.1", segmentName(0)), &st); st.Uid != nobody {
		t.Errorf("the log belongs to %d", st.Uid)
	}
}

func TestMeter(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	gate := g.gate(0)
	o := g.script("(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); sleep 1000 & touch %s/ready/0.1; exec head -c 1 %s", g.base, gate)
	w.Do(o)
	g.await(r, o.Run, fact.JobStarted)
	g.ready(t, o.Run)
	var s world.Sample
	for range 100 { // until the second program is loaded
		var err error
		if s, err = w.Measure(t.Context()); err != nil || len(s.Runs) != 1 {
			t.Fatalf("%+v %v", s, err)
		}
		if s.Runs[0].Memory > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if m := s.Runs[0]; m.Run != o.Run || m.Processes < 2 || m.CPU <= 0 || m.Memory < 1 {
		t.Errorf("%+v", m)
	}
	g.release(o.Run)
	g.end(r, o.Run)
}

func TestPrune(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	for range 4 {
		o := g.script("echo hello")
		w.Do(o)
		g.end(r, o.Run)
		if o.Job != 3 {
			w.Settled(o.Run)
		}
		for o.Job != 3 && exists(w.path("runs", runName(o.Run))) {
			time.Sleep(time.Millisecond)
		}
	}
	logs, points, err := w.Prune(Retention{LogAge: time.Hour, Logs: 2, CheckpointAge: time.Hour}, func(int32) bool { return false })
	if logs != 1 || points != 0 || err != nil {
		t.Errorf("by count: %d %d %v", logs, points, err)
	}
	old := time.Now().Add(-2 * time.Hour)
	for i := range 4 {
		os.Chtimes(w.path("logs", strconv.Itoa(i)+".1", segmentName(0)), old, old)
		os.Chtimes(w.path("logs", strconv.Itoa(i)+".1"), old, old)
		os.Chtimes(w.path("checkpoints", strconv.Itoa(i)), old, old)
	}
	logs, points, err = w.Prune(Retention{LogAge: time.Hour, CheckpointAge: time.Hour}, func(job int32) bool { return job == 2 })
	if logs != 2 || points != 3 || err != nil {
		t.Errorf("by age: %d %d %v", logs, points, err)
	}
	if !exists(w.path("logs", "3.1")) || !exists(w.path("checkpoints", "2")) {
		t.Error("what is not settled, or alive, has lost what it needs")
	}
}

func TestOneWorldAtATime(t *testing.T) {
	g := newRig(t)
	w := g.open()
	if _, err := Open(t.Context(), g.opts); err == nil {
		t.Error("two worlds share a state directory")
	}
	w.Close()
	g.open().Close()
}
