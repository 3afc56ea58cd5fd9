package store

import (
	"context"
	"database/sql"
	"iter"
)

// store is a Store in a database.
type store struct {
	*dialect
	// where it is, for people.
	where string
	// w writes; it has a single connection, so that writers queue up here. r reads.
	w, r *sql.DB
	// hot statements are kept prepared by the text they were made of.
	hot map[string]*sql.Stmt
}

var _ Store = (*store)(nil)

// write runs fn in a transaction of the writing connection.
func (s *store) write(ctx context.Context, op string, fn func(*sql.Tx) error) error {
	tx, err := s.w.BeginTx(ctx, nil)
	if err == nil {
		if err = fn(tx); err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback() // the first error is the one that tells
		}
	}
	return s.wrap(ctx, op, err)
}

// view runs fn in a transaction that sees one moment.
func (s *store) view(ctx context.Context, op string, fn func(*sql.Tx) error) error {
	tx, err := s.r.BeginTx(ctx, s.snapshot)
	if err == nil {
		err = fn(tx)
		_ = tx.Rollback() // nothing was written
	}
	return s.wrap(ctx, op, err)
}

// querier is a transaction, or the readers.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// rows yields the rows of a table; more is what follows its name in the query.
func (s *store) rows(ctx context.Context, q querier, t *table, more string, args ...any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		rows, err := q.QueryContext(ctx, s.sql("SELECT "+t.list()+" FROM "+t.name+" "+more), args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = rows.Close() }() // rows.Err tells
		for rows.Next() {
			row, err := t.scan(ctx, rows)
			if !yield(row, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// row is the first one of rows, nil if there is none. Unlike in a loop over rows the transaction is free for
// the next statement.
func (s *store) row(ctx context.Context, q querier, t *table, more string, args ...any) ([]any, error) {
	for row, err := range s.rows(ctx, q, t, more, args...) {
		return row, err
	}
	return nil, nil
}

// exec runs a statement, a prepared one if it is hot.
func (s *store) exec(ctx context.Context, tx *sql.Tx, q string, args ...any) (changed int64, err error) {
	var res sql.Result
	if stmt := s.hot[q]; stmt != nil {
		res, err = tx.StmtContext(ctx, stmt).ExecContext(ctx, args...)
	} else {
		res, err = tx.ExecContext(ctx, s.sql(q), args...)
	}
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// chunk bounds how much is inserted by one statement.
const chunk, chunkBytes = 1000, 8 << 20

// insert writes rows; replace says that those of the same key are to go.
func (s *store) insert(ctx context.Context, tx *sql.Tx, t *table, replace bool, rows ...[]any) error {
	if len(rows) == 0 {
		return nil
	}
	q := s.insertion(t, replace)
	if s.numbered {
		if replace {
			rows = latest(t, rows)
		}
		for len(rows) > 0 {
			n := min(len(rows), chunk)
			if _, err := tx.ExecContext(ctx, q, arrays(t, rows[:n])...); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return nil
	}
	stmt, err := s.prepared(ctx, tx, q)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := stmt.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) prepared(ctx context.Context, tx *sql.Tx, q string) (*sql.Stmt, error) {
	if stmt := s.hot[q]; stmt != nil {
		return tx.StmtContext(ctx, stmt), nil
	}
	return tx.PrepareContext(ctx, q)
}

// Size implements Store.
func (s *store) Size(ctx context.Context) (int64, error) {
	n, err := s.size(ctx)
	return n, s.wrap(ctx, "measure its size", err)
}

// Close implements Store. The writer goes last: it leaves SQLite's file in one piece.
func (s *store) Close() error {
	for _, stmt := range s.hot {
		_ = stmt.Close() // as the connection is about to be
	}
	err := s.r.Close()
	if werr := s.w.Close(); err == nil {
		err = werr
	}
	return s.wrap(context.Background(), "close", err)
}
