package store

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var line300 = strings.Repeat("j", 299)

func kinds(b *testing.B, bench func(b *testing.B, s *store)) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			bench(b, open(b, fresh(b, kind)))
		})
	}
}

// BenchmarkFsync is what the disk itself takes for as many bytes as a batch has, written to a file that
// is there (as SQLite's log is) and made durable.
func BenchmarkFsync(b *testing.B) {
	for _, lines := range []int{1, 30, 1000} {
		b.Run(fmt.Sprint("lines-", lines), func(b *testing.B) {
			f, err := os.Create(filepath.Join(b.TempDir(), "x"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			data := make([]byte, (lines*300+4095)/4096*4096)
			const size = 4 << 20
			f.Write(make([]byte, size))
			f.Sync()
			for i := 0; b.Loop(); i++ {
				f.WriteAt(data, int64(i*len(data))%(size-int64(len(data))))
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	kinds(b, func(b *testing.B, s *store) {
		w := claim(b, s)
		for _, lines := range []int{1, 30, 1000} {
			b.Run(fmt.Sprint("lines-", lines), func(b *testing.B) {
				body := bytes.Repeat([]byte(line300+"\n"), lines)
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					w.append(&Batch{Seq: w.Seq + 1, Segment: max(w.Segment, 1), Epoch: w.Epoch, At: w.At, Lines: lines, Body: body}, Rows{})
				}
			})
		}
	})
}

// BenchmarkEnded appends 1,000 ended jobs with a batch, of 500 bytes each.
func BenchmarkEnded(b *testing.B) {
	kinds(b, func(b *testing.B, s *store) {
		w := claim(b, s)
		n, body := 0, bytes.Repeat([]byte("b"), 400)
		for b.Loop() {
			var rows Rows
			for range 1000 {
				rows.Ended = append(rows.Ended, EndedRow{Number: int32(n), ID: fmt.Sprint("job-", n), User: fmt.Sprint("user-", n%50), Team: fmt.Sprint("team-", n%7), Name: "train", State: "completed", Ended: int64(n * 10), Body: body})
				n++
			}
			w.append(w.next(false, "x"), rows)
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
	})
}

// BenchmarkRead reads, verifies and backs up 30 MB: 2,500 batches of 40 lines.
func BenchmarkRead(b *testing.B) {
	kinds(b, func(b *testing.B, s *store) {
		w := claim(b, s)
		var size int64
		for range 2500 {
			batch := w.next(false, strings.Split(strings.Repeat(line300+"\n", 39)+line300, "\n")...)
			w.append(batch, Rows{})
			size += int64(len(batch.Body))
		}
		for name, f := range map[string]func() error{
			"read":   func() error { return s.Read(bg, 0, func(*Batch) error { return nil }) },
			"verify": func() error { _, err := s.Verify(bg, nil); return err },
			"backup": func() error { return s.Backup(bg, io.Discard) },
		} {
			b.Run(name, func(b *testing.B) {
				b.SetBytes(size)
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

// BenchmarkPage asks for the 50 newest of 100,000 ended jobs.
func BenchmarkPage(b *testing.B) {
	kinds(b, func(b *testing.B, s *store) {
		w := claim(b, s)
		for i := range 100 {
			var rows Rows
			for k := range 1000 {
				n := i*1000 + k
				rows.Ended = append(rows.Ended, EndedRow{Number: int32(n), ID: fmt.Sprint("job-", n), User: fmt.Sprint("user-", n%50), Team: fmt.Sprint("team-", n%7), State: []string{"completed", "failed"}[n%2], Ended: int64(n * 10), Body: []byte("{}")})
			}
			w.append(w.next(false, "x"), rows)
		}
		for name, f := range map[string]EndedFilter{"all": {}, "user": {User: "user-7"}, "user+team+state": {User: "user-7", Team: "team-3", State: "failed"}, "prefix": {IDPrefix: "job-5123"}, "short-prefix": {IDPrefix: "job-"}, "nobody": {User: "x"}} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					if _, _, err := s.Ended(bg, f, "", 50); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
