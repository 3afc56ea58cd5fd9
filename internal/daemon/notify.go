package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/escala-sched/escala/internal/live"
)

// notify tells systemd how the daemon is, where systemd wants to know: sd_notify(3).
func notify(state string) {
	addr := os.Getenv("NOTIFY_SOCKET")
	if addr == "" {
		return
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: addr, Net: "unixgram"})
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_, _ = c.Write([]byte(state))
}

// tell tells systemd when the loop has begun to answer, when it ends, and in between, twice in the
// time that a watchdog allows, that it answers. A journal that cannot be written is no reason to be
// restarted: the loop is alive, and jobs go on.
func tell(ctx context.Context, d *live.Daemon) {
	if d.Ping(ctx) == nil {
		notify("READY=1")
	}
	defer notify("STOPPING=1")
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if pid := os.Getenv("WATCHDOG_PID"); err != nil || us <= 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		<-ctx.Done()
		return
	}
	every := time.Duration(us) * time.Microsecond / 2
	for {
		if err := d.Ping(ctx); err == nil || errors.Is(err, live.ErrUnavailable) {
			notify("WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}
