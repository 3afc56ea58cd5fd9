package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// soak is how many times as many rounds tests of chance have; ESCALA_SOAK=20.
func soak() int {
	if n, err := strconv.Atoi(os.Getenv("ESCALA_SOAK")); err == nil && n > 0 {
		return n
	}
	return 1
}

// life is batch seq of the crash tests, which anybody can make again: sizes vary, every seventh begins a
// segment.
func life(seq, epoch int64) (*Batch, Rows) {
	rng := rand.New(rand.NewPCG(uint64(seq), 1))
	lines := 1 + rng.IntN(4)
	if seq%10 == 0 {
		lines = 200
	}
	var body bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&body, `{"t":%d,"n":%d,"x":"%s"}`+"\n", seq, i, strings.Repeat("v", rng.IntN(300)))
	}
	b := &Batch{Seq: seq, Segment: (seq-1)/7*7 + 1, Epoch: epoch, At: seq * 10, Lines: lines, Body: body.Bytes()}
	return b, Rows{
		Ended: []EndedRow{{Number: int32(seq), ID: fmt.Sprint("job-", seq), User: fmt.Sprint("u", seq%5), Ended: seq, Body: []byte(`{"n":1}`)}},
		Keys:  []KeyRow{{Key: fmt.Sprint("key-", seq), At: seq, Body: []byte("answer")}},
	}
}

