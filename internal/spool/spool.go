// Package spool keeps what jobs must keep secret, from their submission to their end: command
// lines, environments and scripts. The journal and the store are copied, shown and shared;
// this file is not. It is one SQLite file that only its owner may read.
//
// Values never appear in errors. After Delete their bytes are in none of the spool's files.
// (The blocks of the disk are another matter: encrypt it.)
package spool

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"

	"github.com/escala-sched/escala/internal/store"
)

// ErrNotFound says that the spool has nothing of that job.
var ErrNotFound = errors.New("not in the spool")

// Entry is what is kept of one job.
type Entry struct {
	Job  int32
	Body []byte
}

// String hides the body, so that no log shows it.
func (e Entry) String() string { return fmt.Sprintf("job %d (%d bytes)", e.Job, len(e.Body)) }

// GoString hides the body, too.
func (e Entry) GoString() string { return e.String() }

// Spool is safe for use by several goroutines. Its errors are of type [*store.Error], except ErrNotFound
// and those of a context that ended.
type Spool struct {
	db   *sql.DB
	path string
}

// In SQLite's file a row's first bytes lie beside other rows in a page, and when rows move between
// pages copies of them stay behind, which secure_delete does not clear. The rest of a long row has
// pages of its own, which it does. So each row begins with zeros, more than such a page takes: 989
// bytes of 1,024.
const pageSize = 1024

const schema = `CREATE TABLE IF NOT EXISTS entry (
	job INTEGER PRIMARY KEY,
	sum INTEGER NOT NULL, -- CRC-32C of job and body
	zeros BLOB NOT NULL,
	body BLOB NOT NULL
) STRICT`

// Open opens a spool, which is made if there is none. It refuses files that others than
// their owner may read.
func Open(ctx context.Context, path string) (*Spool, error) {
	const op = "open the spool"
	if err := private(path); err != nil {
		return nil, err
	}
	if err := store.CreatePrivate(path); err != nil {
		return nil, store.SQLiteError(op, path, err)
	}
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + fmt.Sprintf("?_busy_timeout=10000&_dqs=0&_defensive=1&_txlock=immediate&_synchronous=FULL&_pragma=page_size(%d)", pageSize) +
		"&_pragma=journal_mode(WAL)&_pragma=secure_delete(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=temp_store(memory)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, store.SQLiteError(op, path, err)
	}
	db.SetMaxOpenConns(1) // nobody keeps the log from being cut
	s := &Spool{db, path}
	if _, err = db.ExecContext(ctx, schema); err == nil {
		err = s.scrub(ctx) // a crash may have come between a deletion and this
	}
	if err != nil {
		_ = db.Close() // the first error is the one that tells
		return nil, s.wrap(ctx, op, err)
	}
	return s, nil
}

func (s *Spool) wrap(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %s: %w", s.path, op, context.Cause(ctx))
	}
	var e *store.Error
	if errors.As(err, &e) {
		return err
	}
	return store.SQLiteError(op, s.path, err)
}

func sum(job int32, body []byte) int64 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return int64(crc32.Update(crc32.Checksum(binary.LittleEndian.AppendUint32(nil, uint32(job)), table), table, body))
}

// change runs fn for each of n in one transaction.
func (s *Spool) change(ctx context.Context, op, query string, n int, args func(int) []any) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.wrap(ctx, op, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	stmt, err := tx.PrepareContext(ctx, query)
	for i := 0; err == nil && i < n; i++ {
		_, err = stmt.ExecContext(ctx, args(i)...)
	}
	if err == nil {
		err = tx.Commit()
	}
	return s.wrap(ctx, op, err)
}

// Put keeps entries, all or none. They are on disk when it returns nil. An entry of the same job
// is replaced.
func (s *Spool) Put(ctx context.Context, entries []Entry) error {
	return s.change(ctx, fmt.Sprintf("keep %d jobs", len(entries)),
		`INSERT INTO entry (job, sum, zeros, body) VALUES (?, ?, zeroblob(?), ?) ON CONFLICT (job) DO UPDATE SET sum = excluded.sum, body = excluded.body`,
		len(entries), func(i int) []any {
			e := &entries[i]
			body := e.Body
			if body == nil { // which SQLite would take for NULL
				body = []byte{}
			}
			return []any{e.Job, sum(e.Job, e.Body), pageSize, body}
		})
}

// Get returns what is kept of a job; ErrNotFound.
func (s *Spool) Get(ctx context.Context, job int32) ([]byte, error) {
	op := fmt.Sprintf("get job %d", job)
	var body []byte
	var was int64
	err := s.db.QueryRowContext(ctx, `SELECT sum, body FROM entry WHERE job = ?`, job).Scan(&was, &body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%s: %s: %w", s.path, op, ErrNotFound)
	case err != nil:
		return nil, s.wrap(ctx, op, err)
	case was != sum(job, body):
		return nil, &store.Error{Op: op, Where: s.path, Kind: store.ErrCorrupt, What: "it does not have the sum it was written with", Do: "submit the job again"}
	}
	return body, nil
}

// Delete removes jobs and every trace of what was kept of them. Those that are not there are no error.
func (s *Spool) Delete(ctx context.Context, jobs ...int32) error {
	op := fmt.Sprintf("delete %d jobs", len(jobs))
	if err := s.change(ctx, op, `DELETE FROM entry WHERE job = ?`, len(jobs), func(i int) []any { return []any{jobs[i]} }); err != nil {
		return err
	}
	return s.wrap(ctx, op, s.scrub(ctx))
}

// scrub brings the log into the file and cuts it to nothing: it still has what was deleted.
func (s *Spool) scrub(ctx context.Context) error {
	var busy, pages, done int
	if err := s.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &done); err != nil {
		return err
	}
	if busy != 0 {
		return &store.Error{Op: "clear what was deleted", Where: s.path, Kind: store.ErrBusy, What: "another process reads the file"}
	}
	return nil
}

// Sweep removes the jobs that keep says no to, and returns how many. After a crash some may have been left
// behind: submissions that never got into the journal, jobs that have ended.
func (s *Spool) Sweep(ctx context.Context, keep func(job int32) bool) (int, error) {
	jobs, err := s.jobs(ctx)
	if err != nil {
		return 0, s.wrap(ctx, "sweep", err)
	}
	var gone []int32
	for _, job := range jobs {
		if !keep(job) {
			gone = append(gone, job)
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	return len(gone), s.Delete(ctx, gone...)
}

func (s *Spool) jobs(ctx context.Context) (jobs []int32, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT job FROM entry ORDER BY job`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells
	for rows.Next() {
		var job int32
		if err := rows.Scan(&job); err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, rows.Err()
}

// Close closes the file.
func (s *Spool) Close() error {
	return s.wrap(context.Background(), "close", s.db.Close())
}
