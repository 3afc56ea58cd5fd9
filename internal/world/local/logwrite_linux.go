package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// drain is how long a log waits for the end of what was written, once all processes of the run
// are gone: somebody else may have got hold of the pipe.
const drain = time.Second

// logWriter copies what a job writes into files of bounded size.
type logWriter struct {
	dir      string
	size     int64
	segments int
	pipe     int
	done     chan struct{}

	// at is the byte of the whole log that comes next. begins are the first bytes of the files kept.
	at     int64
	begins []int64
	file   *os.File
	used   int64
}

// segmentName is the name of the file that begins with a byte of the log.
func segmentName(at int64) string { return fmt.Sprintf("log.%020d", at) }

// openLog starts the log of the run and returns the end that the job writes to.
func (s *supervisor) openLog() (*os.File, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	s.log = &logWriter{dir: s.t.Logs, size: s.t.LogSegment, segments: s.t.LogSegments, pipe: p[0], done: make(chan struct{})}
	ready := make(chan error)
	go func() {
		defer close(s.log.done)
		if s.t.Drop {
			runtime.LockOSThread() // never unlocked: the thread has the user's rights
			if err := becomeOnThread(&s.t); err != nil {
				ready <- err
				return
			}
		}
		err := s.log.next()
		ready <- err
		if err == nil {
			s.log.copy()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(p[1]), "log"), nil
}

// next begins another file, and removes the oldest if there are too many.
func (l *logWriter) next() error {
	name := filepath.Join(l.dir, segmentName(l.at))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close() // what was written was checked then
	}
	l.file, l.used = f, 0
	if l.begins = append(l.begins, l.at); len(l.begins) > l.segments {
		_ = os.Remove(filepath.Join(l.dir, segmentName(l.begins[0]))) // its owner may have removed it
		l.begins = l.begins[1:]
	}
	return nil
}

// copy moves bytes until the last writer is gone. What cannot be written is lost: a full disk
// must not stop the job.
func (l *logWriter) copy() {
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Read(l.pipe, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		for b := buf[:n]; len(b) > 0; {
			if l.used >= l.size {
				if err := l.next(); err != nil {
					break
				}
			}
			part := b[:min(int64(len(b)), l.size-l.used)]
			w, err := l.file.Write(part)
			l.at += int64(w)
			l.used += int64(w)
			b = b[w:]
			if err != nil {
				break
			}
		}
	}
}

// finish waits for the rest. It is called when all processes of the run are gone.
func (l *logWriter) finish() {
	if l == nil {
		return
	}
	t := time.NewTimer(drain)
	defer t.Stop()
	select {
	case <-l.done:
	case <-t.C:
	}
}
