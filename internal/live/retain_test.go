package live

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/workload"
)

// What is too old goes, the state and the ledger by hour stay.
func TestRetention(t *testing.T) {
	bubble(t, lasts(50*time.Minute), nil, func(r *rig) {
		for range 6 {
			r.submit("ana", 4, nil)
			r.wait(2 * time.Hour)
			r.kill() // each start begins a segment
			r.start()
		}
		ctx := context.Background()
		before, err := r.store.Segments(ctx)
		if err != nil {
			t.Fatal(err)
		}
		hours, err := r.store.Hours(ctx, 0, workload.Never)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.d.retain(ctx, Retention{Journal: 5 * time.Hour, History: 3 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		after, err := r.store.Segments(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(after) >= len(before) || after[0].To < r.d.clock.last-6*hour {
			t.Errorf("segments before %+v, after %+v", before, after)
		}
		again, err := r.store.Hours(ctx, 0, workload.Never)
		if err != nil || len(again) != len(hours) || len(hours) < 5 {
			t.Errorf("%d hours of the ledger before, %d after: %v", len(hours), len(again), err)
		}
		if _, err := r.store.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
		if _, err := r.d.cfg.Store.EndedByID(ctx, "1"); err == nil {
			t.Error("a job that ended long ago is still known")
		}
		in, err := journal.NewReader("journal", bytes.NewReader(r.export()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Replay(in, true); err != nil {
			t.Errorf("what is left does not stand by itself: %v", err)
		}
	})
}
