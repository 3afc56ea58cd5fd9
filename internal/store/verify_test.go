package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filled has some of everything.
func filled(t testing.TB, s Store) {
	w := claim(t, s)
	w.segments(3, 2)
	w.append(w.next(false, strings.Repeat("long", 3000)), Rows{ // which has pages of its own
		Ended: []EndedRow{{Number: 4, ID: "four", User: "ann", Team: "t", Name: "n", State: "failed", Submitted: 1, Started: 2, Ended: 3, GPUMilliMs: 4, Body: []byte("{}")}},
		Keys:  []KeyRow{{"k", 1, []byte("body")}},
	})
	if err := s.Drop(bg, 3, []HourRow{{3_600_000, "acct", "ann", 1, 2, 3, 4}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutDoc(bg, "doc", 0, []byte("document")); err != nil {
		t.Fatal(err)
	}
}

// Any bit of any column of any row that is changed is found. Of batches it is said which one.
func TestVerifyFindsChanges(t *testing.T) {
	each(t, func(t *testing.T, s *store, _ string) {
		filled(t, s)
		rng := rand.New(rand.NewPCG(1, 6))
		for _, table := range tables {
			var rows [][]any
			for row, err := range s.rows(bg, s.r, table, "") {
				if err != nil {
					t.Fatal(err)
				}
				rows = append(rows, row)
			}
			if len(rows) == 0 {
				t.Fatalf("no rows in %s", table.name)
			}
			for _, row := range rows {
				var key []string
				for _, c := range table.cols[:table.keys] {
					key = append(key, c+" = ?")
				}
				for c, col := range table.cols {
					set := func(from, to any) error {
						keys := append([]any{to}, row[:table.keys]...)
						if c < table.keys {
							keys[1+c] = from
						}
						_, err := s.w.Exec(s.sql("UPDATE "+table.name+" SET "+col+" = ? WHERE "+strings.Join(key, " AND ")), keys...)
						return err
					}
					for i, changed := range flips(row[c], rng) {
						if s.numbered && i%4 > 0 || i%slow > 0 { // slower, and the same code
							continue
						}
						if err := set(row[c], changed); err != nil && c < table.keys {
							continue // another row has that key
						} else if err != nil {
							t.Fatal(err)
						}
						_, err := s.Verify(bg, nil)
						var e *Error
						if !errors.As(err, &e) || !errors.Is(err, ErrCorrupt) {
							t.Fatalf("%s.%s is %v instead of %v: %v", table.name, col, changed, row[c], err)
						}
						if seq, _ := row[0].(int64); table == batchTable && c > 0 && e.Seq != seq {
							t.Fatalf("batch %d, column %s: said to be %d: %v", seq, col, e.Seq, err)
						}
						if err := set(changed, row[c]); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
		verify(t, s)
		for _, q := range []string{"DELETE FROM batch WHERE seq = 5", "DELETE FROM batch WHERE seq = 7", "DELETE FROM segment", "DELETE FROM head", "DELETE FROM anchor"} {
			tx, err := s.w.Begin()
			if err == nil {
				_, err = tx.Exec(q)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.verify(bg, tx, nil); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: %v", q, err)
			}
			tx.Rollback()
		}
		verify(t, s)
	})
}

// flips are a value with one bit changed: all bits of numbers, in texts of each byte one that
// leaves it a text, of bytes one bit each where there are few.
func flips(v any, rng *rand.Rand) (all []any) {
	switch v := v.(type) {
	case int64:
		for bit := range 64 {
			all = append(all, v^1<<bit)
		}
	case string:
		for i := range len(v) {
			b := []byte(v)
			b[i] ^= 1
			all = append(all, string(b))
		}
	case []byte:
		for i := range v {
			if len(v) < 100 || rng.IntN(200) == 0 {
				b := bytes.Clone(v)
				b[i] ^= 1 << rng.IntN(8)
				all = append(all, b)
			}
		}
	}
	return all
}

// dump is everything a store holds, as a backup has it.
func dump(s Store) ([]byte, error) {
	var b bytes.Buffer
	err := s.Backup(bg, &b)
	return b.Bytes(), err
}

// A byte of the file that changes is found, or changes nothing of what is read back. Nothing panics.
func TestFlippedFile(t *testing.T) {
	path := filepath.Join(tempDir(t), "escala.db")
	s := open(t, path)
	filled(t, s)
	want, err := dump(s)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 7))
	found, harmless := 0, 0
	for i := range 800 * soak() / slow {
		at := rng.IntN(len(file))
		page := at / 4096 * 4096
		switch i % 3 { // most of a page is empty: where it begins and ends is not
		case 0:
			at = page + rng.IntN(100)
		case 1:
			at = page + 4095 - rng.IntN(200)
		}
		bad := bytes.Clone(file)
		bad[at] ^= 1 << rng.IntN(8)
		os.Remove(path + "-wal")
		os.Remove(path + "-shm")
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := looked(path, want); err != nil {
			t.Fatalf("byte %d (page %d, byte %d) is %#x instead of %#x: %v", at, at/4096+1, at%4096, bad[at], file[at], err)
		} else if wasFound {
			found++
		} else {
			harmless++
		}
	}
	t.Logf("%d changes found, %d harmless", found, harmless)
}

var wasFound bool

// looked returns an error if a store verifies and is not as it was.
func looked(path string, want []byte) error {
	wasFound = true
	s, err := Open(bg, path)
	if err != nil {
		return nil
	}
	defer s.Close()
	if _, err := s.Verify(bg, nil); err != nil {
		return nil
	}
	wasFound = false
	got, err := dump(s)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("it verifies and is another")
	}
	return nil
}
