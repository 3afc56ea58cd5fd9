package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/store/pgtest"
)

// The server is killed in the middle and comes back: what fails says that it may be tried again, and
// what was acknowledged is there.
func TestPostgresGone(t *testing.T) {
	postgres(t) // or skip
	p := pgtest.New(memory())
	defer func() { // what was killed leaves shared memory behind, which the next one removes
		if err := p.Start(); err != nil {
			t.Error(err)
		}
		if err := p.Remove(); err != nil {
			t.Error(err)
		}
	}()
	s := open(t, p.Schema(t))
	var acked int64
	note := func(seq int64) { acked = seq }
	for round := range 3 {
		killed := make(chan error)
		go func() {
			time.Sleep(50 * time.Millisecond)
			p.Kill(syscall.SIGKILL)
			time.Sleep(50 * time.Millisecond)
			killed <- p.Start()
		}()
		var e *Error
		err := live(s, 1<<40, note)
		if !errors.As(err, &e) || !errors.Is(err, ErrUnavailable) || !Temporary(err) {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		// Each connection of the pool has to find out by itself.
		retry := func(f func() error) {
			err := f()
			for try := 0; try < readers && Temporary(err); try++ {
				err = f()
			}
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		var h Head
		retry(func() (err error) { h, err = s.Head(bg); return err })
		if h.Epoch == 0 { // it was killed before the first claim
			retry(func() (err error) { h.Epoch, err = s.Claim(bg, "test"); return err })
		}
		// The same batch again, whether or not it came through.
		b, rows := life(acked+1, h.Epoch)
		retry(func() error { return s.Append(bg, b, rows) })
		acked++
		retry(func() error { _, err := s.EndedJob(bg, 1); return err })
		retry(func() error { _, err := s.Verify(bg, nil); return err })
		if err := survived(s, acked); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	p.Kill(syscall.SIGKILL)
	if _, err := s.Head(bg); !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	if _, err := Open(bg, p.DSN("x")); !errors.Is(err, ErrUnavailable) || !Temporary(err) {
		t.Fatal(err)
	}
}

func TestPostgresRefuses(t *testing.T) {
	p := postgres(t)
	for dsn, want := range map[string]error{
		strings.Replace(p.DSN(""), "/postgres?", "/nowhere?", 1):     ErrDenied,
		strings.Replace(p.DSN(""), "escala@", "stranger:s3cret@", 1): ErrDenied,
		"postgres://escala:s3cret@localhost:1/x?connect_timeout=1":   ErrUnavailable,
		"postgres://escala:s3cret@localhost:port/x":                  ErrInvalid,
		p.DSN("no_such_schema"):                                      ErrDenied,
		p.Schema(t) + "&default_transaction_read_only=on":            ErrReadOnly,
	} {
		_, err := Open(bg, dsn)
		if !errors.Is(err, want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %v", dsn, err, want)
		}
	}
}

// A commit waits for the disk whatever the server's default is.
func TestPostgresDurable(t *testing.T) {
	s := open(t, postgres(t).Schema(t)+"&synchronous_commit=off")
	var is string
	if err := s.w.QueryRow("SHOW synchronous_commit").Scan(&is); err != nil || is != "on" {
		t.Fatal(is, err)
	}
}

// mount mounts a small file system in memory, or skips.
func mount(t *testing.T, options string) string {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system of its own")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// full appends until there is no more room, makes room and goes on.
func full(t *testing.T, s *store, room func()) {
	w := claim(t, s)
	big := strings.Repeat("x", 50_000)
	var err error
	for range 1000 {
		b := w.next(false, big)
		if err = s.Append(bg, b, Rows{Keys: []KeyRow{{Key: "k"}}}); err != nil {
			break
		}
		w.Seq, w.Segment, w.At, w.Chain = b.Seq, b.Segment, b.At, b.Chain
	}
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrFull) || !Temporary(err) || e.Do == "" {
		t.Fatal(err)
	}
	if h, err := s.Head(bg); err != nil || h != w.Head {
		t.Fatalf("head %+v, %v; want %+v", h, err, w.Head)
	}
	if v := verify(t, s); v.Last != w.Seq {
		t.Fatalf("verified %+v", v)
	}
	room()
	w.append(w.next(false, big), Rows{})
	verify(t, s)
}

func TestFullDisk(t *testing.T) {
	dir := mount(t, "size=2m")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 600_000), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "escala.db"))
	full(t, s, func() { os.Remove(ballast) })
	// Not even room to make one.
	os.WriteFile(ballast, make([]byte, 2<<20), 0o600)
	if _, err := Open(bg, filepath.Join(dir, "more", "escala.db")); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

func TestFullFile(t *testing.T) {
	s := open(t, fresh(t, "sqlite"))
	limit := func(pages string) {
		if _, err := s.w.Exec("PRAGMA max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("200")
	full(t, s, func() { limit("1000000") })
}

func TestReadOnly(t *testing.T) {
	dir := mount(t, "size=4m")
	path := filepath.Join(dir, "escala.db")
	s := open(t, path)
	filled(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "remount,ro", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v: %s", err, out)
	}
	for _, path := range []string{path, filepath.Join(dir, "other", "escala.db")} {
		_, err := Open(bg, path)
		if !errors.Is(err, ErrReadOnly) || Temporary(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 500)), 0o600)
	for dsn, want := range map[string]error{
		"":                       ErrInvalid,
		"sqlite:":                ErrInvalid,
		":memory:":               ErrInvalid,
		"mysql://x/y":            ErrInvalid,
		dir:                      ErrDenied,
		text:                     ErrCorrupt,
		filepath.Join(text, "x"): ErrDatabase,
	} {
		if _, err := Open(bg, dsn); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", dsn, err, want)
		}
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	dsn := fresh(t, "sqlite")
	s := open(t, "sqlite:"+dsn)
	filled(t, s)
	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "escala.db": 0o600, "escala.db-wal": 0o600, "escala.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(filepath.Dir(dsn), name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// A path is only a path.
func TestOddPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?mode=ro&x=%41#ü.db")
	filled(t, open(t, path))
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}

func TestSchemas(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		filled(t, s)
		if _, err := s.w.Exec("UPDATE schema_step SET step = 99"); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(bg, dsn); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "99") {
			t.Fatal(err)
		}
	})
	s := open(t, filepath.Join(t.TempDir(), "x"))
	if _, err := s.w.Exec("DROP TABLE schema_step"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(bg, s.where); !errors.Is(err, ErrInvalid) {
		t.Fatalf("a database of something else: %v", err)
	}
}

