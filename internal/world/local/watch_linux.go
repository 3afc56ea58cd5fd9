package local

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/internal/world"
)

// watcher tells runs that their files have changed: by inotify, or where there is none left of
// it by looking now and then.
type watcher struct {
	w    *World
	file *os.File // nil = looking now and then

	mu sync.Mutex
	at map[int32]watched // by watch descriptor
}

// watched is a folder with the runs that it is watched for.
type watched struct {
	path string
	runs []world.Run
}

// lookEvery is how often files are looked at without inotify, rescan how often with it, in case something was missed.
const (
	lookEvery = 100 * time.Millisecond
	rescan    = 30 * time.Second
)

func newWatcher(w *World) *watcher {
	x := &watcher{w: w, at: map[int32]watched{}}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		w.said = append(w.said, "no inotify ("+err.Error()+"): files of runs are looked at ten times a second")
		return x
	}
	x.file = os.NewFile(uintptr(fd), "inotify")
	return x
}

func (x *watcher) start() {
	every := lookEvery
	if x.file != nil {
		every = rescan
		x.w.wg.Go(x.listen)
	}
	x.w.wg.Go(func() { x.lookAround(every) })
}

func (x *watcher) close() {
	if x.file != nil {
		_ = x.file.Close() // wakes listen
	}
}

// lookAround has every live run look at its files.
func (x *watcher) lookAround(every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-x.w.ctx.Done():
			return
		case <-t.C:
			x.all()
		}
	}
}

func (x *watcher) all() {
	x.w.mu.Lock()
	ids := make([]world.Run, 0, len(x.w.runs))
	for id := range x.w.runs {
		ids = append(ids, id)
	}
	x.w.mu.Unlock()
	for _, id := range ids {
		x.w.mail(id, message{look: true})
		x.w.mail(id, message{saved: true})
	}
}

// listen reads inotify's events.
func (x *watcher) listen() {
	buf := make([]byte, 16<<10)
	for {
		n, err := x.file.Read(buf)
		if err != nil {
			return
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd := int32(binary.NativeEndian.Uint32(b))
			mask := binary.NativeEndian.Uint32(b[4:])
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
			name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:size], "\x00"))
			b = b[size:]
			if mask&unix.IN_Q_OVERFLOW != 0 {
				x.all()
				continue
			}
			x.event(wd, name)
		}
	}
}

func (x *watcher) event(wd int32, name string) {
	var m message
	switch name {
	case startedFile, endedFile:
		m.look = true
	case savedFile:
		m.saved = true
	default:
		return
	}
	x.mu.Lock()
	runs := x.at[wd].runs
	x.mu.Unlock()
	for _, r := range runs {
		x.w.mail(r, m)
	}
}

// add watches a folder for a run.
func (x *watcher) add(path string, mask uint32, r world.Run) {
	if x.file == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var wd int
	err := x.control(func(fd int) (err error) {
		wd, err = unix.InotifyAddWatch(fd, path, mask|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
		return err
	})
	if err != nil {
		return // it is looked at now and then
	}
	at := x.at[int32(wd)]
	at.path = path
	if !slices.Contains(at.runs, r) {
		at.runs = append(slices.Clone(at.runs), r)
	}
	x.at[int32(wd)] = at
}

// remove ends what add began.
func (x *watcher) remove(path string, r world.Run) {
	if x.file == nil || path == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for wd, at := range x.at {
		if at.path != path {
			continue
		}
		at.runs = slices.DeleteFunc(slices.Clone(at.runs), func(o world.Run) bool { return o == r })
		if x.at[wd] = at; len(at.runs) > 0 {
			continue
		}
		delete(x.at, wd)
		_ = x.control(func(fd int) error { _, err := unix.InotifyRmWatch(fd, uint32(wd)); return err }) // the folder may be gone
	}
}

func (x *watcher) control(f func(fd int) error) error {
	c, err := x.file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

func (r *run) watchFiles() { r.w.watch.add(r.dir, unix.IN_MOVED_TO, r.Run) }

// watchCheckpoint listens for the job to say that its state is saved.
func (r *run) watchCheckpoint() {
	if r.ticket == nil {
		var t ticket
		if ok, err := readRecord(r.dir, orderFile, &t); !ok || err != nil {
			return
		}
		r.ticket = &t
	}
	if r.checkpoint != "" {
		return
	}
	r.checkpoint = r.ticket.Checkpoint
	var s startRecord
	if ok, err := readRecord(r.dir, startedFile, &s); ok && err == nil {
		r.saved = s.Saved
	}
	r.w.watch.add(r.checkpoint, unix.IN_CLOSE_WRITE|unix.IN_ATTRIB|unix.IN_MOVED_TO, r.Run)
	r.savedNow()
}

func (r *run) unwatch() {
	r.w.watch.remove(r.dir, r.Run)
	r.w.watch.remove(r.checkpoint, r.Run)
}

// savedNow reports a checkpoint, if the job has touched the file since the last one.
func (r *run) savedNow() {
	if r.checkpoint == "" || !r.toldUp {
		return
	}
	at := savedAt(r.checkpoint)
	if at.IsZero() || at.Equal(r.saved) {
		return
	}
	r.saved = at
	r.w.tell(checkpointed(r.Run, r.saved))
}
