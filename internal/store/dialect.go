package store

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// dialect is what the two databases do differently.
type dialect struct {
	// schema replaces the words in braces of the schema's files.
	schema *strings.Replacer
	// numbered: placeholders are $1, $2 ... and many rows are inserted as arrays.
	numbered bool
	// lock at the end of a query keeps a row from other writers until the transaction ends.
	lock string
	// snapshot is a transaction that sees one moment.
	snapshot *sql.TxOptions
	// begin keeps others from changing the schema and tells whether there is one.
	begin func(context.Context, *sql.Tx) (bool, error)
	// check lets the database check itself.
	check func(context.Context, *sql.Tx) error
	// size of everything on disk.
	size func(context.Context) (int64, error)
	// classify says what kind of error the database has returned.
	classify func(error) *Error
}

// sql puts the placeholders of a query, written as ?, into the database's form.
func (d *dialect) sql(q string) string {
	if !d.numbered {
		return q
	}
	var b strings.Builder
	for n := 1; ; n++ {
		at := strings.IndexByte(q, '?')
		if at < 0 {
			b.WriteString(q)
			return b.String()
		}
		b.WriteString(q[:at] + "$" + strconv.Itoa(n))
		q = q[at+1:]
	}
}

// insertion is the statement that inserts rows: one, or as many as the arrays hold.
func (d *dialect) insertion(t *table, replace bool) string {
	var q strings.Builder
	q.WriteString("INSERT INTO " + t.name + " (" + t.list() + ") ")
	if d.numbered {
		q.WriteString("SELECT * FROM unnest(")
		for i := range t.cols {
			if i > 0 {
				q.WriteString(", ")
			}
			q.WriteString("?::" + map[byte]string{number: "bigint", text: "text", blob: "bytea"}[t.types[i]] + "[]")
		}
		q.WriteString(")")
	} else {
		q.WriteString("VALUES (?" + strings.Repeat(", ?", len(t.cols)-1) + ")")
	}
	if replace {
		q.WriteString(t.replacing())
	}
	return d.sql(q.String())
}

// arrays turns rows into one array for each column.
func arrays(t *table, rows [][]any) []any {
	args := make([]any, len(t.cols))
	for c := range args {
		switch t.types[c] {
		case number:
			args[c] = column[int64](rows, c)
		case text:
			args[c] = column[string](rows, c)
		default:
			args[c] = column[[]byte](rows, c)
		}
	}
	return args
}

func column[T any](rows [][]any, c int) []T {
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = row[c].(T)
	}
	return out
}

// latest leaves of rows with the same key only the last: one statement may not write a row twice.
func latest(t *table, rows [][]any) [][]any {
	at := make(map[string]int, len(rows))
	for i, row := range rows {
		at[string(t.encode(nil, row[:t.keys]))] = i
	}
	if len(at) == len(rows) {
		return rows
	}
	var out [][]any
	for i, row := range rows {
		if at[string(t.encode(nil, row[:t.keys]))] == i {
			out = append(out, row)
		}
	}
	return out
}
