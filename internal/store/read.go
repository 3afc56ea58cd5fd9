package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

func corruptBatch(seq int64, what string) *Error {
	e := fail(ErrCorrupt, fmt.Sprintf("batch %d: %s", seq, what), restoreHint)
	e.Seq = seq
	return e
}

// Read implements Store. It takes some batches at a time: a query that stays open for long keeps SQLite
// from reusing its log.
func (s *store) Read(ctx context.Context, from int64, fn func(*Batch) error) error {
	const some = 500
	h, prev, err := s.before(ctx, from)
	for err == nil && prev.Seq < h.Seq { // prev is nil only with an error
		var fnErr error
		fnErr, err = s.links(ctx, s.r, prev, min(h.Seq, prev.Seq+some), fn)
		if fnErr != nil {
			return fnErr
		}
	}
	if err != nil {
		if seq, _, aerr := s.anchor(ctx, s.r); prev != nil && errors.Is(err, ErrCorrupt) && aerr == nil && seq > prev.Seq {
			err = fail(ErrDropped, fmt.Sprintf("batches up to %d were removed in the meantime", seq), "")
		}
		return s.wrap(ctx, fmt.Sprintf("read from batch %d", from), err)
	}
	return nil
}

// before returns the head, and as far as it is known what comes before batch from.
func (s *store) before(ctx context.Context, from int64) (h *head, prev *Head, err error) {
	tx, err := s.r.BeginTx(ctx, s.snapshot)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	if h, err = s.head(ctx, tx, ""); err != nil {
		return nil, nil, err
	}
	prev = new(Head)
	if prev.Seq, prev.Chain, err = s.anchor(ctx, tx); err != nil {
		return nil, nil, err
	}
	switch {
	case from == 0 || from == prev.Seq+1:
		return h, prev, nil
	case from <= prev.Seq:
		return nil, nil, fail(ErrDropped, fmt.Sprintf("the first batch there is is %d", prev.Seq+1), "")
	case from > h.Seq:
		return h, &h.Head, nil
	}
	row, err := s.row(ctx, tx, batchTable, "WHERE seq = ?", from-1)
	switch {
	case err != nil:
		return nil, nil, err
	case row == nil:
		return nil, nil, corruptBatch(from-1, "it is missing")
	}
	prev.Seq, prev.Segment, prev.Epoch, prev.At = from-1, row[1].(int64), row[2].(int64), row[3].(int64)
	copy(prev.Chain[:], row[6].([]byte))
	return h, prev, nil
}

// links goes over the batches after prev up to last and moves prev along. It checks each against the
// one before. fnErr is an error of fn.
func (s *store) links(ctx context.Context, q querier, prev *Head, last int64, fn func(*Batch) error) (fnErr, err error) {
	// What a query meets is damage to the batch that would have been next.
	named := func(err error) error {
		if errors.Is(s.classify(err), ErrCorrupt) {
			e := corruptBatch(prev.Seq+1, "it cannot be read")
			e.Err = err
			return e
		}
		return err
	}
	rows, err := q.QueryContext(ctx, s.sql("SELECT "+batchTable.list()+" FROM batch WHERE seq > ? AND seq <= ? ORDER BY seq"), prev.Seq, last)
	if err != nil {
		return nil, named(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err tells
	var body, chain sql.RawBytes
	for rows.Next() {
		var b Batch
		if err := rows.Scan(&b.Seq, &b.Segment, &b.Epoch, &b.At, &b.Lines, &body, &chain); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, corruptBatch(prev.Seq+1, err.Error())
		}
		b.Body = body
		if b.Seq != prev.Seq+1 {
			return nil, corruptBatch(prev.Seq+1, "it is missing")
		}
		b.Chain = b.chain(prev.Chain)
		if string(chain) != string(b.Chain[:]) {
			return nil, corruptBatch(b.Seq, "its content does not have the SHA-256 it was written with")
		}
		if why := b.follows(prev); why != "" {
			return nil, corruptBatch(b.Seq, why)
		}
		prev.Seq, prev.Segment, prev.Epoch, prev.At, prev.Chain = b.Seq, b.Segment, b.Epoch, b.At, b.Chain
		if err := fn(&b); err != nil {
			return err, nil
		}
	}
	if err := rows.Err(); err != nil {
		return nil, named(err)
	}
	if prev.Seq < last {
		return nil, corruptBatch(prev.Seq+1, "it is missing")
	}
	return nil, nil
}
