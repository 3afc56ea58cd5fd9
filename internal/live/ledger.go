package live

import (
	"cmp"
	"context"
	"slices"

	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// Ledger is the ledger by hour of hours that begin in [from, to), what the present hour has so
// far included.
func (d *Daemon) Ledger(ctx context.Context, from, to workload.Time) ([]store.HourRow, error) {
	recent, err := change(ctx, d, func(t *tx) ([]store.HourRow, error) {
		now := d.hours.present(t.now)
		return append(slices.Clone(d.hours.done), now...), nil
	})
	if err != nil {
		return nil, err
	}
	list, err := d.cfg.Store.Hours(ctx, from, to)
	if err != nil {
		return nil, err
	}
	type id struct {
		hour          workload.Time
		account, user string
	}
	written := make(map[id]bool, len(list))
	for _, r := range list {
		written[id{r.Hour, r.Account, r.User}] = true
	}
	for _, r := range recent { // what was written since is later
		if r.Hour >= from && r.Hour < to && !written[id{r.Hour, r.Account, r.User}] {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b store.HourRow) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User))
	})
	return list, nil
}

// StateHash is the SHA-256 of the engine's state, which is what the journal folds to.
func (d *Daemon) StateHash(ctx context.Context) (string, error) {
	return read(ctx, d, func() string { return d.engine.Snapshot().Settled().Hash() })
}
