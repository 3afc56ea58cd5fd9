package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
)

// head is the row of the table head: the Head, and the size of the open segment.
type head struct {
	Head
	began, lines, bytes int64
}

func headRow(h *head) []any {
	return headTable.seal(int64(1), h.Epoch, h.Holder, h.Seq, h.Segment, h.At, h.Chain[:], h.began, h.lines, h.bytes)
}

func (s *store) head(ctx context.Context, q querier, lock string) (*head, error) {
	row, err := s.row(ctx, q, headTable, "WHERE id = 1"+lock)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fail(ErrCorrupt, "the row that says where the journal ends is missing", restoreHint)
	}
	h := &head{Head: Head{Epoch: row[1].(int64), Holder: row[2].(string), Seq: row[3].(int64), Segment: row[4].(int64), At: row[5].(int64)},
		began: row[7].(int64), lines: row[8].(int64), bytes: row[9].(int64)}
	copy(h.Chain[:], row[6].([]byte))
	return h, nil
}

const updateHead = `UPDATE head SET epoch = ?, holder = ?, seq = ?, segment = ?, at = ?, chain = ?, began = ?, lines = ?, bytes = ?, sum = ? WHERE id = 1`

func (s *store) setHead(ctx context.Context, tx *sql.Tx, h *head) error {
	_, err := s.exec(ctx, tx, updateHead, headRow(h)[1:]...)
	return err
}

// Head implements Store.
func (s *store) Head(ctx context.Context) (Head, error) {
	h, err := s.head(ctx, s.r, "")
	if err != nil {
		return Head{}, s.wrap(ctx, "read the head", err)
	}
	return h.Head, nil
}

// Claim implements Store.
func (s *store) Claim(ctx context.Context, holder string) (epoch int64, err error) {
	err = s.write(ctx, "claim", func(tx *sql.Tx) error {
		h, err := s.head(ctx, tx, s.lock)
		if err != nil {
			return err
		}
		h.Epoch++
		h.Holder = clean(holder)
		epoch = h.Epoch
		return s.setHead(ctx, tx, h)
	})
	return epoch, err
}

// MaxBody is the largest body of a batch, in bytes.
const MaxBody = 512 << 20

// Append implements Store. The head is read in the same transaction, never kept in
// memory: whatever has become of an earlier attempt, this one sees what is there.
func (s *store) Append(ctx context.Context, b *Batch, rows Rows) error {
	return s.write(ctx, fmt.Sprintf("append batch %d", b.Seq), func(tx *sql.Tx) error {
		h, err := s.head(ctx, tx, s.lock)
		if err != nil {
			return err
		}
		if b.Epoch != h.Epoch || b.Epoch == 0 {
			return fail(ErrStale, fmt.Sprintf("this writer has epoch %d, and %q has claimed %d", b.Epoch, h.Holder, h.Epoch), "stop this one, or begin again with a claim")
		}
		if b.Seq <= h.Seq {
			return s.again(ctx, tx, b)
		}
		if why := b.follows(&h.Head); why != "" {
			return fail(ErrInvalid, why, "")
		}
		if len(b.Body) > MaxBody {
			return fail(ErrInvalid, fmt.Sprintf("its body has %d bytes; want at most %d", len(b.Body), MaxBody), "")
		}
		b.Chain = b.chain(h.Chain)
		if err := s.insert(ctx, tx, batchTable, false, []any{b.Seq, b.Segment, b.Epoch, b.At, int64(b.Lines), b.Body, b.Chain[:]}); err != nil {
			return err
		}
		if err := s.advance(ctx, tx, h, b); err != nil {
			return err
		}
		return s.put(ctx, tx, rows)
	})
}

// advance moves the head to b, which may complete a segment.
func (s *store) advance(ctx context.Context, tx *sql.Tx, h *head, b *Batch) error {
	if b.Segment == b.Seq {
		if h.Seq > 0 {
			if err := s.insert(ctx, tx, segmentTable, false, segmentRow(h.open())); err != nil {
				return err
			}
		}
		h.began, h.lines, h.bytes = b.At, 0, 0
	}
	h.Seq, h.Segment, h.At, h.Chain = b.Seq, b.Segment, b.At, b.Chain
	h.lines += int64(b.Lines)
	h.bytes += int64(len(b.Body))
	return s.setHead(ctx, tx, h)
}

// again is an append of a batch that may be there already.
func (s *store) again(ctx context.Context, tx *sql.Tx, b *Batch) error {
	row, err := s.row(ctx, tx, batchTable, "WHERE seq = ?", b.Seq)
	if err != nil {
		return err
	}
	if row != nil && row[1] == b.Segment && row[2] == b.Epoch && row[3] == b.At && row[4] == int64(b.Lines) && bytes.Equal(row[5].([]byte), b.Body) {
		copy(b.Chain[:], row[6].([]byte))
		return nil
	}
	return fail(ErrConflict, "another batch has that number", "read the head and go on from there")
}

// put writes the rows that come with a batch.
func (s *store) put(ctx context.Context, tx *sql.Tx, rows Rows) error {
	if err := s.insert(ctx, tx, endedTable, true, sealAll(rows.Ended, endedRow)...); err != nil {
		return err
	}
	if err := s.insert(ctx, tx, keyTable, true, sealAll(rows.Keys, keyRow)...); err != nil {
		return err
	}
	return s.insert(ctx, tx, hourTable, true, sealAll(rows.Hours, hourRow)...)
}

func sealAll[T any](in []T, seal func(*T) []any) [][]any {
	out := make([][]any, len(in))
	for i := range in {
		out[i] = seal(&in[i])
	}
	return out
}