// live appends batches up to last.
func live(s Store, last int64, acked func(int64)) error {
	epoch, err := s.Claim(bg, "life")
	if err != nil {
		return err
	}
	h, err := s.Head(bg)
	if err != nil {
		return err
	}
	for seq := h.Seq + 1; seq <= last; seq++ {
		b, rows := life(seq, epoch)
		if err := s.Append(bg, b, rows); err != nil {
			return err
		}
		acked(seq)
		if seq%35 == 0 {
			if err := s.Drop(bg, b.Segment, []HourRow{{Hour: seq * 3_600_000}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// survived checks a store after a crash: all that was acknowledged is there, whole, and nothing else but
// what was being written.
func survived(s Store, acked int64) error {
	h, err := s.Head(bg)
	if err != nil {
		return err
	}
	if h.Seq < acked || h.Seq > acked+1 {
		return fmt.Errorf("batch %d was acknowledged and the last one is %d", acked, h.Seq)
	}
	if _, err := s.Verify(bg, nil); err != nil {
		return err
	}
	err = s.Read(bg, 0, func(b *Batch) error {
		want, _ := life(b.Seq, b.Epoch)
		if b.Segment != want.Segment || b.At != want.At || !bytes.Equal(b.Body, want.Body) {
			return fmt.Errorf("batch %d is another one", b.Seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	keys, err := s.Keys(bg, 0)
	if err != nil || int64(len(keys)) != h.Seq {
		return fmt.Errorf("%d keys with %d batches: %w", len(keys), h.Seq, err)
	}
	if h.Seq > 0 {
		if _, err := s.EndedJob(bg, int32(h.Seq)); err != nil {
			return err
		}
	}
	if _, err := s.EndedJob(bg, int32(h.Seq+1)); !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("the job of a batch that is not there: %w", err)
	}
	return nil
}

// child appends batches until it is killed, and prints each that is acknowledged.
func child(dsn string) {
	s, err := Open(bg, dsn)
	if err == nil {
		err = live(s, 1<<40, func(seq int64) { fmt.Println(seq) })
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestKill(t *testing.T) {
	rounds := map[string]int{"sqlite": 20, "postgres": 4}
	each(t, func(t *testing.T, s *store, dsn string) {
		s.Close()
		rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 2))
		var acked int64
		for round := range rounds[path.Base(t.Name())] * soak() / min(slow, 2) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "ESCALA_STORE_CHILD="+dsn)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(20+rng.IntN(150))*time.Millisecond, func() { cmd.Process.Kill() })
			for lines := bufio.NewScanner(out); lines.Scan(); {
				acked, _ = strconv.ParseInt(lines.Text(), 10, 64)
			}
			timer.Stop()
			cmd.Wait()
			if stderr.Len() > 0 {
				t.Fatal(stderr.String())
			}
			s, err := Open(bg, dsn)
			if err != nil {
				t.Fatalf("round %d, after batch %d: %v", round, acked, err)
			}
			// A killed client's last commit may still be on its way in PostgreSQL; Claim is behind it.
			if _, err := s.Claim(bg, "check"); err != nil {
				t.Fatal(err)
			}
			if err := survived(s, acked); err != nil {
				t.Fatalf("round %d, after batch %d: %v", round, acked, err)
			}
			h, _ := s.Head(bg)
			acked = h.Seq
			s.Close()
		}
		if acked == 0 {
			t.Fatal("nothing was ever appended")
		}
		t.Logf("%d batches survived", acked)
	})
}

// run lives on a recorded store in dir up to a batch and closes it or not.
func recorded(t *testing.T, dir string, last int64, pragma string) *recorder {
	rec := record(t, dir)
	st, err := openSQLite(bg, filepath.Join(dir, "escala.db"), shimName)
	if err != nil {
		t.Fatal(err)
	}
	s := st.(*store)
	defer s.Close()
	// Checkpoints are what is most likely to go wrong: have many.
	for _, p := range []string{"PRAGMA wal_autocheckpoint = 30", pragma} {
		if _, err := s.w.Exec(p); err != nil {
			t.Fatal(err)
		}
	}
	h, err := s.Head(bg)
	if err != nil {
		t.Fatal(err)
	}
	rec.mark(h.Seq)
	if err := live(s, last, rec.mark); err != nil {
		t.Fatal(err)
	}
	return rec
}

// Whatever part of what was not synced reaches the disk before the power fails: what was acknowledged is
// there. Each image is lived on and cut once more, so that recovery is cut, too.
func TestPowerCut(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 3))
	first := tempDir(t)
	rec := recorded(t, first, 80, "")
	deepest := int64(0)
	for i := range 150 * soak() / slow {
		dir := filepath.Join(tempDir(t), "a")
		os.Mkdir(dir, 0o700)
		// The first images are of the time when the store is made.
		n := rng.IntN(rec.len() + 1)
		if i%5 == 0 {
			n = rng.IntN(min(n, 60) + 1)
		}
		acked := rec.image(t, dir, n, rng)
		if i%3 == 0 {
			rec2 := recorded(t, dir, acked+5, "")
			dir = filepath.Join(tempDir(t), "b")
			os.Mkdir(dir, 0o700)
			// The mark of the head after recovery counts: Head said so.
			acked = max(acked, rec2.image(t, dir, rng.IntN(rec2.len()+1), rng))
		}
		s, err := Open(bg, filepath.Join(dir, "escala.db"))
		if err != nil {
			t.Fatalf("seed %d, image %d after batch %d: %v", seed, i, acked, err)
		}
		err = survived(s, acked)
		s.Close()
		if err != nil {
			t.Fatalf("seed %d, image %d after batch %d: %v", seed, i, acked, err)
		}
		deepest = max(deepest, acked)
		os.RemoveAll(dir)
	}
	t.Logf("%d operations, images up to batch %d", rec.len(), deepest)
}

// The images can show a loss: without syncs there is one.
func TestPowerCutShowsLoss(t *testing.T) {
	rec := recorded(t, tempDir(t), 60, "PRAGMA synchronous = OFF")
	rng := rand.New(rand.NewPCG(1, 4))
	lost := 0
	for range 40 {
		dir := tempDir(t)
		acked := rec.image(t, dir, rng.IntN(rec.len()+1), rng)
		s, err := Open(bg, filepath.Join(dir, "escala.db"))
		if err == nil {
			err = survived(s, acked)
			s.Close()
		}
		if err != nil {
			lost++
		}
	}
	if lost == 0 {
		t.Fatal("no image lost anything although nothing was synced")
	}
	t.Logf("%d of 40 images lost something", lost)
}
