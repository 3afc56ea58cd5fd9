package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/internal/world"
)

// OpenLog returns what a run has written from a byte on. at is where that ends: the byte to ask
// for next. The folder is its user's: nothing that was put there in place of a log is followed.
func (w *World) OpenLog(id world.Run, from int64) (in io.ReadCloser, at int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("log of job %d, attempt %d: %w", id.Job, id.Attempt, err)
		}
	}()
	fd, err := unix.Open(w.path("logs", runName(id)), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	dir := os.NewFile(uintptr(fd), "log")
	defer closeQuietly(dir)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, 0, err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, 0, err
	}
	slices.Sort(names)
	l := &logReader{}
	for _, name := range names {
		begin, ok := parseSegment(name)
		if !ok {
			continue
		}
		f, size, err := openSegment(fd, name, st.Uid)
		if errors.Is(err, fs.ErrNotExist) {
			continue // rotated away this moment
		}
		if err != nil {
			l.closeAll()
			return nil, 0, err
		}
		end := begin + size
		at = max(at, end)
		if end <= from {
			closeQuietly(f)
			continue
		}
		skip := max(from-begin, 0)
		l.files = append(l.files, f)
		l.parts = append(l.parts, io.NewSectionReader(f, skip, size-skip))
	}
	at = max(at, 0)
	return l, at, nil
}

func parseSegment(name string) (begin int64, ok bool) {
	digits, found := strings.CutPrefix(name, "log.")
	if !found || len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n >= 0
}

func openSegment(dir int, name string, uid uint32) (*os.File, int64, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != uid) {
		err = errors.New("what is there is no log")
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, 0, err
	}
	return os.NewFile(uintptr(fd), name), st.Size, nil
}

// logReader reads the files of a log one after the other.
type logReader struct {
	files []*os.File
	parts []*io.SectionReader
}

func (l *logReader) Read(b []byte) (int, error) {
	for len(l.parts) > 0 {
		n, err := l.parts[0].Read(b)
		if n > 0 || len(b) == 0 {
			return n, nil
		}
		if !errors.Is(err, io.EOF) {
			return 0, err
		}
		l.parts = l.parts[1:]
	}
	return 0, io.EOF
}

// Close lets the files go.
func (l *logReader) Close() error {
	l.closeAll()
	return nil
}

func (l *logReader) closeAll() {
	for _, f := range l.files {
		closeQuietly(f)
	}
	l.files, l.parts = nil, nil
}
