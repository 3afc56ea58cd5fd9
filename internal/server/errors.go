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
		conflict *live.Conflict
		missing  *live.NotFound
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
	case errors.As(err, &busy):
		return huma.NewError(http.StatusTooManyRequests, busy.Error())
	case errors.As(err, &conflict):
		return huma.NewError(http.StatusConflict, conflict.Error())
	case errors.As(err, &missing):
		return huma.NewError(http.StatusNotFound, missing.Error())
	case errors.Is(err, store.ErrNotFound):
		return huma.NewError(http.StatusNotFound, err.Error())
	case errors.Is(err, live.ErrClosed), errors.Is(err, live.ErrUnavailable):
		return huma.NewError(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return huma.NewError(http.StatusServiceUnavailable, "the request was given up before it was done; it may still happen")
	}
	s.cfg.Log.Error("a request failed", "err", err)
	return huma.NewError(http.StatusInternalServerError, "something went wrong here; the log of the daemon says what")
}
