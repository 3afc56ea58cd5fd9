package store

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the child of the crash tests: see crash_test.go.
func TestMain(m *testing.M) {
	if path := os.Getenv("ESCALA_STORE_CHILD"); path != "" {
		child(path)
		return
	}
	code := m.Run()
	stopPostgres()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// each runs a test on a fresh store of each kind; dsn opens the same one again.
func each(t *testing.T, test func(t *testing.T, s *store, dsn string)) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			dsn := fresh(t, kind)
			test(t, open(t, dsn), dsn)
		})
	}
}

// memory is a folder whose file system is in memory, where there is one: what these tests check does not depend
// on a disk, and waiting for one thousands of times takes long. Benchmarks are about the disk.
func memory() string {
	const shm = "/dev/shm"
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		return ""
	}
	if f, err := os.CreateTemp(shm, "escala"); err == nil {
		f.Close()
		os.Remove(f.Name())
		return shm
	}
	return ""
}

func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "escala-store")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fresh is the DSN of a store that does not exist yet.
func fresh(t testing.TB, kind string) string {
	if kind == "postgres" {
		return postgres(t).Schema(t)
	}
	return filepath.Join(tempDir(t), "data", "escala.db")
}

func open(t testing.TB, dsn string) *store {
	t.Helper()
	s, err := Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*store)
}

// writer appends batches one after the other.
type writer struct {
	t testing.TB
	s Store
	Head
}

func claim(t testing.TB, s Store) *writer {
	t.Helper()
	epoch, err := s.Claim(context.Background(), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if h.Epoch != epoch || h.Holder != clean(t.Name()) {
		t.Fatalf("claimed %d, and the head is %+v", epoch, h)
	}
	return &writer{t, s, h}
}

// next is the batch that follows; begin says that it begins a segment.
func (w *writer) next(begin bool, lines ...string) *Batch {
	b := &Batch{Seq: w.Seq + 1, Segment: w.Segment, Epoch: w.Epoch, At: w.At + 10, Lines: len(lines), Body: []byte(strings.Join(lines, "\n") + "\n")}
	if begin || w.Seq == 0 {
		b.Segment = b.Seq
	}
	return b
}

func (w *writer) append(b *Batch, rows Rows) {
	w.t.Helper()
	if err := w.s.Append(context.Background(), b, rows); err != nil {
		w.t.Fatal(err)
	}
	w.Seq, w.Segment, w.At, w.Chain = b.Seq, b.Segment, b.At, b.Chain
}

// segments appends n segments of m batches each.
func (w *writer) segments(n, m int) (all []Batch) {
	for range n {
		for i := range m {
			b := w.next(i == 0, fmt.Sprintf(`{"t":%d,"fact":"x"}`, w.At), strings.Repeat("y", i))
			w.append(b, Rows{})
			all = append(all, *b)
		}
	}
	return all
}

// read is what Read returns, copied.
func read(t testing.TB, s Store, from int64) (all []Batch) {
	t.Helper()
	if err := s.Read(context.Background(), from, func(b *Batch) error {
		c := *b
		c.Body = append([]byte(nil), b.Body...)
		all = append(all, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func verify(t testing.TB, s Store) Verified {
	t.Helper()
	v, err := s.Verify(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
