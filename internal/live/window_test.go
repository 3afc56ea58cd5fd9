package live

import (
	"errors"
	"testing"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// TestWindowOverRestarts: a window is set, survives a restart and a change of policy, begins and
// ends while the scheduler may be away, and is remembered for a while.
func TestWindowOverRestarts(t *testing.T) {
	bubble(t, lasts(3*time.Hour), nil, func(r *rig) {
		ctx := r.t.Context()
		loop := r.submit("ana", 8, func(s *Submission) {
			s.Job.Contract.HasMinRuntime, s.Job.Contract.MinRuntime = true, 0
			s.Job.Need.Nodes = "n1"
		})
		r.wait(time.Minute)
		node := r.job(loop).Run().Place[0].Node
		now := time.Now()
		id, err := r.d.SetWindow(ctx, fact.Window{Nodes: []int32{node}}, now.Add(time.Hour), now.Add(2*time.Hour), "root", "a pump")
		if err != nil || id != "r1" {
			t.Fatalf("%q, %v", id, err)
		}
		var late *Conflict
		if _, err := r.d.SetWindow(ctx, fact.Window{ID: "r1", Nodes: []int32{0}}, now, now.Add(time.Hour), "root", ""); !errors.As(err, &late) {
			t.Errorf("two windows of one name: %v", err)
		}
		var wrong *Invalid
		if _, err := r.d.SetWindow(ctx, fact.Window{Nodes: []int32{0}}, now, now.Add(-time.Hour), "root", ""); !errors.As(err, &wrong) {
			t.Errorf("a window that is over: %v", err)
		}
		if _, err := r.d.SetWindow(ctx, fact.Window{Nodes: []int32{7}}, now, now.Add(time.Hour), "root", ""); !errors.As(err, &wrong) {
			t.Errorf("a window on a node that there is not: %v", err)
		}
		r.kill()
		r.start()
		r.want(loop, "running")
		r.wait(59*time.Minute + 55*time.Second)
		if j := r.job(loop); j.Fate() != "waiting" && j.Fate() != "stopping" || j.Run().StopWhy.Code != fact.InWindow {
			t.Errorf("before the window it is %s: %v", j.Fate(), j.Run().StopWhy.Code)
		}
		r.wait(time.Minute)
		r.want(loop, "waiting")
		r.kill()
		r.wait(70 * time.Minute) // it is over when the scheduler is back
		r.start()
		r.wait(time.Minute)
		r.want(loop, "running")
		if w := r.d.Windows(); len(w) != 1 || w[0].By != "root" || w[0].Text != "a pump" || w[0].For() != "maintenance" || w[0].Lifted != workload.Unknown {
			t.Errorf("%+v", w)
		}
		if err := r.d.LiftWindow(ctx, "r1", "root"); !errors.As(err, &late) {
			t.Errorf("a window that is over was lifted: %v", err)
		}
		now = time.Now()
		if _, err := r.d.SetWindow(ctx, fact.Window{ID: "x", Nodes: []int32{0, 1}, Teams: []string{"eva"}}, now, now.Add(time.Hour), "root", ""); err != nil {
			t.Fatal(err)
		}
		if err := r.d.LiftWindow(ctx, "x", "eva"); err != nil {
			t.Fatal(err)
		}
		r.wait(time.Minute)
		r.want(loop, "running") // it was stopped, and started again at once
		if w := r.d.Windows(); len(w) != 2 || w[1].LiftedBy != "eva" || w[1].For() != "team eva" {
			t.Errorf("%+v", w)
		}
		r.wait(9 * 24 * time.Hour)
		now = time.Now()
		if _, err := r.d.SetWindow(ctx, fact.Window{Nodes: []int32{0}}, now, now.Add(time.Hour), "root", ""); err != nil {
			t.Fatal(err)
		}
		if w := r.d.Windows(); len(w) != 1 {
			t.Errorf("windows of last week are still listed: %+v", w)
		}
	})
}
