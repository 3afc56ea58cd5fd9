package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) *File {
	t.Helper()
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f
}

// folder fails the test unless dir holds just these files.
func folder(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(data)
	}
	if len(got) != len(want) {
		t.Errorf("folder holds %q, want %q", got, want)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s holds %q, want %q", name, got[name], text)
		}
	}
}

func TestCommitReplacesAndAbortKeeps(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	f := write(t, path, "one")
	if _, err := os.Stat(path); err == nil {
		t.Error("the file has its name before Commit")
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Abort()
	folder(t, dir, map[string]string{"a.csv": "one"})
	write(t, path, "half").Abort()
	folder(t, dir, map[string]string{"a.csv": "one"})
	if err := write(t, path, "two").Commit(); err != nil {
		t.Fatal(err)
	}
	folder(t, dir, map[string]string{"a.csv": "two"})
	if err := f.Commit(); err == nil {
		t.Error("a second Commit succeeds")
	}
}

func TestModeAndLinkAreKept(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if err := write(t, link, "new").Commit(); err != nil {
		t.Fatal(err)
	}
	folder(t, dir, map[string]string{"a": "new", "link": "new"})
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link has become %v, %v", info.Mode(), err)
	}
}

func TestDevicesAreNotReplaced(t *testing.T) {
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Skip(err)
	}
	if err := write(t, os.DevNull, "x").Commit(); err != nil {
		t.Fatal(err)
	}
	write(t, os.DevNull, "x").Abort()
	if after, err := os.Stat(os.DevNull); err != nil || !os.SameFile(before, after) {
		t.Errorf("%s was replaced (%v)", os.DevNull, err)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir); err == nil {
		t.Error("a folder is taken for a file")
	}
	if _, err := Create(filepath.Join(dir, "none", "a")); err == nil {
		t.Error("a folder that is missing is no error")
	}
	folder(t, dir, map[string]string{})
}
