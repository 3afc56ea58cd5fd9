package auth

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// Middleware lets through who is known, with the [Identity] in the context, and what is open to
// everybody. Others are answered with a [Problem]: 401 who is not known, 403 who has no role or
// comes from a page of another site, 421 what was meant for another host, 429 who tried too often,
// 503 where an issuer or the token file cannot be asked.
func (a *Auth) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if err := a.checkSite(r); err != nil {
			a.refuse(w, r, err)
			return
		}
		if a.isOpen(r) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Cache-Control", "no-store") // who may see it differs; a handler may say otherwise
		id, err := a.Authenticate(r)
		if err == nil && id.Role() == Nobody {
			err = refuse(http.StatusForbidden, fmt.Sprintf("%s is known, but has no role here: an operator has to give one", id.User))
		}
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(NewContext(r.Context(), id)))
	})
}

// refuse answers, and slows down those who try. What is known to be good is never slowed down:
// behind a proxy, or on a machine that many share, one address is many people, and 256 bits are
// not guessed at any speed.
func (a *Auth) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var ref *Refusal
	if errors.As(err, &ref) && ref.given {
		if wait := a.failed.count(r.RemoteAddr); wait > 0 {
			err = &Refusal{Status: http.StatusTooManyRequests, Why: "too many attempts failed from this address", After: wait}
		} else {
			a.log.Warn("a credential was refused", "from", r.RemoteAddr, "why", err.Error())
		}
	}
	WriteError(w, err)
}

// openPath is something that needs no authentication.
type openPath struct {
	methods []string
	path    string
	below   bool
}

func parseOpen(list []string) ([]openPath, error) {
	var out []openPath
	for _, s := range list {
		o := openPath{methods: []string{http.MethodGet, http.MethodHead}, path: s}
		if method, p, ok := strings.Cut(s, " "); ok {
			o.methods, o.path = []string{method}, p
		}
		if p, ok := strings.CutSuffix(o.path, "/*"); ok {
			o.path, o.below = p+"/", true
		}
		if !strings.HasPrefix(o.path, "/") || strings.ContainsAny(o.path, "*{} ") || o.path == "/" && o.below {
			return nil, fmt.Errorf("%q cannot be open to everybody; want /path, METHOD /path or /path/*", s)
		}
		out = append(out, o)
	}
	return out, nil
}

func (a *Auth) isOpen(r *http.Request) bool {
	p := r.URL.Path
	if clean := path.Clean(p); clean != p && clean+"/" != p {
		return false // routers may take it for another path
	}
	return slices.ContainsFunc(a.open, func(o openPath) bool {
		return slices.Contains(o.methods, r.Method) && (p == o.path || o.below && strings.HasPrefix(p, o.path))
	})
}

// ceil is a time to wait in whole seconds.
func ceil(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
