package observe

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/workload"
)

// TestOneLineForEachChange: of what an operator does and of what befalls nodes, with keys that stay.
func TestOneLineForEachChange(t *testing.T) {
	var b bytes.Buffer
	l := NewLog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	inBubble(t, nil, func(r *rig) {
		r.stop()
		r.start(l)
		l.Begin(r.d)
		ctx := r.t.Context()
		done, err := r.d.Submit(ctx, &live.Submission{By: "ann", Job: workload.Job{User: "ann", Team: "a", Need: workload.Need{GPUs: 16}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.d.Hold(ctx, []int32{done.First}, true, "op", "wait for the disk"); err != nil {
			t.Fatal(err)
		}
		if err := r.d.Drain(ctx, []int32{0}, "op", "fan"); err != nil {
			t.Fatal(err)
		}
		if err := r.d.Resume(ctx, []int32{0}, "op"); err != nil {
			t.Fatal(err)
		}
		r.machine.Crash(1)
		synctest.Wait()
		r.machine.Return(1)
		synctest.Wait()
	})
	for _, want := range []string{
		`level=INFO msg="a job is held" job=1 hold=operator by=op why="wait for the disk"`,
		`level=WARN msg="a node was drained" node=n1 by=op why=fan`,
		`level=INFO msg="a node was resumed" node=n1 by=op`,
		`level=ERROR msg="a node is down" node=n2 why="the node does not answer any more"`,
		`level=INFO msg="a node is up" node=n2`,
	} {
		if n := strings.Count(b.String(), want); n != 1 {
			t.Errorf("%d lines %s in\n%s", n, want, b.String())
		}
	}
}

// TestLinesAreDocumented: what is logged of facts is what the document lists.
func TestLinesAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind, x := range lines {
		if !strings.Contains(string(data), "`"+x.text+"`") {
			t.Errorf("docs/observability.md lacks %q, of %s", x.text, kind)
		}
	}
	for c := fact.CausePreempted; c <= fact.CauseMaintenance; c++ { // each has a place
		if s := c.String(); s != "node-failure" && s != "cancelled" && !strings.Contains(strings.Join(lostCauses, " "), s) {
			t.Errorf("what is lost by %s is not shown", s)
		}
	}
}
