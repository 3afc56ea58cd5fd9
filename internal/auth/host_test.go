package auth

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHost(t *testing.T) {
	f := newFixture(t, func(c *Config) {
		c.Hosts = []string{"Escala.lab", "proxy.lab:443", "localhost:9000"}
		c.Open = []string{"/healthz"}
	})
	for _, c := range []struct {
		host, local string
		tls         bool
		ok          bool
	}{
		{"127.0.0.1:8642", "127.0.0.1:8642", false, true},
		{"localhost:8642", "127.0.0.1:8642", false, true},
		{"LOCALHOST.:8642", "127.0.0.1:8642", false, true},
		{"[::1]:8642", "[::1]:8642", false, true},
		{"127.1.2.3:8642", "127.0.0.1:8642", false, true},
		{"10.0.0.5:8642", "10.0.0.5:8642", true, true}, // where it really went
		{"10.0.0.5:8642", "[::ffff:10.0.0.5]:8642", true, true},
		{"escala.lab", "10.0.0.5:8642", false, true},
		{"ESCALA.lab:1234", "10.0.0.5:8642", false, true},
		{"proxy.lab", "10.0.0.5:8642", true, true},
		{"proxy.lab:443", "10.0.0.5:8642", false, true},
		{"localhost:9000", "127.0.0.1:8642", false, true}, // a tunnel
		{"127.0.0.1", "127.0.0.1:80", false, true},
		{"127.0.0.1", "127.0.0.1:443", true, true},

		{"evil.org:8642", "127.0.0.1:8642", false, false}, // rebinding
		{"evil.org", "127.0.0.1:80", false, false},
		{"localhost:8643", "127.0.0.1:8642", false, false},
		{"localhost", "127.0.0.1:8642", false, false},
		{"10.0.0.6:8642", "10.0.0.5:8642", true, false},
		{"localhost.evil.org:8642", "127.0.0.1:8642", false, false},
		{"127.0.0.1.evil.org:8642", "127.0.0.1:8642", false, false},
		{"escala.lab.evil.org", "127.0.0.1:8642", false, false},
		{"proxy.lab:8642", "10.0.0.5:8642", true, false},
		{"proxy.lab", "10.0.0.5:8642", false, false},
		{"", "127.0.0.1:8642", false, false},
		{"localhost:8642:8642", "127.0.0.1:8642", false, false},
		{"::1", "[::1]:80", false, false},
		{"[::1]evil.org:8642", "[::1]:8642", false, false},
		{"[::1%25lo]:8642", "[::1]:8642", false, false},
		{"localhost:+8642", "127.0.0.1:8642", false, false},
		{"localhost:0", "127.0.0.1:8642", false, false},
		{"a@localhost:8642", "127.0.0.1:8642", false, false},
		{"localhost:8642", "", false, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://x/healthz", nil)
		r.Host = c.host
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if c.local != "" {
			addr, err := net.ResolveTCPAddr("tcp", c.local)
			if err != nil {
				t.Fatal(err)
			}
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(addr)))
		}
		w := f.send(r)
		if (w.Code == 200) != c.ok || !c.ok && w.Code != http.StatusMisdirectedRequest {
			t.Errorf("Host %q at %s, TLS %v: %d", c.host, c.local, c.tls, w.Code)
		}
		if w.Code != 200 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Error(w.Header())
		}
	}
	for _, bad := range []string{"*", "https://x", "a b", "x:y", "x:99999", ""} {
		if _, err := New(Config{Now: newClock().now, Hosts: []string{bad}}); err == nil {
			t.Errorf("host %q", bad)
		}
	}
}

