package auth

import (
	"context"
	"net"
	"net/http"
)

// peer is the process at the other end of a unix socket.
type peer struct {
	uid, gid int
	groups   []int
	// err: the system did not tell.
	err error
}

// ConnContext is to be the ConnContext of the http.Server: it notes who opened a unix socket. It
// asks the system alone and is quick.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return ctx // what is wrapped is not trusted: it needs a token
	}
	return context.WithValue(ctx, peerKey, credentials(u))
}

func peerOf(ctx context.Context) (*peer, bool) {
	p, ok := ctx.Value(peerKey).(*peer)
	return p, ok
}

// forwarded are headers that proxies set.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"}

// socket knows who is at the other end of a socket.
func (a *Auth) socket(r *http.Request, p *peer) (*Identity, error) {
	if p.err != nil {
		a.log.Error("the system does not tell who opened the socket", "error", p.err)
		return nil, refuse(http.StatusUnauthorized, "the system does not tell who opened the socket: send a token")
	}
	// Else everybody behind a proxy would be whom the proxy runs as, often root.
	for _, h := range forwarded {
		if _, ok := r.Header[h]; ok {
			return nil, refuse(http.StatusForbidden, "this came through a proxy, whose user the socket would show: proxies have to use TCP, and clients a token")
		}
	}
	name, groups := a.people.look(r.Context(), p)
	return a.resolve(&Identity{User: name, UID: p.uid, GID: p.gid, Groups: groups, Via: ViaSocket}), nil
}
