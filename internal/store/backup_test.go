package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// A backup restores into either kind, and is the same again from there.
func TestBackup(t *testing.T) {
	each(t, func(t *testing.T, s *store, _ string) {
		filled(t, s)
		path := filepath.Join(t.TempDir(), "backup")
		if err := BackupFile(bg, s, path); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatal(info, err)
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"sqlite", "postgres"} {
			t.Run(kind, func(t *testing.T) {
				to := open(t, fresh(t, kind))
				if err := to.Restore(bg, bytes.NewReader(want)); err != nil {
					t.Fatal(err)
				}
				if got, err := dump(to); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("the backup of what was restored is another: %v", err)
				}
				if !reflect.DeepEqual(read(t, s, 0), read(t, to, 0)) {
					t.Fatal("other batches")
				}
				w := claim(t, to)
				w.append(w.next(true, "on"), Rows{})
				if err := to.Restore(bg, bytes.NewReader(want)); !errors.Is(err, ErrConflict) {
					t.Fatalf("restored into a store that is in use: %v", err)
				}
			})
		}
		// What is cut, or changed in any byte, is refused and leaves the store empty.
		to := open(t, fresh(t, "sqlite"))
		step := max(1, len(want)/400*slow)
		for i := 0; i < len(want); i += step {
			bad := bytes.Clone(want)
			bad[i] ^= 4
			for _, bad := range [][]byte{bad, want[:i]} {
				if err := to.Restore(bg, bytes.NewReader(bad)); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrNewer) {
					t.Fatalf("byte %d: %v", i, err)
				}
			}
		}
		if h, err := to.Head(bg); err != nil || h != (Head{}) {
			t.Fatal(h, err)
		}
		if err := to.Restore(bg, bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
	})
}

// A backup made while the store is written to is one moment.
func TestBackupWhileWriting(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		live(s, 20, func(int64) {})
		stop, done := make(chan bool), make(chan error)
		go func() {
			w := open(t, dsn)
			for last := int64(21); ; last++ {
				if err := live(w, last, func(int64) {}); err != nil {
					done <- err
					return
				}
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
			}
		}()
		for range 5 {
			before, err := s.Head(bg)
			if err != nil {
				t.Fatal(err)
			}
			data, err := dump(s)
			if err != nil {
				t.Fatal(err)
			}
			to := open(t, fresh(t, "sqlite"))
			if err := to.Restore(bg, bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
			h, _ := to.Head(bg)
			if h.Seq < before.Seq {
				t.Fatalf("a backup begun at batch %d ends at %d", before.Seq, h.Seq)
			}
			if err := survived(to, h.Seq); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzRestore(f *testing.F) {
	s := open(f, fresh(f, "sqlite"))
	filled(f, s)
	data, err := dump(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	to := open(f, fresh(f, "sqlite"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := to.Restore(bg, bytes.NewReader(data)); err == nil {
			to = open(t, fresh(t, "sqlite"))
		}
	})
}
