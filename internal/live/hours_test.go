package live

import (
	"context"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// The ledger by hour is what ran, across restarts in the middle of hours.
func TestTheLedgerByHourIsWhatRan(t *testing.T) {
	bubble(t, lasts(100*time.Minute), nil, func(r *rig) {
		a := r.submit("ana", 4, nil)
		r.wait(10 * time.Minute)
		b := r.submit("eva", 8, func(s *Submission) { s.Job.Contract.HasMinRuntime = true })
		r.wait(25 * time.Minute)
		r.kill()
		r.start()
		r.wait(4 * time.Hour)
		r.submit("ana", 1, nil) // something has to happen for an hour to be written
		rows, err := r.store.Hours(context.Background(), 0, workload.Never)
		if err != nil {
			t.Fatal(err)
		}
		sum := map[string]store.HourRow{}
		for _, x := range rows {
			s := sum[x.User]
			s.Allocated, s.Unallocated = s.Allocated+x.Allocated, s.Unallocated+x.Unallocated
			sum[x.User] = s
			if most := int64(16_000) * hour; x.Allocated > most || x.Unallocated > most || x.Hour%hour != 0 {
				t.Errorf("%+v", x)
			}
		}
		ran := func(id string) int64 {
			j := r.job(id)
			return j.Runs[0].Milli * (j.Runs[0].Left - j.Runs[0].Up)
		}
		if got := sum["ana"].Allocated; got != ran(a) {
			t.Errorf("ana was charged %d, and had %d", got, ran(a))
		}
		if got := sum["eva"]; got.Unallocated != ran(b) || got.Allocated != 0 {
			t.Errorf("eva had %d uncharged, the ledger has %+v", ran(b), got)
		}
	})
}
