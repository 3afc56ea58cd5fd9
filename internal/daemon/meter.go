package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/internal/world"
)

// measureEvery is how often activity is measured.
const measureEvery = 15 * time.Second

// meter keeps the last measurement of a world that can measure.
type meter struct {
	of     world.Meter
	log    *slog.Logger
	sample atomic.Pointer[world.Sample]
}

func newMeter(w world.World, log *slog.Logger) *meter {
	m := &meter{log: log}
	m.of, _ = w.(world.Meter)
	return m
}

func (m *meter) last() world.Sample {
	if s := m.sample.Load(); s != nil {
		return *s
	}
	return world.Sample{}
}

func (m *meter) run(ctx context.Context) {
	if m.of == nil {
		return
	}
	failed := false
	for {
		s, err := m.of.Measure(ctx)
		switch {
		case err == nil:
			m.sample.Store(&s)
			failed = false
		case ctx.Err() == nil && !failed:
			m.log.Warn("activity cannot be measured", "err", err)
			failed = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(measureEvery):
		}
	}
}
