package auth

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// failBurst attempts may fail at once from an address, and one each failEvery after.
	failBurst = 10
	failEvery = 6 * time.Second
	// failAddresses bounds how many addresses are remembered.
	failAddresses = 4096
)

// failures counts attempts that failed, by address.
type failures struct {
	now func() time.Time
	mu  sync.Mutex
	by  map[netip.Prefix]*rate.Limiter
}

func newFailures(now func() time.Time) *failures {
	return &failures{now: now, by: map[netip.Prefix]*rate.Limiter{}}
}

// count takes in one that failed, and returns how long to wait if there were too many.
func (f *failures) count(remote string) time.Duration {
	key, now := network(remote), f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.by[key]
	if l == nil {
		f.room(now)
		l = rate.NewLimiter(rate.Every(failEvery), failBurst)
		f.by[key] = l
	}
	if l.AllowN(now, 1) {
		return 0
	}
	return ceil(max(time.Duration((1-l.TokensAt(now))*float64(failEvery)), time.Second))
}

// room forgets addresses that have been quiet, and any down to three quarters, so that more can be
// remembered and the next ones need not look at all of them again.
func (f *failures) room(now time.Time) {
	if len(f.by) < failAddresses {
		return
	}
	for k, l := range f.by {
		if l.TokensAt(now) >= failBurst {
			delete(f.by, k)
		}
	}
	for k := range f.by {
		if len(f.by) <= failAddresses*3/4 {
			return
		}
		delete(f.by, k)
	}
}

// network is what counts as one address: in IPv6 whoever has one has 2^64.
func network(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits)
	return p
}
