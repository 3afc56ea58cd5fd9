package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A backup is a magic word, the number of the schema in 4 bytes, and frames: the id of a table in one byte, the
// length in 8, and a row as table.encode writes it. The last frame has the id 0, the number of
// frames before it and the SHA-256 of everything up to there. Numbers have their lowest
// byte first.
const magic = "escala backup 1\n"

// Backup implements Store.
func (s *store) Backup(ctx context.Context, w io.Writer) error {
	return s.view(ctx, "back up", func(tx *sql.Tx) error {
		sum := sha256.New()
		buf := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
		buf.WriteString(magic)
		buf.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(steps))))
		var frames int64
		var raw []byte
		for _, t := range tables {
			more := ""
			if t == batchTable { // what retention has removed may still be on its way out
				more = "WHERE seq > (SELECT seq FROM anchor) ORDER BY seq"
			}
			for row, err := range s.rows(ctx, tx, t, more) {
				if err != nil {
					return err
				}
				raw = t.encode(raw[:0], row)
				frames++
				buf.Write(frame(t.id, int64(len(raw))))
				if _, err := buf.Write(raw); err != nil {
					return fail(ErrIO, err.Error(), "")
				}
			}
		}
		buf.Write(frame(0, frames))
		if err := buf.Flush(); err != nil {
			return fail(ErrIO, err.Error(), "")
		}
		_, err := w.Write(sum.Sum(nil))
		return err
	})
}

func frame(id byte, n int64) []byte { return binary.LittleEndian.AppendUint64([]byte{id}, uint64(n)) }

// BackupFile writes a backup to a file of mode 0600 that appears whole and on disk, or not at all.
func BackupFile(ctx context.Context, s Store, path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first error is the one that tells
			_ = os.Remove(f.Name())
		}
	}()
	if err = s.Backup(ctx, f); err != nil {
		return err
	}
	if err = errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Restore implements Store: one transaction, which ends well only if the backup is whole and what came
// of it verifies.
func (s *store) Restore(ctx context.Context, r io.Reader) error {
	return s.write(ctx, "restore", func(tx *sql.Tx) error {
		if err := s.empty(ctx, tx); err != nil {
			return err
		}
		for _, t := range tables {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+t.name); err != nil {
				return err
			}
		}
		if err := s.load(ctx, tx, r); err != nil {
			return err
		}
		_, err := s.verify(ctx, tx, nil)
		return err
	})
}

func (s *store) empty(ctx context.Context, tx *sql.Tx) error {
	h, err := s.head(ctx, tx, s.lock)
	if err != nil {
		return err
	}
	used := h.Head != Head{}
	for _, t := range tables[2:] { // after head and anchor, which have a row each
		for _, err := range s.rows(ctx, tx, t, "LIMIT 1") {
			if err != nil {
				return err
			}
			used = true
		}
	}
	if used {
		return fail(ErrConflict, "the store is not empty", "restore into a new one")
	}
	return nil
}

// load inserts the rows of a backup.
func (s *store) load(ctx context.Context, tx *sql.Tx, r io.Reader) error {
	in := &backupReader{r: bufio.NewReaderSize(r, 1<<16), sum: sha256.New()}
	if in.bytes(int64(len(magic))); string(in.buf) != magic {
		return fail(ErrInvalid, "not a backup of escala", "")
	}
	if in.bytes(4); in.err == nil {
		if step := int(binary.LittleEndian.Uint32(in.buf)); step != len(steps) {
			return fail(ErrNewer, fmt.Sprintf("the backup has schema %d and this program writes %d", step, len(steps)), "restore it with the escala that wrote it, then open it with this one")
		}
	}
	var t *table
	var rows [][]any
	var size, frames int64
	flush := func() error {
		err := s.insert(ctx, tx, t, false, rows...)
		rows, size = nil, 0
		return err
	}
	for {
		id, n := in.frame()
		if in.err != nil {
			break
		}
		if len(rows) > 0 && (t.id != id || len(rows) == chunk || size+n > chunkBytes) {
			if err := flush(); err != nil {
				return err
			}
		}
		if id == 0 {
			return in.end(n, frames)
		}
		if int(id) > len(tables) {
			in.err = fmt.Errorf("a row of an unknown table %d", id)
			break
		}
		t = tables[id-1]
		in.bytes(n)
		row, ok := t.decode(append([]byte(nil), in.buf...))
		if in.err != nil || !ok || !t.sound(row) {
			in.err = errors.Join(in.err, fmt.Errorf("row %d is damaged", frames+1))
			break
		}
		frames, rows, size = frames+1, append(rows, row), size+n
	}
	return fail(ErrCorrupt, "the backup: "+in.err.Error(), "use another backup")
}
