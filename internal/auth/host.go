package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// host is a name by which the server may be called; port 0 = any.
type host struct {
	name string
	port uint16
}

// parseHost reads the value of a Host header. An IPv6 address comes without brackets.
func parseHost(s string) (host, bool) {
	var h host
	name := s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") && (strings.Count(s, ":") == 1 || strings.HasPrefix(s, "[")) {
		port := s[i+1:]
		name = s[:i]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '+' {
			return h, false
		}
		h.port = uint16(n)
	}
	if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
		ip, err := netip.ParseAddr(name[1 : len(name)-1])
		if err != nil || !ip.Is6() || ip.Zone() != "" {
			return h, false
		}
		h.name = ip.String()
		return h, true
	}
	h.name = strings.ToLower(strings.TrimSuffix(name, "."))
	if h.name == "" {
		return h, false
	}
	for i := range len(h.name) {
		c := h.name[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_') {
			return h, false
		}
	}
	return h, true
}

func parseHosts(list []string) ([]host, error) {
	var out []host
	for _, s := range list {
		h, ok := parseHost(s)
		if !ok {
			return nil, fmt.Errorf("%q is no name of a host; want name or name:port, without a scheme", s)
		}
		out = append(out, h)
	}
	return out, nil
}

// checkSite refuses what was not meant for this server, or comes from a page of another site. A
// browser can be made to call a server on its own machine by a name of an attacker's (DNS
// rebinding); it then says so in Host, and in Origin. Browsers cannot reach a unix socket.
func (a *Auth) checkSite(r *http.Request) error {
	if _, socket := peerOf(r.Context()); socket {
		return nil
	}
	if !a.knownHost(r) {
		return refuse(http.StatusMisdirectedRequest, fmt.Sprintf("this server is not called %.100q: call it by its address and port, or add the name to hosts", r.Host))
	}
	if list, ok := r.Header["Origin"]; ok && (len(list) != 1 || !sameSite(list[0], r)) {
		return refuse(http.StatusForbidden, "pages of other sites may not call this server")
	}
	if !safe(r.Method) {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "same-origin", "none":
		default:
			return refuse(http.StatusForbidden, "pages of other sites may not call this server")
		}
	}
	return nil
}

// knownHost tells whether a request names this server.
func (a *Auth) knownHost(r *http.Request) bool {
	h, ok := parseHost(r.Host)
	if !ok {
		return false
	}
	if slices.ContainsFunc(a.hosts, func(k host) bool { return k.name == h.name && (k.port == 0 || k.port == portOf(h, r)) }) {
		return true
	}
	local := localAddr(r)
	if !local.IsValid() || portOf(h, r) != local.Port() {
		return false
	}
	if h.name == "localhost" {
		return true
	}
	// An address cannot be rebound: it is where the client really went.
	ip, err := netip.ParseAddr(h.name)
	return err == nil && (ip.IsLoopback() || ip.Unmap() == local.Addr().Unmap())
}

// portOf is the port that a Host header stands for.
func portOf(h host, r *http.Request) uint16 {
	switch {
	case h.port != 0:
		return h.port
	case r.TLS != nil:
		return 443
	}
	return 80
}

// localAddr is where a request came in; not valid where the server does not tell.
func localAddr(r *http.Request) netip.AddrPort {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.AddrPort{}
	}
	p, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.AddrPort{}
	}
	return p
}

// sameSite tells whether an Origin is the site that the request is for. The scheme may only differ
// where a proxy does the TLS.
func sameSite(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	if u.Scheme != "https" && (u.Scheme != "http" || r.TLS != nil) {
		return false
	}
	return strings.EqualFold(u.Host, r.Host)
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