// Stores that are opened at once for the first time make one schema.
func TestOpenAtOnce(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			dsn := fresh(t, kind)
			errs := make(chan error)
			for range 6 {
				go func() {
					s, err := Open(bg, dsn)
					if err == nil {
						err = s.Close()
					}
					errs <- err
				}()
			}
			for range 6 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestContext(t *testing.T) {
	each(t, func(t *testing.T, s *store, _ string) {
		w := claim(t, s)
		w.segments(1, 3)
		for range 30 { // it ends wherever the query is by then
			ctx, cancel := context.WithCancel(bg)
			err := s.Read(ctx, 0, func(*Batch) error { cancel(); return nil })
			if err != nil && (!errors.Is(err, context.Canceled) || errors.Is(err, ErrCorrupt)) {
				t.Fatal(err)
			}
			ctx, cancel = context.WithTimeout(bg, time.Duration(rand.IntN(300))*time.Microsecond)
			_, err = s.Verify(ctx, nil)
			cancel()
			if err != nil && (!errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrCorrupt)) {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(bg)
		cancel()
		if err := s.Append(ctx, w.next(false, "x"), Rows{}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := s.Head(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		w.append(w.next(false, "x"), Rows{})
		verify(t, s)
	})
}

// Everything at once, for the race detector.
func TestConcurrent(t *testing.T) {
	each(t, func(t *testing.T, s *store, _ string) {
		if err := live(s, 10, func(int64) {}); err != nil {
			t.Fatal(err)
		}
		stop := make(chan bool)
		errs := make(chan error)
		work := []func() error{
			func() error { return s.Read(bg, 0, func(*Batch) error { return nil }) },
			func() error { _, err := s.Verify(bg, nil); return err },
			func() error { _, err := s.Segments(bg); return err },
			func() error { _, _, err := s.Ended(bg, EndedFilter{User: "u1"}, "", 5); return err },
			func() error { _, err := s.Keys(bg, 0); return err },
			func() error { _, err := dump(s); return err },
			func() error {
				v, _, err := s.Doc(bg, "d")
				if err == nil {
					_, err = s.PutDoc(bg, "d", v, nil)
				}
				return err
			},
			func() error { _, err := s.Size(bg); return err },
		}
		for _, f := range work {
			go func() {
				for {
					if err := f(); err != nil && !errors.Is(err, ErrDropped) {
						errs <- err
						return
					}
					select {
					case <-stop:
						errs <- nil
						return
					default:
					}
				}
			}()
		}
		err := live(s, 100, func(int64) {})
		close(stop)
		for range work {
			err = errors.Join(err, <-errs)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A store of an earlier version gets the steps that it lacks, and is then refused by the earlier version.
func TestNextStep(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		filled(t, s)
		want := read(t, s, 0)
		old := steps
		defer func() { steps = old }()
		steps = append(old[:len(old):len(old)], "CREATE TABLE later (a {int} NOT NULL) {end}", "ALTER TABLE later ADD COLUMN b {text}")
		next := open(t, dsn)
		if _, err := next.w.Exec("INSERT INTO later (a, b) VALUES (1, 'x')"); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(read(t, next, 0), want) {
			t.Fatal("other batches")
		}
		open(t, dsn) // nothing more to do
		steps = append(old[:len(old):len(old)], "CREATE TABLE", "")
		if _, err := Open(bg, fresh(t, path.Base(t.Name()))); !errors.Is(err, ErrDatabase) {
			t.Fatalf("a step that fails: %v", err)
		}
		steps = old
		if _, err := Open(bg, dsn); !errors.Is(err, ErrNewer) {
			t.Fatal(err)
		}
	})
}
