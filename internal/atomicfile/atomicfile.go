// Package atomicfile writes files that appear whole or not at all: the bytes go
// to a temporary name in the same folder, which takes the final name at the end.
// A run that fails or is interrupted leaves what was there before.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// File is a file in the making. Write to it, then Commit; Abort throws it away
// and does nothing after Commit, so that it can be deferred.
type File struct {
	*os.File
	final string
	done  bool
}

// Create begins a file that will be called path. A link is followed. What is no
// regular file (a pipe, /dev/null, /dev/stdout) is written directly.
func Create(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder; want the name of a file", path)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &File{File: f}, err
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	mode := fs.FileMode(0o666) // less the umask
	if info != nil {
		mode = info.Mode().Perm()
	}
	dir, base := filepath.Split(path)
	for try := os.Getpid(); ; try++ {
		temp := filepath.Join(dir, "."+base+".tmp"+strconv.Itoa(try))
		f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &File{File: f, final: path}, nil
	}
}

// Commit closes the file and gives it its name. An error leaves nothing behind.
// It does not wait for the disk: after a power cut the file may be missing.
func (f *File) Commit() error {
	if f.done {
		return errors.New("file committed or aborted before")
	}
	f.done = true
	err := f.Close()
	if f.final == "" {
		return err
	}
	if err == nil {
		err = os.Rename(f.Name(), f.final)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one that tells
	}
	return err
}

// Abort closes the file and removes it.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.Close()
	if f.final != "" {
		_ = os.Remove(f.Name())
	}
}