func TestOrigin(t *testing.T) {
	f := newFixture(t, nil)
	s := f.token(NewToken{Name: "ci", User: "cat"})
	for _, c := range []struct {
		method, url, origin, site string
		ok                        bool
	}{
		{"GET", "http://escala.lab/", "", "", true},
		{"POST", "http://escala.lab/", "", "", true},
		{"POST", "http://escala.lab/", "http://escala.lab", "same-origin", true},
		{"POST", "http://escala.lab:80/", "http://escala.lab:80", "", true},
		{"POST", "http://escala.lab/", "https://escala.lab", "", true}, // a proxy does the TLS
		{"POST", "https://escala.lab/", "https://escala.lab", "", true},
		{"GET", "http://escala.lab/", "", "cross-site", true}, // a link
		{"POST", "http://escala.lab/", "", "none", true},

		{"POST", "https://escala.lab/", "http://escala.lab", "", false},
		{"POST", "http://escala.lab/", "http://evil.org", "", false},
		{"GET", "http://escala.lab/", "http://evil.org", "", false},
		{"OPTIONS", "http://escala.lab/", "http://evil.org", "", false},
		{"POST", "http://escala.lab/", "null", "", false},
		{"POST", "http://escala.lab/", "", "cross-site", false},
		{"POST", "http://escala.lab/", "", "same-site", false},
		{"DELETE", "http://escala.lab/", "", "whatever", false},
		{"POST", "http://escala.lab:8642/", "http://escala.lab:8643", "", false},
		{"POST", "http://escala.lab/", "http://escala.lab/x", "", false},
		{"POST", "http://escala.lab/", "http://a@escala.lab", "", false},
		{"POST", "http://escala.lab/", "ftp://escala.lab", "", false},
		{"POST", "http://escala.lab/", "", "", true},
	} {
		h := []string{"Authorization", "Bearer " + s.Reveal()}
		if c.origin != "" {
			h = append(h, "Origin", c.origin)
		}
		if c.site != "" {
			h = append(h, "Sec-Fetch-Site", c.site)
		}
		w := f.ask(c.method, c.url, h...)
		if (w.Code == 200) != c.ok || !c.ok && w.Code != 403 {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
	w := f.ask("POST", "http://escala.lab/", "Authorization", "Bearer "+s.Reveal(), "Origin", "http://escala.lab", "Origin", "http://escala.lab")
	want(t, w, 403, "other sites")
}

func TestCheckListen(t *testing.T) {
	for _, c := range []struct {
		addr string
		tls  bool
		want string
	}{
		{"unix:/run/escala/s", false, ""}, {"/run/escala/s", false, ""},
		{"127.0.0.1:8642", false, ""}, {"localhost:8642", false, ""}, {"[::1]:0", false, ""}, {"127.9.9.9:1", false, ""}, {"[::ffff:127.0.0.1]:1", false, ""},
		{":8642", true, ""}, {"10.0.0.5:8642", true, ""}, {"127.0.0.1:8642", true, ""},
		{":8642", false, `":8642" stands for all addresses of this machine, and can be reached from other machines, and tokens would go over the wire for all to read: give a certificate and a key for TLS, or listen at 127.0.0.1:8642 or at a socket`},
		{"0.0.0.0:8642", false, "can be reached"}, {"[::]:8642", false, "can be reached"}, {"10.0.0.5:1", false, "can be reached"}, {"escala.lab:0", false, "127.0.0.1:PORT"},
		{"unix:run/s", false, "absolute"}, {"unix:/run/s", true, "no TLS"}, {"8642", false, "no address"}, {"localhost:x", false, "no port"}, {"localhost:", false, "no port"}, {"localhost:99999", true, "no port"},
	} {
		err := CheckListen(c.addr, c.tls)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, TLS %v: %v", c.addr, c.tls, err)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"localhost:1", "[::1]:2", "a.b", "127.0.0.1:80", ":", "[", "]", "[]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, ok := parseHost(s)
		if !ok {
			return
		}
		if h.name == "" || strings.ContainsAny(h.name, "/@ \\\r\n[]") || h.name != strings.ToLower(h.name) {
			t.Errorf("%q is %+v", s, h)
		}
	})
}
