package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

// column types: what a row holds is int64, string or []byte.
const (
	number = 'i'
	text   = 't'
	blob   = 'b'
)

// table is what the code has to know of a table to write, read, check and copy its rows.
type table struct {
	// id stands for it in sums and backups and must not change.
	id    byte
	name  string
	cols  []string
	types string
	// The first keys columns are its key.
	keys int
	// sealed: the last column is a sum over the others.
	sealed bool
}

// The tables in the order of a backup. Each sum is a CRC-32C, so that rot is
// found that the database itself would not see; the chain does that for batches.
var (
	headTable    = &table{1, "head", strings.Fields("id epoch holder seq segment at chain began lines bytes sum"), "iitiiibiiii", 1, true}
	anchorTable  = &table{2, "anchor", strings.Fields("id seq chain sum"), "iibi", 1, true}
	segmentTable = &table{3, "segment", strings.Fields("segment last began ended lines bytes sum"), "iiiiiii", 1, true}
	batchTable   = &table{4, "batch", strings.Fields("seq segment epoch at lines body chain"), "iiiiibb", 1, false}
	endedTable   = &table{5, "ended", strings.Fields("number id owner team name state submitted started ended gpu_milli_ms body sum"), "itttttiiiibi", 1, true}
	hourTable    = &table{6, "ledger_hour", strings.Fields("hour account owner allocated unallocated lost demand sum"), "ittiiiii", 3, true}
	keyTable     = &table{7, "request_key", strings.Fields("name at body sum"), "tibi", 1, true}
	docTable     = &table{8, "doc", strings.Fields("name version body sum"), "tibi", 1, true}

	tables = []*table{headTable, anchorTable, segmentTable, batchTable, endedTable, hourTable, keyTable, docTable}
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode appends the values of a row: numbers as 8 bytes, lowest first, all else after its
// length in 4.
func (t *table) encode(b []byte, row []any) []byte {
	for _, v := range row {
		switch v := v.(type) {
		case int64:
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		case string:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
		case []byte:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
		default:
			panic(fmt.Sprintf("store: a %T in a row of %s", v, t.name))
		}
	}
	return b
}

// decode is the inverse of encode.
func (t *table) decode(b []byte) ([]any, bool) {
	row := make([]any, len(t.cols))
	for i := range row {
		if t.types[i] == number {
			if len(b) < 8 {
				return nil, false
			}
			row[i], b = int64(binary.LittleEndian.Uint64(b)), b[8:]
			continue
		}
		if len(b) < 4 {
			return nil, false
		}
		n := int64(binary.LittleEndian.Uint32(b))
		if b = b[4:]; int64(len(b)) < n {
			return nil, false
		}
		if t.types[i] == text {
			row[i] = string(b[:n])
		} else {
			row[i] = b[:n:n]
		}
		b = b[n:]
	}
	return row, len(b) == 0
}

func (t *table) sum(row []any) int64 {
	return int64(crc32.Update(uint32(t.id), castagnoli, t.encode(nil, row)))
}

// seal appends the sum to a row that lacks it.
func (t *table) seal(row ...any) []any {
	for i, v := range row {
		switch v := v.(type) {
		case string:
			row[i] = clean(v)
		case []byte:
			if v == nil { // which a database would take for NULL
				row[i] = []byte{}
			}
		}
	}
	return append(row, t.sum(row))
}

// clean replaces what PostgreSQL does not take in texts.
func clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// sound tells whether the sum of a row is right.
func (t *table) sound(row []any) bool {
	last := len(row) - 1
	return !t.sealed || t.sum(row[:last]) == row[last]
}

// scan reads the current row. Its error says which row is damaged, unless the context has ended.
func (t *table) scan(ctx context.Context, rows *sql.Rows) ([]any, error) {
	to := make([]any, len(t.cols))
	for i := range to {
		switch t.types[i] {
		case number:
			to[i] = new(int64)
		case text:
			to[i] = new(string)
		default:
			to[i] = new([]byte)
		}
	}
	if err := rows.Scan(to...); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fail(ErrCorrupt, fmt.Sprintf("a row of table %s: %v", t.name, err), restoreHint)
	}
	for i, p := range to {
		switch p := p.(type) {
		case *int64:
			to[i] = *p
		case *string:
			to[i] = *p
		case *[]byte:
			if *p == nil { // as SQLite's driver returns an empty one
				*p = []byte{}
			}
			to[i] = *p
		}
	}
	if !t.sound(to) {
		return nil, fail(ErrCorrupt, fmt.Sprintf("the row of table %s with %s %v does not have the sum it was written with", t.name, t.cols[0], to[0]), restoreHint)
	}
	return to, nil
}

const restoreHint = "restore the latest backup into an empty store"

func (t *table) list() string { return strings.Join(t.cols, ", ") }

// replacing is the end of an insert that replaces rows of the same key.
func (t *table) replacing() string {
	var set []string
	for _, c := range t.cols[t.keys:] {
		set = append(set, c+" = excluded."+c)
	}
	return " ON CONFLICT (" + strings.Join(t.cols[:t.keys], ", ") + ") DO UPDATE SET " + strings.Join(set, ", ")
}
