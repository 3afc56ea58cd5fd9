package auth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// fetchFor and fetchMost bound what an issuer may take, and send.
	fetchFor  = 10 * time.Second
	fetchMost = 1 << 20
	// A token with a key that nobody knows has the keys fetched: anybody can make one, so that
	// keysBurst may be fetched at once and one each keysEvery after.
	keysBurst = 5
	keysEvery = 10 * time.Second
)

// fetchClient asks issuers. It follows no redirects: what an issuer is, it says itself.
func fetchClient(rt http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: bounded{rt},
		Timeout:   fetchFor,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("an issuer has no business redirecting")
		},
	}
}

type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, fetchMost), resp.Body}
	}
	return resp, err
}

var (
	errFetch    = errors.New("the keys of the issuer cannot be had")
	errTooOften = errors.New("the keys of the issuer were asked for a moment ago")
)

// keyFetcher fetches keys, not too often, and knows whether that went well.
type keyFetcher struct {
	client *http.Client
	now    func() time.Time
	limit  *rate.Limiter
	down   atomic.Bool
}

func newKeyFetcher(now func() time.Time) *keyFetcher {
	k := &keyFetcher{now: now, limit: rate.NewLimiter(rate.Every(keysEvery), keysBurst)}
	k.client = fetchClient(k)
	return k
}

// RoundTrip is that of the client.
func (k *keyFetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if !k.limit.AllowN(k.now(), 1) {
		return nil, errTooOften
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		err = errors.New(resp.Status)
	}
	k.down.Store(err != nil)
	if err != nil {
		return nil, errors.Join(errFetch, err)
	}
	return resp, nil
}

// failed tells whether a token could not be checked since the keys could not be had. While they
// were had a moment ago it is the token that is wrong.
func (k *keyFetcher) failed(err error) bool {
	if errors.Is(err, errTooOften) {
		return k.down.Load()
	}
	return errors.Is(err, errFetch) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
