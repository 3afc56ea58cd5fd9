package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Readers at once; each has a page cache of some MB.
const readers = 4

// openSQLite opens the store in a file. vfs names the layer that SQLite does its input and output
// with; "" is the operating system's.
func openSQLite(ctx context.Context, path, vfs string) (Store, error) {
	s := &store{where: path}
	s.dialect = &dialect{
		schema:   strings.NewReplacer("{int}", "INTEGER", "{rowid}", "INTEGER PRIMARY KEY", "{text}", "TEXT", "{blob}", "BLOB", "{end}", "STRICT"),
		snapshot: &sql.TxOptions{ReadOnly: true},
		begin:    beginSQLite,
		check:    checkSQLite,
		classify: func(err error) *Error { return classifySQLite(err, filepath.Dir(path)) },
		size:     func(context.Context) (int64, error) { return sizeSQLite(path) },
	}
	if path == "" {
		return nil, s.wrap(ctx, "open", fail(ErrInvalid, "no path", "name a file"))
	}
	if err := CreatePrivate(path); err != nil {
		return nil, s.wrap(ctx, "open", err)
	}
	// fdatasync is as safe as fsync and leaves out the times of the file. A switch of the process.
	_, _ = sqlite.Fdatasync(true) // where there is none it stays with fsync
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?_busy_timeout=10000&_dqs=0&_defensive=1&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=temp_store(memory)"
	if vfs != "" {
		dsn += "&vfs=" + vfs
	}
	var err error
	// FULL syncs the log at each commit; the log shrinks again after a large transaction.
	if s.w, err = sql.Open("sqlite", dsn+"&_txlock=immediate&_journal_mode=WAL&_synchronous=FULL&_pragma=cache_size(-16000)&_pragma=journal_size_limit(67108864)"); err != nil {
		return nil, s.wrap(ctx, "open", err)
	}
	s.w.SetMaxOpenConns(1)
	if s.r, err = sql.Open("sqlite", dsn+"&_query_only=1"); err != nil {
		_ = s.w.Close() // the first error is the one that tells
		return nil, s.wrap(ctx, "open", err)
	}
	s.r.SetMaxOpenConns(readers)
	s.r.SetMaxIdleConns(readers)
	return s.ready(ctx)
}

// CreatePrivate makes an SQLite file and its folder if they are missing, for their owner alone; SQLite would use
// the umask. Its other files take the mode of this one. A file that is there is not even opened: closing
// it again would take away SQLite's locks in this process.
func CreatePrivate(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process was faster
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), syncDir(dir), syncDir(filepath.Dir(dir)))
}

func beginSQLite(ctx context.Context, tx *sql.Tx) (bool, error) {
	var all, ours int
	err := tx.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name = 'schema_step') FROM sqlite_schema`).Scan(&all, &ours)
	if err == nil && all > 0 && ours == 0 {
		err = fail(ErrInvalid, "the file is a database of something else", "name another file")
	}
	return ours > 0, err
}

// checkSQLite lets SQLite check its pages, its indexes and the types of all values.
func checkSQLite(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `PRAGMA integrity_check(1)`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells
	for rows.Next() {
		var what string
		if err := rows.Scan(&what); err != nil {
			return err
		}
		if what != "ok" {
			return fail(ErrCorrupt, what, restoreHint)
		}
	}
	return rows.Err()
}

func sizeSQLite(path string) (n int64, err error) {
	for _, end := range []string{"", "-wal"} {
		info, err := os.Stat(path + end)
		switch {
		case err == nil:
			n += info.Size()
		case end == "" || !errors.Is(err, fs.ErrNotExist):
			return 0, err
		}
	}
	return n, nil
}

// probe tries to make a file in a folder, as SQLite must be able to for its log.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// SQLiteError makes an [*Error] of an error that SQLite returned for a file.
func SQLiteError(op, path string, err error) *Error {
	e := classifySQLite(err, filepath.Dir(path))
	e.Op, e.Where, e.Err = op, path, err
	return e
}

func classifySQLite(err error, dir string) *Error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return classifyOS(err)
	}
	switch code := e.Code(); code & 0xff {
	case sqlite3.SQLITE_FULL:
		return fail(ErrFull, "", "make room on its file system")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return fail(ErrBusy, "", "another process holds the file")
	case sqlite3.SQLITE_READONLY:
		return fail(ErrReadOnly, "", "the file, its folder and the file system must be writable for the daemon's user")
	case sqlite3.SQLITE_CORRUPT:
		return fail(ErrCorrupt, "", restoreHint)
	case sqlite3.SQLITE_NOTADB:
		return fail(ErrCorrupt, "the file is no SQLite database, or its first page is damaged", "name another file, or "+restoreHint)
	case sqlite3.SQLITE_CANTOPEN: // which says nothing about why
		if err := probe(dir); err != nil {
			return classifyOS(err)
		}
		return fail(ErrDenied, "", accessHint)
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fail(ErrDenied, "", accessHint)
	case sqlite3.SQLITE_IOERR:
		if code == sqlite3.SQLITE_IOERR_SHMSIZE {
			return fail(ErrFull, "", "make room on its file system")
		}
		return fail(ErrIO, "", "look into the kernel's log, and at the disk")
	case sqlite3.SQLITE_ERROR:
		return fail(ErrDatabase, "", "")
	}
	return fail(ErrDatabase, fmt.Sprintf("SQLite's code %d", e.Code()), "")
}
