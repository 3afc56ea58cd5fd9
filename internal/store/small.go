package store

import (
	"context"
	"database/sql"
	"fmt"
)

func hourRow(r *HourRow) []any {
	return hourTable.seal(r.Hour, r.Account, r.User, r.Allocated, r.Unallocated, r.Lost, r.Demand)
}

// Hours implements Store.
func (s *store) Hours(ctx context.Context, from, to int64) (list []HourRow, err error) {
	for row, err := range s.rows(ctx, s.r, hourTable, "WHERE hour >= ? AND hour < ? ORDER BY hour, account, owner", from, to) {
		if err != nil {
			return nil, s.wrap(ctx, "read the hours", err)
		}
		list = append(list, HourRow{Hour: row[0].(int64), Account: row[1].(string), User: row[2].(string),
			Allocated: row[3].(int64), Unallocated: row[4].(int64), Lost: row[5].(int64), Demand: row[6].(int64)})
	}
	return list, nil
}

func keyRow(r *KeyRow) []any { return keyTable.seal(r.Key, r.At, r.Body) }

// Keys implements Store.
func (s *store) Keys(ctx context.Context, since int64) (list []KeyRow, err error) {
	for row, err := range s.rows(ctx, s.r, keyTable, "WHERE at >= ? ORDER BY at, name", since) {
		if err != nil {
			return nil, s.wrap(ctx, "read the keys", err)
		}
		list = append(list, KeyRow{Key: row[0].(string), At: row[1].(int64), Body: row[2].([]byte)})
	}
	return list, nil
}

// DropKeys implements Store.
func (s *store) DropKeys(ctx context.Context, before int64) (n int64, err error) {
	err = s.write(ctx, "forget keys", func(tx *sql.Tx) error {
		n, err = s.exec(ctx, tx, `DELETE FROM request_key WHERE at < ?`, before)
		return err
	})
	return n, err
}

// Doc implements Store.
func (s *store) Doc(ctx context.Context, name string) (version int64, body []byte, err error) {
	row, err := s.row(ctx, s.r, docTable, "WHERE name = ?", clean(name))
	if err != nil || row == nil {
		return 0, nil, s.wrap(ctx, fmt.Sprintf("read document %q", name), err)
	}
	return row[1].(int64), row[2].([]byte), nil
}

// PutDoc implements Store.
func (s *store) PutDoc(ctx context.Context, name string, version int64, body []byte) (int64, error) {
	row := docTable.seal(name, version+1, body)
	err := s.write(ctx, fmt.Sprintf("write document %q", name), func(tx *sql.Tx) (err error) {
		var n int64
		if version == 0 {
			n, err = s.exec(ctx, tx, `INSERT INTO doc (name, version, body, sum) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`, row...)
		} else {
			n, err = s.exec(ctx, tx, `UPDATE doc SET version = ?, body = ?, sum = ? WHERE name = ? AND version = ?`, row[1], row[2], row[3], row[0], version)
		}
		if err == nil && n == 0 {
			err = fail(ErrConflict, fmt.Sprintf("it no longer has version %d", version), "read it again")
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return version + 1, nil
}
