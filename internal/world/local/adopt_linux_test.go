package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// put writes files into the directory of a run, as something that went wrong has left them.
func (g *rig) put(w *World, r world.Run, files map[string]string) {
	g.t.Helper()
	dir := w.path("runs", runName(r))
	if err := os.MkdirAll(dir, 0o711); err != nil {
		g.t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			g.t.Fatal(err)
		}
	}
}

// TestHalfBegun: a daemon that went away before there was a supervisor has not carried out the order.
func TestHalfBegun(t *testing.T) {
	for _, files := range []map[string]string{{}, {orderFile: "{}"}, {orderFile: "{}", lockFile: ""}} {
		g := newRig(t)
		o := g.script("exit 4")
		w, r := g.open(), newReports()
		g.put(w, o.Run, files)
		if err := w.Begin(t.Context(), []world.Belief{{Order: o}}, r.report); err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if n := len(r.all[o.Run]); n > 0 {
			t.Errorf("%v: %+v", files, r.all)
		}
		w.Do(o)
		if end := g.end(r, o.Run); end.Kind != fact.JobFinished || end.Exit != 4 {
			t.Errorf("%v: %+v", files, end)
		}
	}
}

// TestDamaged: what a power cut has made of the records costs the run, not the daemon.
func TestDamaged(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		up    bool
		kind  fact.Kind
	}{
		{map[string]string{orderFile: "", lockFile: "4000000\n", startedFile: ""}, true, fact.JobStopped},
		{map[string]string{orderFile: "{\"boot\":\"old\"}", lockFile: "4000000\n", startedFile: "{}", endedFile: ""}, true, fact.JobStopped},
		{map[string]string{orderFile: "{}", lockFile: "4000000\n"}, false, fact.JobStopped}, // another boot
		{map[string]string{lockFile: "4000000\n", stopFile: "{\"cause\":\"drain\"}"}, true, fact.JobStopped},
	} {
		g := newRig(t)
		o := g.script("exit 4")
		w, r := g.open(), newReports()
		g.put(w, o.Run, c.files)
		if err := w.Begin(t.Context(), []world.Belief{{Order: o, Up: c.up}}, r.report); err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if end, ok := r.endOf(o.Run); !ok || end.Kind != c.kind {
			t.Errorf("%v: %+v", c.files, end)
		}
	}
}

// TestSupervisorNeverBegan: it lived and wrote nothing, so the start failed by the node's fault.
func TestSupervisorNeverBegan(t *testing.T) {
	g := newRig(t)
	g.opts.Executable = "/bin/false"
	w, r := g.world()
	o := g.script("true")
	w.Do(o)
	if end := g.end(r, o.Run); end.Kind != fact.StartFailed || end.Node != 0 || end.Own {
		t.Errorf("%+v", end)
	}
	w.opts.Executable = "/no/such/program"
	o = g.script("true")
	w.Do(o)
	if end := g.end(r, o.Run); end.Kind != fact.StartFailed || end.Node != 0 || end.Own {
		t.Errorf("%+v", end)
	}
}

// TestWithoutInotify: files are looked at now and then.
func TestWithoutInotify(t *testing.T) {
	g := newRig(t)
	w, r := g.open(), newReports()
	w.watch.close()
	w.watch.file = nil
	if err := w.Begin(t.Context(), nil, r.report); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	gate := g.gate(0)
	o := g.script("touch $ESCALA_CHECKPOINT_DIR/.saved; head -c 1 %s >/dev/null; exit 2", gate)
	w.Do(o)
	g.await(r, o.Run, fact.JobStarted)
	g.await(r, o.Run, fact.JobCheckpointed)
	g.release(o.Run)
	if end := g.end(r, o.Run); end.Outcome != workload.OutcomeFailed || end.Exit != 2 {
		t.Errorf("%+v", end)
	}
}

// TestSuspended: a job that is held by SIGSTOP hears that it is to stop.
func TestSuspended(t *testing.T) {
	g := newRig(t)
	w, r := g.world()
	o := g.script("trap 'exit 0' TERM; touch %s/ready/0.1; kill -STOP $$; sleep 1000 & wait", g.base)
	w.Do(o)
	g.await(r, o.Run, fact.JobStarted)
	g.ready(t, o.Run)
	time.Sleep(20 * time.Millisecond)
	w.Do(world.Order{Do: fact.Stop, Run: o.Run, Cause: fact.CausePreempted, Grace: 10 * time.Second})
	if end := g.end(r, o.Run); end.Kind != fact.JobStopped || end.Exit != 0 {
		t.Errorf("%+v", end)
	}
}
