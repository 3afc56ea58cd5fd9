package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Pages of ended jobs are what a plain list says, whatever the filter, and jobs that end in between
// move nothing.
func TestEndedPages(t *testing.T) {
	each(t, func(t *testing.T, s *store, _ string) {
		rng := rand.New(rand.NewPCG(1, 5))
		pick := func(of ...string) string { return of[rng.IntN(len(of))] }
		var all []EndedRow
		w := claim(t, s)
		more := func(n int, least int64) {
			var rows Rows
			for range n {
				r := EndedRow{Number: int32(len(all)), ID: pick("a", "b", "a-1", "a-\uD7FF", "a-%", "A", "ä", "\U0010FFFF") + pick("", "x", "\U0010FFFF"),
					User: pick("ann", "ben", "Ann"), Team: pick("", "vision"), Name: "n", State: pick("completed", "failed"),
					Submitted: 1, Started: 2, Ended: least + rng.Int64N(20), GPUMilliMs: rng.Int64(), Body: []byte(`{}`)}
				rows.Ended = append(rows.Ended, r)
				all = append(all, r)
			}
			w.append(w.next(false, "x"), rows)
		}
		more(200, -5)
		latest := int64(80)
		for range 150 {
			f := EndedFilter{User: pick("", "", "ann", "nobody"), Team: pick("", "vision"), State: pick("", "failed"),
				IDPrefix: pick("", "", "a", "a-", "\U0010FFFF", "a-\uD7FF", "%")}
			if rng.IntN(2) == 0 {
				f.From = rng.Int64N(10)
			}
			if rng.IntN(2) == 0 {
				f.To = rng.Int64N(20)
			}
			var want []EndedRow
			for _, r := range all {
				if (f.User == "" || r.User == f.User) && (f.Team == "" || r.Team == f.Team) && (f.State == "" || r.State == f.State) &&
					strings.HasPrefix(r.ID, f.IDPrefix) && (f.From == 0 || r.Ended >= f.From) && (f.To == 0 || r.Ended < f.To) {
					want = append(want, r)
				}
			}
			slices.SortFunc(want, func(a, b EndedRow) int {
				return cmp.Or(cmp.Compare(b.Ended, a.Ended), cmp.Compare(b.Number, a.Number))
			})
			var got []EndedRow
			limit := 1 + rng.IntN(40)
			for after, pages := "", 0; ; pages++ {
				rows, next, err := s.Ended(bg, f, after, limit)
				if err != nil || len(rows) > limit || next != "" && len(rows) != limit {
					t.Fatalf("%+v after %q: %d rows, next %q, %v", f, after, len(rows), next, err)
				}
				got = append(got, rows...)
				if after = next; after == "" {
					break
				}
				if f.To == 0 && pages == 0 && len(all) < 300 {
					latest += 20
					more(3, latest) // later than all on this page
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v: %d rows, want %d", f, len(got), len(want))
			}
		}
		for _, bad := range []string{"x", "-", "1-", "-1", "1-99999999999", "1-2-3-"} {
			if _, _, err := s.Ended(bg, EndedFilter{}, bad, 0); !errors.Is(err, ErrInvalid) {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
		if r, err := s.EndedJob(bg, 7); err != nil || !reflect.DeepEqual(r, all[7]) {
			t.Fatal(r, err)
		}
		if _, err := s.EndedJob(bg, 70000); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		last := all[7]
		for _, r := range all {
			if r.ID == last.ID && cmp.Or(cmp.Compare(r.Ended, last.Ended), cmp.Compare(r.Number, last.Number)) > 0 {
				last = r
			}
		}
		if r, err := s.EndedByID(bg, last.ID); err != nil || !reflect.DeepEqual(r, last) {
			t.Fatal(r, err)
		}
		if n, err := s.DropEnded(bg, 100); err != nil || n < 200 {
			t.Fatal(n, err)
		}
		verify(t, s)
	})
}

// Rows that are there are replaced; what no text of PostgreSQL can hold is replaced in both.
func TestRowsReplace(t *testing.T) {
	each(t, func(t *testing.T, s *store, _ string) {
		w := claim(t, s)
		w.append(w.next(false, "x"), Rows{
			Ended: []EndedRow{{Number: 1, State: "failed", Ended: 5}, {Number: 1, State: "completed", Ended: 6, Name: "a\x00b\xff"}},
			Keys:  []KeyRow{{"k", 1, nil}, {"k", 2, []byte("two")}, {"l", 1, nil}},
			Hours: []HourRow{{Hour: 3_600_000, Account: "a", Lost: 1}, {Hour: 3_600_000, Account: "a", Lost: 2}},
		})
		w.append(w.next(false, "x"), Rows{Hours: []HourRow{{Hour: 3_600_000, Account: "a", User: "u", Demand: 7}}})
		if r, err := s.EndedJob(bg, 1); err != nil || r.State != "completed" || r.Name != "a\uFFFDb\uFFFD" {
			t.Fatalf("%+v, %v", r, err)
		}
		if keys, err := s.Keys(bg, 0); err != nil || !reflect.DeepEqual(keys, []KeyRow{{"l", 1, []byte{}}, {"k", 2, []byte("two")}}) {
			t.Fatal(keys, err)
		}
		if keys, err := s.Keys(bg, 2); err != nil || len(keys) != 1 {
			t.Fatal(keys, err)
		}
		if n, err := s.DropKeys(bg, 2); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		want := []HourRow{{Hour: 3_600_000, Account: "a", Lost: 2}, {Hour: 3_600_000, Account: "a", User: "u", Demand: 7}}
		if hours, err := s.Hours(bg, 3_600_000, 3_600_001); err != nil || !reflect.DeepEqual(hours, want) {
			t.Fatal(hours, err)
		}
		if hours, err := s.Hours(bg, 0, 3_600_000); err != nil || len(hours) != 0 {
			t.Fatal(hours, err)
		}
		verify(t, s)
	})
}

func TestDocs(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		if v, body, err := s.Doc(bg, "d"); v != 0 || body != nil || err != nil {
			t.Fatal(v, body, err)
		}
		for want := int64(1); want < 4; want++ {
			if v, err := s.PutDoc(bg, "d", want-1, fmt.Append(nil, want)); v != want || err != nil {
				t.Fatal(v, err)
			}
			for _, v := range []int64{want - 1, want + 1, -1} {
				if _, err := s.PutDoc(bg, "d", v, nil); !errors.Is(err, ErrConflict) {
					t.Fatalf("version %d over %d: %v", v, want, err)
				}
			}
			if v, body, err := open(t, dsn).Doc(bg, "d"); v != want || string(body) != fmt.Sprint(want) || err != nil {
				t.Fatal(v, body, err)
			}
		}
		if _, err := s.PutDoc(bg, "other", 3, nil); !errors.Is(err, ErrConflict) {
			t.Fatal(err)
		}
		// Of writers at once, one gets each version.
		errs := make(chan error)
		for range 8 {
			go func() { _, err := s.PutDoc(bg, "race", 0, []byte("x")); errs <- err }()
		}
		won := 0
		for range 8 {
			if err := <-errs; err == nil {
				won++
			} else if !errors.Is(err, ErrConflict) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Fatalf("%d won", won)
		}
	})
}

func TestDrop(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		w := claim(t, s)
		if err := s.Drop(bg, 1, nil); !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
		all := w.segments(5, 3)
		for _, bad := range []int64{0, 2, 14, 16, -1} {
			if err := s.Drop(bg, bad, []HourRow{{Hour: 1}}); !errors.Is(err, ErrInvalid) {
				t.Fatalf("drop before %d: %v", bad, err)
			}
		}
		if hours, _ := s.Hours(bg, 0, 10); hours != nil {
			t.Fatal("a refused drop wrote hours")
		}
		for _, before := range []int64{1, 4, 10, 10, 13} { // the same again is no error
			if err := s.Drop(bg, before, []HourRow{{Hour: before}}); err != nil {
				t.Fatal(err)
			}
			if got := read(t, s, 0); !reflect.DeepEqual(got, all[before-1:]) {
				t.Fatalf("after a drop before %d: %v", before, got)
			}
			if v := verify(t, s); v.First != before || v.Last != 15 {
				t.Fatalf("verified %+v", v)
			}
			if hours, err := s.Hours(bg, before, before+1); err != nil || len(hours) != 1 {
				t.Fatal(hours, err)
			}
			list, err := s.Segments(bg)
			if err != nil || list[0].First != before {
				t.Fatal(list, err)
			}
			var n, least int64
			if err := s.r.QueryRow("SELECT count(*), min(seq) FROM batch").Scan(&n, &least); err != nil || n != 16-before || least != before {
				t.Fatalf("%d batches from %d are left, %v", n, least, err)
			}
		}
		for _, from := range []int64{1, 12} {
			if err := s.Read(bg, from, nil); !errors.Is(err, ErrDropped) {
				t.Fatal(err)
			}
		}
		w.append(w.next(false, "on"), Rows{})
		old := all[3]
		if err := s.Append(bg, &old, Rows{}); !errors.Is(err, ErrConflict) {
			t.Fatalf("an append of what was dropped: %v", err)
		}
		verify(t, open(t, dsn))
	})
}

// While a reader is slow, what it reads may be dropped; that is no damage.
func TestDropWhileRead(t *testing.T) {
	each(t, func(t *testing.T, s *store, dsn string) {
		w := claim(t, s)
		w.segments(2, 600)
		other := open(t, dsn)
		err := s.Read(bg, 0, func(b *Batch) error {
			if b.Seq == 10 {
				return other.Drop(bg, 601, nil)
			}
			return nil
		})
		if !errors.Is(err, ErrDropped) {
			t.Fatal(err)
		}
	})
}

func TestLargeBatch(t *testing.T) {
	each(t, func(t *testing.T, s *store, _ string) {
		w := claim(t, s)
		line := strings.Repeat("z", 1<<20-1)
		w.append(w.next(true, slices.Repeat([]string{line}, 10)...), Rows{})
		if got := read(t, s, 0); len(got) != 1 || !bytes.Equal(got[0].Body, bytes.Repeat([]byte(line+"\n"), 10)) {
			t.Fatal("it came back as another")
		}
	})
}
