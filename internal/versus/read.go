package versus

import (
	"context"
	"io"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// Report reports of a daemon in shadow, from its journal. It reads all of the window.
func Report(ctx context.Context, d *live.Daemon, o Options) (*api.Shadow, error) {
	list, err := d.Store().Segments(ctx)
	if err != nil {
		return nil, err
	}
	var first int64
	for i, g := range list {
		if i == 0 || g.From < o.Window.From {
			first = g.First
		}
	}
	in, out := io.Pipe()
	defer func() { _ = in.Close() }()
	go func() {
		out.CloseWithError(d.Store().Read(ctx, first, func(b *store.Batch) error {
			_, err := out.Write(b.Body)
			return err
		}))
	}()
	r, err := journal.NewReader("journal", in)
	if err != nil {
		return nil, err
	}
	o.Now = d.Time(d.Now())
	o.Old = func(n int32) *workload.Job {
		j, err := d.Find(ctx, n)
		if err != nil {
			return nil
		}
		return j.Spec
	}
	return Of(r, o)
}
