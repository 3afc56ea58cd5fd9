package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPostgres opens the store in a database that exists; its tables are made in the first schema
// of the search path.
func openPostgres(ctx context.Context, dsn string) (Store, error) {
	s := &store{where: "postgres"}
	s.dialect = &dialect{
		schema: strings.NewReplacer("{int}", "BIGINT", "{rowid}", "BIGINT PRIMARY KEY", "{text}", `TEXT COLLATE "C"`, "{blob}", "BYTEA", "{end}", ""),
		// The row of the head is what a writer holds while it writes.
		lock:     " FOR UPDATE",
		numbered: true,
		snapshot: &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead},
		begin:    beginPostgres,
		check:    func(context.Context, *sql.Tx) error { return nil },
		classify: classifyPostgres,
		size:     func(ctx context.Context) (int64, error) { return sizePostgres(ctx, s.r) },
	}
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		e := fail(ErrInvalid, "", `want "postgres://user@host/database"`)
		e.Err = err // without the password
		return nil, s.wrap(ctx, "open", e)
	}
	s.where = "postgres " + cfg.Host + "/" + cfg.Database
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	after := stdlib.OptionAfterConnect(durable)
	s.w = stdlib.OpenDB(*cfg, after)
	s.w.SetMaxOpenConns(1)
	s.r = stdlib.OpenDB(*cfg, after)
	s.r.SetMaxOpenConns(readers)
	s.r.SetMaxIdleConns(readers)
	return s.ready(ctx)
}

// durable makes sure that a commit is on disk when the server says so.
func durable(ctx context.Context, c *pgx.Conn) error {
	var fsync, commit string
	if err := c.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit')`).Scan(&fsync, &commit); err != nil {
		return err
	}
	if fsync != "on" {
		return fail(ErrInvalid, "the server does not write to disk what it commits (fsync = off)", "set fsync = on in postgresql.conf")
	}
	if commit != "off" { // what it is set to is as safe as on, or safer
		return nil
	}
	_, err := c.Exec(ctx, `SET synchronous_commit = on`)
	return err
}

func beginPostgres(ctx context.Context, tx *sql.Tx) (has bool, err error) {
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('escala schema'))`); err != nil {
		return false, err
	}
	err = tx.QueryRowContext(ctx, `SELECT to_regclass('schema_step') IS NOT NULL`).Scan(&has)
	return has, err
}

func sizePostgres(ctx context.Context, db *sql.DB) (all int64, err error) {
	for _, t := range tables {
		var n int64
		if err := db.QueryRowContext(ctx, `SELECT pg_total_relation_size($1::text::regclass)`, t.name).Scan(&n); err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}

func classifyPostgres(err error) *Error {
	unavailable := fail(ErrUnavailable, "", "see that the server runs and can be reached")
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var connect *pgconn.ConnectError
		var network net.Error
		switch {
		case errors.As(err, &connect), errors.As(err, &network), pgconn.SafeToRetry(err), errors.Is(err, driver.ErrBadConn),
			errors.Is(err, sql.ErrConnDone), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
			return unavailable
		}
		return classifyOS(err)
	}
	switch {
	case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "57P"), e.Code == "53300", e.Code == "53400":
		return unavailable
	case e.Code == "53100":
		return fail(ErrFull, "", "make room on the server's file system")
	case strings.HasPrefix(e.Code, "40"), e.Code == "55P03", e.Code == "57014", e.Code == "53200":
		return fail(ErrBusy, "", "")
	case e.Code == "25006":
		return fail(ErrReadOnly, "", "connect to the primary server")
	case strings.HasPrefix(e.Code, "XX"):
		return fail(ErrCorrupt, "", restoreHint)
	case strings.HasPrefix(e.Code, "28"), e.Code == "42501", e.Code == "3D000", e.Code == "3F000":
		return fail(ErrDenied, "", "the database must exist and its user must own it, or may create tables in it")
	case strings.HasPrefix(e.Code, "58"):
		return fail(ErrIO, "", "look into the server's log")
	}
	return fail(ErrDatabase, "", "")
}
