package auth

import (
	"errors"
	"net/http"
	"time"
)

// Forbidden says what somebody may not do, and who may.
type Forbidden struct {
	Action Action
	// User is who asked.
	User string
	// What is what was asked for, in words that follow "may not"; "" = those of the action.
	What string
	// Want says who may, in words that follow "that takes".
	Want string
}

func (e *Forbidden) Error() string {
	who := e.User
	if who == "" {
		who = "somebody unknown"
	}
	what := e.What
	if what == "" {
		what = e.Action.Words()
	}
	return who + " may not " + what + ": that takes " + e.Want
}

// Refusal is a request that is answered before anybody looks at what it wants.
type Refusal struct {
	// Status is that of HTTP.
	Status int
	// Why is for whoever asked. It holds nothing secret.
	Why string
	// After is when to try again, 0 = not said.
	After time.Duration

	// given: a credential was there, and is wrong.
	given bool
}

func (e *Refusal) Error() string { return e.Why }

func refuse(status int, why string) *Refusal { return &Refusal{Status: status, Why: why} }

// wrong refuses a credential.
func wrong(why string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Why: why, given: true}
}

// Status is the status of HTTP that belongs to an error of this package, 0 for others.
func Status(err error) int {
	var f *Forbidden
	var r *Refusal
	switch {
	case errors.As(err, &f):
		return http.StatusForbidden
	case errors.As(err, &r):
		return r.Status
	}
	return 0
}
