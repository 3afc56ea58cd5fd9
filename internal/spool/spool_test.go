package spool

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/escala-sched/escala/internal/store"
)

var bg = context.Background()

func TestMain(m *testing.M) {
	if path := os.Getenv("ESCALA_SPOOL_CHILD"); path != "" {
		child(path)
		return
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string) *Spool {
	t.Helper()
	s, err := Open(bg, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// secret is what job has: its number all over, from a few bytes to some pages.
func secret(job int32) []byte {
	n := 1 + rand.New(rand.NewPCG(uint64(job), 1)).IntN(200)
	if job%17 == 0 {
		n *= 20
	}
	return bytes.Repeat(mark(job), n)
}

func mark(job int32) []byte { return fmt.Appendf(nil, "<s3cret %06d>", job) }

// lingering lists the jobs of which there is a trace in the files, but should not be.
func lingering(t testing.TB, path string, gone func(int32) bool) (jobs []int32) {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		data, err := os.ReadFile(path + end)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for {
			_, after, ok := bytes.Cut(data, []byte("s3cret "))
			if data = after; !ok {
				break
			}
			if len(data) < 6 {
				continue
			}
			if job, err := strconv.ParseInt(string(data[:6]), 10, 32); err == nil && gone(int32(job)) {
				jobs = append(jobs, int32(job))
			}
		}
	}
	return jobs
}

func TestPutGetDelete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "private", "spool.db")
	s := open(t, path)
	if err := s.Put(bg, []Entry{{1, secret(1)}, {2, nil}, {17, secret(17)}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(bg, []Entry{{1, secret(3)}}); err != nil {
		t.Fatal(err)
	}
	other := open(t, path)
	for job, want := range map[int32][]byte{1: secret(3), 2: nil, 17: secret(17)} {
		if got, err := other.Get(bg, job); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("job %d: %v", job, err)
		}
	}
	other.Close()
	if _, err := s.Get(bg, 3); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if err := s.Delete(bg, 1, 99); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(bg, 1); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if n, err := s.Sweep(bg, func(job int32) bool { return job == 17 }); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.Sweep(bg, func(job int32) bool { return job == 17 }); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := s.Get(bg, 17); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "spool.db": 0o600, "spool.db-wal": 0o600, "spool.db-shm": 0o600} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// After Delete nothing of a value is in any file, whatever else was put, moved and removed.
func TestNothingLingers(t *testing.T) {
	for seed := range uint64(6) {
		path := filepath.Join(t.TempDir(), "spool.db")
		s := open(t, path)
		rng := rand.New(rand.NewPCG(seed, 2))
		alive := map[int32]bool{}
		for round := range 60 {
			var put []Entry
			var gone []int32
			for range rng.IntN(20) {
				if job := int32(rng.IntN(3000)); !alive[job] {
					put = append(put, Entry{job, secret(job)})
					alive[job] = true
				}
			}
			if err := s.Put(bg, put); err != nil {
				t.Fatal(err)
			}
			for job := range alive {
				if rng.IntN(3) == 0 {
					gone = append(gone, job)
					delete(alive, job)
				}
			}
			if err := s.Delete(bg, gone...); err != nil {
				t.Fatal(err)
			}
			if left := lingering(t, path, func(job int32) bool { return !alive[job] }); len(left) > 0 {
				t.Fatalf("seed %d, round %d: of jobs %v", seed, round, left)
			}
		}
		for job := range alive {
			if got, err := s.Get(bg, job); err != nil || !bytes.Equal(got, secret(job)) {
				t.Fatalf("job %d: %v", job, err)
			}
		}
	}
}

func TestRefusesOpenFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	path := filepath.Join(dir, "spool.db")
	s := open(t, path)
	for _, c := range []struct {
		path      string
		bad, good os.FileMode
	}{{path, 0o640, 0o600}, {path, 0o604, 0o600}, {path, 0o620, 0o600}, {path + "-wal", 0o644, 0o600}, {path + "-shm", 0o644, 0o600}, {dir, 0o770, 0o700}, {dir, 0o707, 0o755}} {
		if err := os.Chmod(c.path, c.bad); err != nil {
			t.Fatal(err)
		}
		_, err := Open(bg, path)
		if !errors.Is(err, store.ErrDenied) || !strings.Contains(err.Error(), "chmod") || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s %v: %v", c.path, c.bad, err)
		}
		if err := os.Chmod(c.path, c.good); err != nil {
			t.Fatal(err)
		}
		open(t, path).Close()
	}
	s.Close()
}

