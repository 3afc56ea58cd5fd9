// Package reference finds the inputs with known right answers that stand beside
// a checkout (../shared). They are not part of the repository; tests that need
// them skip where they are absent.
package reference

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a reference file, or skips the test if it is absent.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
	p := filepath.Join(append([]string{filepath.Dir(dir), "shared"}, elem...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("reference file %s is absent: the answer is not checked", filepath.Join(elem...))
	}
	return p
}
