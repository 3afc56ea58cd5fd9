package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Open opens a store and brings its schema up to date. dsn is the path of an SQLite file, which is made if
// there is none, with or without "sqlite:" before it; or "postgres://user@host/database". It may be
// open in several processes; Claim decides who writes.
func Open(ctx context.Context, dsn string) (Store, error) {
	scheme, rest, found := strings.Cut(dsn, ":")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		return openPostgres(ctx, dsn)
	case scheme == "sqlite":
		return openSQLite(ctx, rest, "")
	case found && strings.HasPrefix(rest, "//"), scheme == "file", dsn == ":memory:":
		return nil, &Error{Op: "open", Where: scheme, Kind: ErrInvalid, What: "no such kind of store", Do: `want the path of a file, or "postgres://user@host/database"`}
	default:
		return openSQLite(ctx, dsn, "")
	}
}

// ready prepares the schema and the statements that every append needs.
func (s *store) ready(ctx context.Context) (Store, error) {
	err := s.migrate(ctx)
	// SQLite does not wait for its turn when several processes make a file at once.
	for try := 0; errors.Is(err, ErrBusy) && try < 20 && ctx.Err() == nil; try++ {
		time.Sleep(50 * time.Millisecond)
		err = s.migrate(ctx)
	}
	if err == nil && !s.numbered { // pgx keeps statements by itself
		err = s.heat(ctx)
	}
	if err != nil {
		_ = s.Close() // the first error is the one that tells
		return nil, err
	}
	return s, nil
}

func (s *store) heat(ctx context.Context) error {
	s.hot = make(map[string]*sql.Stmt)
	for _, q := range []string{updateHead, s.insertion(batchTable, false), s.insertion(endedTable, true), s.insertion(keyTable, true)} {
		stmt, err := s.w.PrepareContext(ctx, s.sql(q))
		if err != nil {
			return s.wrap(ctx, "prepare statements", err)
		}
		s.hot[q] = stmt
	}
	return nil
}
