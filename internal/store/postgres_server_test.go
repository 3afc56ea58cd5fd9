package store

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/escala-sched/escala/internal/store/pgtest"
)

// shared is the server that tests share.
var shared = sync.OnceValue(func() *pgtest.Server {
	started.Store(true)
	return pgtest.New(memory())
})

// started tells stopPostgres whether there is something to stop.
var started atomic.Bool

// postgres is the server that tests share; it skips the test where there is none.
func postgres(t testing.TB) *pgtest.Server {
	t.Helper()
	p := shared()
	if p.Why != "" {
		t.Skip("no PostgreSQL for the tests: " + p.Why)
	}
	return p
}

func stopPostgres() {
	if started.Load() {
		if err := shared().Remove(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
		}
	}
}
