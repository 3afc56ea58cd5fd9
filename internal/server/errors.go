package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
)

// problem turns an error into an RFC 9457 answer: which status, what is wrong, where.
func (s *Server) problem(err error) error {
	var (
		invalid  *live.Invalid
		busy     *live.Busy
		never    *live.Never
		conflict *live.Conflict
		missing  *live.NotFound
		array    *live.IsArray
		element  *live.NoElement
		known    huma.StatusError
	)
	if err == nil {
		return nil
	}
	if no := refusal(err); no != nil {
		return no
	}
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &invalid):
		return huma.NewError(http.StatusUnprocessableEntity, invalid.Error(), &huma.ErrorDetail{Message: invalid.Msg, Location: "body." + invalid.Field})
	case errors.As(err, &never):
		return huma.NewError(http.StatusUnprocessableEntity, never.Error())
	case errors.As(err, &busy):
		return later(http.StatusTooManyRequests, busy.Error())
	case errors.As(err, &conflict):
		return huma.NewError(http.StatusConflict, conflict.Error())
	case errors.As(err, &missing):
		return huma.NewError(http.StatusNotFound, missing.Error())
	case errors.As(err, &array):
		return huma.NewError(http.StatusNotFound, array.Error())
	case errors.As(err, &element):
		return huma.NewError(http.StatusNotFound, element.Error())
	case errors.Is(err, store.ErrInvalid):
		return huma.NewError(http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, store.ErrNotFound):
		return huma.NewError(http.StatusNotFound, err.Error())
	case errors.Is(err, live.ErrClosed), errors.Is(err, live.ErrUnavailable):
		return later(http.StatusServiceUnavailable, err.Error())
	case away(err):
		return later(http.StatusServiceUnavailable, "what is asked for is in the store, which cannot be read for now: "+err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return huma.NewError(http.StatusServiceUnavailable, "the request was given up before it was done; it may still happen")
	}
	s.cfg.Log.Error("a request failed", "err", err)
	return huma.NewError(http.StatusInternalServerError, "something went wrong here; the log of the daemon says what")
}

// later is an answer to those who had better try again in a moment.
func later(code int, text string) error {
	return huma.ErrorWithHeaders(huma.NewError(code, text), http.Header{"Retry-After": {"5"}})
}

// away tells whether an error is the store's, and may pass.
func away(err error) bool {
	for _, kind := range []error{store.ErrFull, store.ErrReadOnly, store.ErrUnavailable, store.ErrBusy, store.ErrDenied, store.ErrIO} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