// No error and no print of an entry shows a value.
func TestErrorsKeepSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool.db")
	s := open(t, path)
	e := Entry{7, []byte("s3cret")}
	seen := fmt.Sprintf("%v %+v %#v %s %v", e, e, e, e, []Entry{e})
	note := func(what string, err error) {
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		seen += err.Error()
	}
	if err := s.Put(bg, []Entry{e}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(`UPDATE entry SET body = x'73336372657400'`); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get(bg, 7)
	note("damaged", err)
	if !errors.Is(err, store.ErrCorrupt) {
		t.Error(err)
	}
	s.db.Exec("PRAGMA max_page_count = 1")
	err = s.Put(bg, []Entry{{8, bytes.Repeat(e.Body, 10000)}})
	note("full", err)
	if !errors.Is(err, store.ErrFull) || !store.Temporary(err) {
		t.Error(err)
	}
	s.db.Exec("PRAGMA query_only = 1")
	note("read-only", s.Put(bg, []Entry{e}))
	ctx, cancel := context.WithCancel(bg)
	cancel()
	err = s.Put(ctx, []Entry{e})
	note("cancelled", err)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.Close()
	note("closed", s.Put(bg, []Entry{e}))
	if strings.Contains(seen, "s3cret") || strings.Contains(seen, "115") {
		t.Fatal(seen)
	}
}

// child puts and deletes until it is killed, and prints what was acknowledged.
func child(path string) {
	path, from, _ := strings.Cut(path, "|")
	first, _ := strconv.Atoi(from)
	s, err := Open(bg, path)
	for job := int32(first); err == nil; job++ {
		if err = s.Put(bg, []Entry{{job, secret(job)}}); err != nil {
			break
		}
		fmt.Println("put", job)
		if job%3 > 0 {
			fmt.Println("deleting", job)
			err = s.Delete(bg, job)
			fmt.Println("deleted", job)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool.db")
	open(t, path).Close()
	there := map[int32]string{}
	rounds, next := 10, int32(0)
	if n, err := strconv.Atoi(os.Getenv("ESCALA_SOAK")); err == nil {
		rounds *= n
	}
	for range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("ESCALA_SPOOL_CHILD=%s|%d", path, next))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(20+rand.IntN(150))*time.Millisecond, func() { cmd.Process.Kill() })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			what, job, _ := strings.Cut(lines.Text(), " ")
			n, _ := strconv.Atoi(job)
			there[int32(n)] = what
			next = int32(n) + 2 // the one in between was under way
		}
		timer.Stop()
		cmd.Wait()
		s := open(t, path)
		for job, what := range there {
			got, err := s.Get(bg, job)
			if what == "put" && (err != nil || !bytes.Equal(got, secret(job))) || what == "deleted" && !errors.Is(err, ErrNotFound) {
				t.Fatalf("%s %d: %v", what, job, err)
			}
		}
		// Opening has cleared what a crash left uncleared.
		if left := lingering(t, path, func(job int32) bool { return there[job] == "deleted" }); len(left) > 0 {
			t.Fatalf("of deleted jobs %v", left)
		}
		s.Close()
	}
	if len(there) < 10 {
		t.Fatalf("only %d jobs", len(there))
	}
}

// Secure deletion alone is not enough: this is why rows begin with zeros.
func TestZerosAreNeeded(t *testing.T) {
	for seed := range uint64(20) {
		path := filepath.Join(t.TempDir(), "plain.db")
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=secure_delete(1)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		db.Exec("CREATE TABLE e (job INTEGER PRIMARY KEY, body BLOB)")
		rng := rand.New(rand.NewPCG(seed, 3))
		alive := map[int32]bool{}
		for range 400 {
			if job := int32(rng.IntN(1000)); rng.IntN(3) > 0 {
				db.Exec("INSERT OR IGNORE INTO e VALUES (?, ?)", job, bytes.Repeat(mark(job), 1+rng.IntN(100)))
				alive[job] = true
			}
			for job := range alive {
				if rng.IntN(3) == 0 {
					db.Exec("DELETE FROM e WHERE job = ?", job)
					delete(alive, job)
				}
				break
			}
		}
		db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
		left := lingering(t, path, func(job int32) bool { return !alive[job] })
		db.Close()
		if len(left) > 0 {
			return
		}
	}
	t.Error("this SQLite leaves nothing behind any more: the zeros can go")
}
