package store

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// Disk is a recorded folder, for tests of what stands on a store.
type Disk struct{ rec *recorder }

// RecordedStore opens a store in a folder whose disk is recorded from now on.
func RecordedStore(t testing.TB, dir string) (Store, *Disk) {
	rec := record(t, dir)
	s, err := openSQLite(context.Background(), filepath.Join(dir, "escala.db"), shimName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.(*store).w.Exec("PRAGMA wal_autocheckpoint = 30"); err != nil { // have many
		t.Fatal(err)
	}
	return s, &Disk{rec}
}

// Ops is how many operations reached the disk so far.
func (d *Disk) Ops() int { return d.rec.len() }

// Image writes into dir what the disk may hold if the power fails after n operations.
func (d *Disk) Image(t testing.TB, dir string, n int, rng *rand.Rand) { d.rec.image(t, dir, n, rng) }

// TempDir, Soak and Slow are what the tests of this package have.
func TempDir(t testing.TB) string { return tempDir(t) }
func Soak() int                   { return soak() }
func Slow() int                   { return slow }
