package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

var bg = context.Background()

func TestAppendRead(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		if h, err := s.Head(bg); err != nil || h != (Head{}) {
			t.Fatalf("head of an empty store: %+v, %v", h, err)
		}
		if got := read(t, s, 0); got != nil {
			t.Fatalf("an empty store has %v", got)
		}
		verify(t, s)
		w := claim(t, s)
		all := w.segments(3, 4)
		for from := int64(0); from <= 14; from++ {
			want := all[min(max(from-1, 0), 12):]
			if got := read(t, s, from); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Fatalf("from %d: %v, want %v", from, got, want)
			}
		}
		h, err := s.Head(bg)
		if err != nil || h != w.Head || h.Seq != 12 || h.Segment != 9 || h.At != 120 || h.Chain != all[11].Chain {
			t.Fatalf("head %+v, %v, want %+v", h, err, w.Head)
		}
		if v := verify(t, s); v.First != 1 || v.Last != 12 || v.Batches != 12 || v.Lines != 24 {
			t.Fatalf("verified %+v", v)
		}
		list, err := s.Segments(bg)
		if err != nil || len(list) != 3 || list[1].First != 5 || list[1].Last != 8 || list[1].From != 50 || list[1].To != 80 || list[1].Lines != 8 || list[1].Open || !list[2].Open {
			t.Fatalf("segments %+v, %v", list, err)
		}
		// Another process sees the same.
		if got := read(t, open(t, dsn), 0); !reflect.DeepEqual(got, all) {
			t.Fatal("opened again it has something else")
		}
		if n, err := s.Size(bg); err != nil || n < 1000 {
			t.Fatalf("size %d, %v", n, err)
		}
		stop := errors.New("stop")
		if err := s.Read(bg, 0, func(*Batch) error { return stop }); err != stop { //nolint:errorlint // as it is
			t.Fatal(err)
		}
	})
}

func TestAppendRefuses(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		unclaimed := &Batch{Seq: 1, Segment: 1, Lines: 1, Body: []byte("x\n")}
		if err := s.Append(bg, unclaimed, Rows{}); !errors.Is(err, ErrStale) {
			t.Fatal(err)
		}
		w := claim(t, s)
		w.segments(1, 2)
		for name, c := range map[string]struct {
			change func(*Batch)
			want   error
		}{
			"gap":            {func(b *Batch) { b.Seq++ }, ErrInvalid},
			"other segment":  {func(b *Batch) { b.Segment = 2 }, ErrInvalid},
			"time goes back": {func(b *Batch) { b.At = 19 }, ErrInvalid},
			"lines":          {func(b *Batch) { b.Lines = 2 }, ErrInvalid},
			"no newline":     {func(b *Batch) { b.Body = []byte("x") }, ErrInvalid},
			"nothing":        {func(b *Batch) { b.Body, b.Lines = nil, 0 }, ErrInvalid},
			"other batch":    {func(b *Batch) { b.Seq = 2 }, ErrConflict},
			"zero":           {func(b *Batch) { b.Seq = 0 }, ErrConflict},
			"old epoch":      {func(b *Batch) { b.Epoch-- }, ErrStale},
			"unknown epoch":  {func(b *Batch) { b.Epoch++ }, ErrStale},
		} {
			b := w.next(false, "z")
			c.change(b)
			err := s.Append(bg, b, Rows{Keys: []KeyRow{{Key: "k"}}})
			var e *Error
			if !errors.Is(err, c.want) || !errors.As(err, &e) || e.Where == "" || Temporary(err) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		if keys, err := s.Keys(bg, 0); err != nil || len(keys) > 0 {
			t.Fatalf("a refused append left rows: %v, %v", keys, err)
		}
		verify(t, s)
	})
}

// An append whose outcome is unknown is repeated; so is one after a crash.
func TestAppendAgain(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		w := claim(t, s)
		all := w.segments(2, 2)
		for i := range all {
			b := all[i]
			b.Chain = [32]byte{}
			if err := open(t, dsn).Append(bg, &b, Rows{Keys: []KeyRow{{Key: "again"}}}); err != nil || b.Chain != all[i].Chain {
				t.Fatalf("batch %d again: %v", b.Seq, err)
			}
			for _, change := range []func(*Batch){func(b *Batch) { b.At++ }, func(b *Batch) { b.Segment++ }, func(b *Batch) { b.Lines++ }, func(b *Batch) { b.Body = []byte("{}\n") }} {
				b := all[i]
				change(&b)
				if err := s.Append(bg, &b, Rows{}); !errors.Is(err, ErrConflict) {
					t.Fatalf("a changed batch %d: %v", b.Seq, err)
				}
			}
		}
		if keys, _ := s.Keys(bg, 0); len(keys) > 0 {
			t.Fatal("a repeated append wrote rows")
		}
	})
}

// A writer that was overtaken can do nothing any more, even if it has the right number.
func TestClaim(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		old := claim(t, s)
		old.segments(1, 1)
		other := open(t, dsn)
		fresh := claim(t, other)
		if fresh.Epoch != old.Epoch+1 {
			t.Fatalf("epoch %d after %d", fresh.Epoch, old.Epoch)
		}
		if err := s.Append(bg, old.next(false, "late"), Rows{}); !errors.Is(err, ErrStale) {
			t.Fatal(err)
		}
		fresh.append(fresh.next(false, "new"), Rows{})
		if err := s.Append(bg, old.next(false, "late"), Rows{}); !errors.Is(err, ErrStale) {
			t.Fatal(err)
		}
		verify(t, s)
	})
}

// Two writers that fight for the journal never both succeed at a number.
func TestClaimRace(t *testing.T) {
	each(t, func(t *testing.T, _ *store, dsn string) {
		const writers, want = 4, 5
		won := make(chan string, writers*want)
		for i := range writers {
			s := open(t, dsn)
			go func() {
				for n := 0; n < want; {
					epoch, err := s.Claim(bg, "race")
					if err != nil {
						won <- err.Error()
						return
					}
					h, err := s.Head(bg)
					if err != nil {
						won <- err.Error()
						return
					}
					b := &Batch{Seq: h.Seq + 1, Segment: h.Seq + 1, Epoch: epoch, At: h.At, Lines: 1, Body: fmt.Appendf(nil, "%d-%d\n", i, n)}
					switch err := s.Append(bg, b, Rows{}); {
					case err == nil:
						won <- string(b.Body)
						n++
					case !errors.Is(err, ErrStale) && !errors.Is(err, ErrConflict):
						won <- err.Error()
						return
					}
				}
			}()
		}
		seen := map[string]bool{}
		for range writers * want {
			seen[<-won] = true
		}
		s := open(t, dsn)
		for _, b := range read(t, s, 0) {
			if !seen[string(b.Body)] {
				t.Errorf("%q is there and was not acknowledged: %v", b.Body, seen)
			}
			delete(seen, string(b.Body))
		}
		if len(seen) > 0 {
			t.Errorf("lost: %v", seen)
		}
		verify(t, s)
	})
}
