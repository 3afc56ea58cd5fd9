package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/escala-sched/escala/internal/store"
)

// private refuses files that others may read, and a folder in which they could put others in their
// place.
func private(path string) error {
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := only(path+end, 0o077, "may be read or written by others than its owner", "chmod 600"); err != nil {
			return err
		}
	}
	return only(filepath.Dir(path), 0o022, "may be written to by others than its owner", "chmod 700")
}

func only(path string, not fs.FileMode, what, mend string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return store.SQLiteError("open the spool", path, err)
	}
	if mode := info.Mode().Perm(); mode&not != 0 {
		return &store.Error{Op: "open the spool", Where: path, Kind: store.ErrDenied, What: fmt.Sprintf("it holds secrets and %s (mode %04o)", what, mode), Do: fmt.Sprintf("see who has read it, then: %s %s", mend, path)}
	}
	return nil
}
