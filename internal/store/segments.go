package store

import (
	"context"
	"database/sql"
	"fmt"
)

// open is the segment that grows.
func (h *head) open() Segment {
	return Segment{First: h.Segment, Last: h.Seq, From: h.began, To: h.At, Lines: h.lines, Bytes: h.bytes, Open: true}
}

func segmentRow(g Segment) []any {
	return segmentTable.seal(g.First, g.Last, g.From, g.To, g.Lines, g.Bytes)
}

func segmentOf(row []any) Segment {
	return Segment{First: row[0].(int64), Last: row[1].(int64), From: row[2].(int64), To: row[3].(int64), Lines: row[4].(int64), Bytes: row[5].(int64)}
}

// Segments implements Store.
func (s *store) Segments(ctx context.Context) (list []Segment, err error) {
	err = s.view(ctx, "list the segments", func(tx *sql.Tx) error {
		list, err = s.segments(ctx, tx)
		return err
	})
	return list, err
}

func (s *store) segments(ctx context.Context, q querier) (list []Segment, err error) {
	for row, err := range s.rows(ctx, q, segmentTable, "ORDER BY segment") {
		if err != nil {
			return nil, err
		}
		list = append(list, segmentOf(row))
	}
	h, err := s.head(ctx, q, "")
	if err != nil || h.Seq == 0 {
		return nil, err
	}
	return append(list, h.open()), nil
}

func anchorRow(seq int64, chain [32]byte) []any {
	return anchorTable.seal(int64(1), seq, chain[:])
}

// anchor is the last batch that was removed; 0 and zeros before the first was.
func (s *store) anchor(ctx context.Context, q querier) (seq int64, chain [32]byte, err error) {
	row, err := s.row(ctx, q, anchorTable, "WHERE id = 1")
	if err != nil {
		return 0, chain, err
	}
	if row == nil {
		return 0, chain, fail(ErrCorrupt, "the row that says where the journal begins is missing", restoreHint)
	}
	copy(chain[:], row[2].([]byte))
	return row[1].(int64), chain, nil
}

// Drop implements Store. One transaction moves the anchor, after which nobody sees the
// batches before it; they are deleted after that, some at a time, so that the journal can be
// appended to in between. A crash leaves that to the next Drop.
func (s *store) Drop(ctx context.Context, before int64, hours []HourRow) error {
	op := fmt.Sprintf("drop the segments before %d", before)
	err := s.write(ctx, op, func(tx *sql.Tx) error {
		if _, err := s.head(ctx, tx, s.lock); err != nil {
			return err
		}
		list, err := s.segments(ctx, tx)
		if err != nil {
			return err
		}
		at := -1
		for i := range list {
			if list[i].First == before {
				at = i
			}
		}
		if at < 0 {
			return fail(ErrInvalid, fmt.Sprintf("no segment begins with batch %d", before), "choose one of the list of segments")
		}
		if at > 0 {
			if err := s.moveAnchor(ctx, tx, before); err != nil {
				return err
			}
		}
		return s.insert(ctx, tx, hourTable, true, sealAll(hours, hourRow)...)
	})
	if err != nil {
		return err
	}
	return s.trim(ctx, op)
}

func (s *store) moveAnchor(ctx context.Context, tx *sql.Tx, before int64) error {
	row, err := s.row(ctx, tx, batchTable, "WHERE seq = ?", before-1)
	if err != nil {
		return err
	}
	if row == nil {
		return corruptBatch(before-1, "it is missing")
	}
	var chain [32]byte
	copy(chain[:], row[6].([]byte))
	if _, err := s.exec(ctx, tx, `UPDATE anchor SET seq = ?, chain = ?, sum = ? WHERE id = 1`, anchorRow(before-1, chain)[1:]...); err != nil {
		return err
	}
	_, err = s.exec(ctx, tx, `DELETE FROM segment WHERE segment < ?`, before)
	return err
}

// trim deletes the batches up to the anchor.
func (s *store) trim(ctx context.Context, op string) error {
	const some = 500
	for {
		var n int64
		err := s.write(ctx, op, func(tx *sql.Tx) error {
			upTo, _, err := s.anchor(ctx, tx)
			if err != nil {
				return err
			}
			n, err = s.exec(ctx, tx, `DELETE FROM batch WHERE seq <= ? AND seq < (SELECT min(seq) FROM batch) + ?`, upTo, some)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
}
