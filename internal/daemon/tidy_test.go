package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/escala-sched/escala/internal/world/local"
)

type fakePruner struct{ asked []local.Retention }

func (f *fakePruner) Prune(keep local.Retention, _ func(int32) bool) (logs, checkpoints int, err error) {
	f.asked = append(f.asked, keep)
	return 1, 1, errors.New("not all of it")
}

func TestPruning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fakePruner{}
		go prune(ctx, f, nil, pruneAfter, DefaultRuns(), slog.New(slog.DiscardHandler))
		time.Sleep(3*time.Hour + 2*time.Minute)
		synctest.Wait()
		cancel()
		if len(f.asked) != 4 || f.asked[0].LogAge != KeepLogs {
			t.Errorf("pruned %d times in three hours: %+v", len(f.asked), f.asked)
		}
	})
}

func TestRetentionOfRunsInTheFile(t *testing.T) {
	f, err := ParseFile("f.yaml", []byte("retention:\n  logs: 7d\n  checkpoints: 0s\n"))
	if err != nil {
		t.Fatal(err)
	}
	var o Options
	if err := f.Apply(&o); err != nil {
		t.Fatal(err)
	}
	if k := o.KeepRuns; k.LogAge != 7*24*time.Hour || k.CheckpointAge != 0 || k.Logs != KeepLogsMost {
		t.Errorf("%+v", k)
	}
}
