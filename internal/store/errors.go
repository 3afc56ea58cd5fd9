package store

import (
	"context"
	"errors"
	"strings"
)

// What an [*Error] wraps.
var (
	ErrStale       = errors.New("another writer has taken over")
	ErrConflict    = errors.New("something else is there")
	ErrInvalid     = errors.New("not valid")
	ErrNotFound    = errors.New("not there")
	ErrDropped     = errors.New("removed by retention")
	ErrCorrupt     = errors.New("damaged")
	ErrFull        = errors.New("disk full")
	ErrReadOnly    = errors.New("read-only")
	ErrUnavailable = errors.New("database cannot be reached")
	ErrBusy        = errors.New("database busy")
	ErrNewer       = errors.New("written by a later version")
	ErrDenied      = errors.New("access denied")
	ErrIO          = errors.New("disk error")
	ErrDatabase    = errors.New("database error")
)

// Error says what went wrong with what, and what to do about it.
type Error struct {
	// Op is what was being done: "append batch 12".
	Op string
	// Kind is one of the Err values.
	Kind error
	// Where is the file or database, without passwords.
	Where string
	// Seq is the first batch that is damaged; 0 where it is something else.
	Seq int64
	// What is wrong, and what to Do about it; "" where Kind says it all.
	What, Do string
	// Err is what the database said; nil if the store itself found out.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Where + ": " + e.Op + ": " + e.Kind.Error())
	if e.What != "" {
		b.WriteString(": " + e.What)
	}
	if e.Err != nil {
		b.WriteString(" (" + e.Err.Error() + ")")
	}
	if e.Do != "" {
		b.WriteString("; " + e.Do)
	}
	return b.String()
}

func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Temporary tells whether the same call may succeed later, once the database is back, free or has
// room again.
func (e *Error) Temporary() bool {
	return errors.Is(e.Kind, ErrUnavailable) || errors.Is(e.Kind, ErrBusy) || errors.Is(e.Kind, ErrFull)
}

// Temporary tells whether it makes sense to repeat the call that returned err.
func Temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// fail makes an error of what the store found out by itself.
func fail(kind error, what, do string) *Error { return &Error{Kind: kind, What: what, Do: do} }

// wrap gives an error its place: what was done, and where. What a database said becomes
// one of the kinds.
func (s *store) wrap(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	switch {
	case errors.As(err, &e):
	case ctx.Err() != nil:
		return &Error{Op: op, Where: s.where, Kind: context.Cause(ctx), What: "it may or may not have been done"}
	default:
		e = s.classify(err)
		e.Err = err
	}
	if e.Op == "" {
		e.Op, e.Where = op, s.where
	}
	return e
}
