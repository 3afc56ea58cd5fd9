package observe

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// size remembers how large the store is, which takes time to tell.
type size struct {
	mu    sync.Mutex
	at    time.Time
	bytes int64
}

const (
	sizeAge  = 15 * time.Second
	sizeTime = 2 * time.Second
)

// store is the size of the store, 0 where it cannot be told.
func (m *Metrics) store() int64 {
	s := &m.size
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := m.cfg.Now(); s.at.IsZero() || now.Sub(s.at) > sizeAge {
		ctx, cancel := context.WithTimeout(context.Background(), sizeTime)
		defer cancel()
		n, err := m.d.Store().Size(ctx)
		if err != nil {
			n = 0
		}
		s.bytes, s.at = n, now
	}
	return s.bytes
}

func (m *Metrics) diskValues() (out []prometheus.Metric) {
	if n := m.store(); n > 0 {
		out = append(out, storeBytes.of(float64(n)))
	}
	if m.cfg.State == "" {
		return out
	}
	if all, free, ok := diskOf(m.cfg.State); ok {
		out = append(out, diskSize.of(float64(all)), diskFree.of(float64(free)))
	}
	return out
}
