package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// firstBackOff is how long is waited after a delivery that failed, twice as long after each further
	// one up to longestBackOff, less up to half of it by chance.
	firstBackOff, longestBackOff = time.Second, 5 * time.Minute
	// giveUp is the age from which on an event is tried once more, and then given up.
	giveUp = 24 * time.Hour
	// SignatureHeader holds "sha256=" and the HMAC-SHA256 of the body under the secret, in hex.
	SignatureHeader = "X-Escala-Signature"
)

// refusal is an answer other than 2xx.
type refusal struct {
	code int
	// after is when the receiver wants to be asked again, 0 = it does not say.
	after time.Duration
}

func (e *refusal) Error() string {
	if e.code/100 == 3 {
		return fmt.Sprintf("it redirects (%d), which is not followed", e.code)
	}
	return fmt.Sprintf("it answers %d %s", e.code, http.StatusText(e.code))
}

// final tells whether the same event would be refused again.
func (e *refusal) final() bool {
	switch e.code {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// deliver tells an event until the receiver takes it, or it is given up; false = the context
// ended before.
func (h *hook) deliver(ctx context.Context, e *Event, body []byte) bool {
	for wait := firstBackOff; ; wait = min(2*wait, longestBackOff) {
		err := h.post(ctx, body)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			h.delivered.Add(1)
			if h.failing {
				h.failing = false
				h.log.Info("a webhook works again")
			}
			return true
		}
		h.failed.Add(1)
		var no *refusal
		refused := errors.As(err, &no)
		if refused && no.final() || h.now().Sub(e.Time) > giveUp {
			h.dropped.Add(1)
			h.log.Warn("an event was given up", "event", e.ID, "type", e.Type, "job", e.Subject, "err", err)
			return true
		}
		if !h.failing {
			h.failing = true
			h.log.Warn("a webhook fails; trying again", "event", e.ID, "err", err)
		}
		pause := wait - rand.N(wait/2)
		if refused && no.after > 0 {
			pause = min(no.after, longestBackOff)
		}
		if !sleep(ctx, pause) {
			return false
		}
	}
}

// post sends a body once. Errors never show the URL.
func (h *hook) post(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL.String(), bytes.NewReader(body))
	if err != nil {
		return errors.New("no request can be made of the URL")
	}
	r.Header.Set("Content-Type", "application/cloudevents+json; charset=UTF-8")
	r.Header.Set("User-Agent", h.agent)
	r.Header.Set(SignatureHeader, sign(h.Secret.Reveal(), body))
	resp, err := h.client.Do(r)
	var where *url.Error
	if errors.As(err, &where) {
		return where.Err
	}
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return nil
	}
	no := &refusal{code: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		no.after = time.Duration(min(s, 3600)) * time.Second
	}
	return no
}

// sign is the signature of a body.
func sign(secret string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}
