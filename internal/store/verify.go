package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Verify implements Store, in one transaction: it sees one moment.
func (s *store) Verify(ctx context.Context, progress func(seq, last int64)) (v Verified, err error) {
	err = s.view(ctx, "verify", func(tx *sql.Tx) error {
		v, err = s.verify(ctx, tx, progress)
		return err
	})
	return v, err
}

func (s *store) verify(ctx context.Context, tx *sql.Tx, progress func(seq, last int64)) (v Verified, err error) {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	// The pages come last: what is damaged has a number if the chain shows it.
	if err := s.verifyChain(ctx, tx, &v, progress); err != nil {
		return v, err
	}
	for _, t := range tables {
		if !t.sealed {
			continue
		}
		for _, err := range s.rows(ctx, tx, t, "") {
			if err != nil {
				return v, err
			}
			v.Rows++
		}
	}
	return v, s.check(ctx, tx)
}

func (s *store) verifyChain(ctx context.Context, tx *sql.Tx, v *Verified, progress func(seq, last int64)) error {
	h, err := s.head(ctx, tx, "")
	if err != nil {
		return err
	}
	var prev Head
	if prev.Seq, prev.Chain, err = s.anchor(ctx, tx); err != nil {
		return err
	}
	if prev.Seq < h.Seq {
		v.First, v.Last = prev.Seq+1, h.Seq
	}
	var found []Segment
	fnErr, err := s.links(ctx, tx, &prev, h.Seq, func(b *Batch) error {
		v.Batches++
		v.Lines += int64(b.Lines)
		v.Bytes += int64(len(b.Body))
		if b.Segment == b.Seq {
			found = append(found, Segment{First: b.Seq, From: b.At})
		}
		g := &found[len(found)-1] // the first batch begins a segment
		g.Last, g.To = b.Seq, b.At
		g.Lines += int64(b.Lines)
		g.Bytes += int64(len(b.Body))
		if v.Batches%1000 == 0 {
			progress(b.Seq, h.Seq)
		}
		return ctx.Err()
	})
	if err := errors.Join(fnErr, err); err != nil {
		return err
	}
	progress(h.Seq, h.Seq)
	if prev.Seq != h.Seq || prev.Chain != h.Chain || prev.Segment != h.Segment || prev.At != h.At || prev.Epoch > h.Epoch {
		return corruptBatch(h.Seq, "it is not the one that the head names as the last")
	}
	var more int64
	if err := tx.QueryRowContext(ctx, s.sql(`SELECT count(*) FROM batch WHERE seq > ?`), h.Seq).Scan(&more); err != nil {
		return err
	}
	if more > 0 {
		return corruptBatch(h.Seq+1, "it is behind the last one")
	}
	return s.verifySegments(ctx, tx, found)
}

// verifySegments compares what is said of the segments with what they are.
func (s *store) verifySegments(ctx context.Context, tx *sql.Tx, found []Segment) error {
	list, err := s.segments(ctx, tx)
	if err != nil {
		return err
	}
	if len(list) != len(found) {
		return fail(ErrCorrupt, fmt.Sprintf("%d segments are listed and %d are there", len(list), len(found)), restoreHint)
	}
	for i, g := range list {
		found[i].Open = g.Open
		if g != found[i] {
			return corruptBatch(g.First, fmt.Sprintf("its segment is listed as %+v and is %+v", g, found[i]))
		}
	}
	return nil
}
