package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

func endedRow(r *EndedRow) []any {
	return endedTable.seal(int64(r.Number), r.ID, r.User, r.Team, r.Name, r.State, r.Submitted, r.Started, r.Ended, r.GPUMilliMs, r.Body)
}

func endedOf(row []any) EndedRow {
	return EndedRow{Number: int32(row[0].(int64)), ID: row[1].(string), User: row[2].(string), Team: row[3].(string), Name: row[4].(string), State: row[5].(string),
		Submitted: row[6].(int64), Started: row[7].(int64), Ended: row[8].(int64), GPUMilliMs: row[9].(int64), Body: row[10].([]byte)}
}

// Ended implements Store. The cursor is the end and the number of the last row that was returned.
func (s *store) Ended(ctx context.Context, f EndedFilter, after string, limit int) (list []EndedRow, next string, err error) {
	const op = "list ended jobs"
	where, args := f.where()
	if after != "" {
		ended, number, ok := cursor(after)
		if !ok {
			return nil, "", s.wrap(ctx, op, fail(ErrInvalid, fmt.Sprintf("%q is no place to go on from", after), "give what an earlier page returned as next"))
		}
		where, args = append(where, "(ended, number) < (?, ?)"), append(args, ended, number)
	}
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	more := "ORDER BY ended DESC, number DESC LIMIT ?"
	if len(where) > 0 {
		more = "WHERE " + strings.Join(where, " AND ") + " " + more
	}
	for row, err := range s.rows(ctx, s.r, endedTable, more, append(args, limit+1)...) {
		if err != nil {
			return nil, "", s.wrap(ctx, op, err)
		}
		list = append(list, endedOf(row))
	}
	if len(list) > limit {
		list = list[:limit]
		last := &list[limit-1]
		next = fmt.Sprintf("%d-%d", last.Ended, last.Number)
	}
	return list, next, nil
}

func cursor(after string) (ended, number int64, ok bool) {
	at := strings.LastIndexByte(after, '-')
	if at < 0 {
		return 0, 0, false
	}
	ended, err := strconv.ParseInt(after[:at], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	number, err = strconv.ParseInt(after[at+1:], 10, 32)
	return ended, number, err == nil
}

func (f *EndedFilter) where() (where []string, args []any) {
	add := func(cond string, arg any) { where, args = append(where, cond), append(args, arg) }
	for _, e := range [...]struct{ column, want string }{{"owner", f.User}, {"team", f.Team}, {"state", f.State}} {
		if e.want != "" {
			add(e.column+" = ?", clean(e.want))
		}
	}
	if f.IDPrefix != "" {
		prefix := clean(f.IDPrefix)
		add("id >= ?", prefix)
		if end := behind(prefix); end != "" {
			add("id < ?", end)
		}
	}
	if f.From != 0 {
		add("ended >= ?", f.From)
	}
	if f.To != 0 {
		add("ended < ?", f.To)
	}
	return where, args
}

// behind is the first text after all that begin with prefix; "" if there is none. Both databases compare
// bytes, whose order in UTF-8 is that of the characters.
func behind(prefix string) string {
	for prefix != "" {
		r, n := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-n]
		switch {
		case r == 0xD7FF: // surrogates are no characters
			return prefix + "\uE000"
		case r < utf8.MaxRune:
			return prefix + string(r+1)
		}
	}
	return ""
}

func (s *store) oneEnded(ctx context.Context, op, more string, arg any) (EndedRow, error) {
	row, err := s.row(ctx, s.r, endedTable, more, arg)
	if err == nil && row == nil {
		err = fail(ErrNotFound, "", "")
	}
	if err != nil {
		return EndedRow{}, s.wrap(ctx, op, err)
	}
	return endedOf(row), nil
}

// EndedJob implements Store.
func (s *store) EndedJob(ctx context.Context, number int32) (EndedRow, error) {
	return s.oneEnded(ctx, fmt.Sprintf("find ended job %d", number), "WHERE number = ?", int64(number))
}

// EndedByID implements Store.
func (s *store) EndedByID(ctx context.Context, id string) (EndedRow, error) {
	return s.oneEnded(ctx, fmt.Sprintf("find ended job %q", id), "WHERE id = ? ORDER BY ended DESC, number DESC LIMIT 1", clean(id))
}

// DropEnded implements Store.
func (s *store) DropEnded(ctx context.Context, before int64) (n int64, err error) {
	err = s.write(ctx, "forget ended jobs", func(tx *sql.Tx) error {
		n, err = s.exec(ctx, tx, `DELETE FROM ended WHERE ended < ?`, before)
		return err
	})
	return n, err
}
