package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

type issuer struct{}

func newIssuers([]Issuer, func() time.Time, *slog.Logger) ([]*issuer, error) { return nil, nil }
func (*issuer) run(context.Context)                                          {}
func (a *Auth) fromIssuer(context.Context, Secret) (*Identity, error) {
	return nil, refuse(http.StatusUnauthorized, errors.ErrUnsupported.Error())
}

type logins struct{}

func newLogins(func() time.Time) *logins { return &logins{} }
func (*logins) prune()                   {}
