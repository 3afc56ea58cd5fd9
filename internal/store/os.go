package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const accessHint = "let the daemon's user read and write the file and its folder"

// classifyOS is for what the operating system says directly.
func classifyOS(err error) *Error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fail(ErrFull, "", "make room on its file system")
	case errors.Is(err, syscall.EROFS):
		return fail(ErrReadOnly, "", "its file system must be writable")
	case errors.Is(err, syscall.EIO):
		return fail(ErrIO, "", "look into the kernel's log, and at the disk")
	case errors.Is(err, fs.ErrPermission):
		return fail(ErrDenied, "", accessHint)
	}
	return fail(ErrDatabase, "", "")
}

// syncDir puts the names of a folder on disk.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) { // it is somebody else's, and was there before
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
