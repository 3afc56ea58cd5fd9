package daemon

import (
	"net"
	"net/http"
	"sync"
)

// mostConns is how many connections one listener has open at most. Others wait: without a bound
// those who open many would take the files that the journal and jobs need.
const mostConns = 4096

// bounded accepts no more than so many connections at once.
type bounded struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
}

func bound(l net.Listener, most int) *bounded {
	return &bounded{Listener: l, slots: make(chan struct{}, most), done: make(chan struct{})}
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return c, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}

// state gives the place of a connection back once it is closed. The connection itself is not
// wrapped: who is at the other end of a socket is told by it.
func (b *bounded) state(_ net.Conn, s http.ConnState) {
	if s == http.StateClosed || s == http.StateHijacked {
		<-b.slots
	}
}
