package slurm

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	token := TokenFile(path)
	for _, c := range []struct {
		text, want string
		mode       os.FileMode
	}{{"SLURM_JWT=a.b.c\n", "a.b.c", 0o600}, {"a.b.c", "a.b.c", 0o640}, {"a.b.c", "", 0o644}, {"", "", 0o600}, {"SLURM_JWT=\n", "", 0o600}, {"a\nX-Other: b", "", 0o600}} {
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if got, err := token(context.Background()); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
	_ = os.Remove(path)
	if _, err := token(context.Background()); !os.IsNotExist(err) {
		t.Error(err)
	}
}
