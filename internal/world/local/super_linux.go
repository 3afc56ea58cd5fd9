package local

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
)

// supervision is the daemon's hold on a supervisor: a descriptor that means this process and
// no other that gets its number.
type supervision struct {
	pid  int
	file *os.File
	run  world.Run
}

// ours are the supervisors that this process started and has not reaped. A world that is opened
// after another in one process reaps what the first has started.
var ours struct {
	sync.Mutex
	pids map[int]bool
}

func remember(pid int) {
	ours.Lock()
	defer ours.Unlock()
	if ours.pids == nil {
		ours.pids = map[int]bool{}
	}
	ours.pids[pid] = true
}

// reapPID reaps a supervisor that has ended, if it is a child of this process.
func reapPID(pid int) {
	ours.Lock()
	defer ours.Unlock()
	if !ours.pids[pid] {
		return
	}
	if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); got == pid || err != nil {
		delete(ours.pids, pid)
	}
}

func reapAll() {
	ours.Lock()
	var list []int
	for pid := range ours.pids {
		list = append(list, pid)
	}
	ours.Unlock()
	for _, pid := range list {
		reapPID(pid)
	}
}

// newSupervision takes a pidfd.
func newSupervision(pid, fd int) *supervision {
	if err := unix.SetNonblock(fd, true); err != nil { // so that waiting for it needs no thread
		_ = syscall.Close(fd)
		return nil
	}
	return &supervision{pid: pid, file: os.NewFile(uintptr(fd), "pidfd")}
}

// adoptSupervisor gets hold of a process by its number; nil if there is none.
func adoptSupervisor(pid int) *supervision {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	return newSupervision(pid, fd)
}

func (s *supervision) close() {
	if s != nil {
		_ = s.file.Close() // wakes who waits
	}
}

func (s *supervision) reap() {
	if s != nil {
		reapPID(s.pid)
		s.close()
	}
}

func (s *supervision) signal(sig unix.Signal) {
	if s == nil {
		return
	}
	c, err := s.file.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), sig, nil, 0) }) // it may have ended: that is told otherwise
}

// wait returns true when the process has ended, false when the descriptor was closed before.
func (s *supervision) wait() bool {
	c, err := s.file.SyscallConn()
	if err != nil {
		return false
	}
	return c.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err == nil && n > 0
	}) == nil
}

// await tells a run when its supervisor has ended.
func (w *World) await(id world.Run, s *supervision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		s.close()
		return
	}
	s.run = id
	w.supers[s] = true
	w.wg.Go(func() {
		ended := s.wait()
		w.mu.Lock()
		delete(w.supers, s)
		w.mu.Unlock()
		if ended {
			reapPID(s.pid)
			w.mail(id, message{gone: true})
		}
		s.close()
	})
}

// later does something once so much time has passed, unless the world closes before.
func (w *World) later(d time.Duration, f func()) {
	w.wg.Go(func() {
		select {
		case <-w.ctx.Done():
		case <-time.After(d):
			f()
		}
	})
}

// checkpointed is the report that a run has saved its state.
func checkpointed(r world.Run, at time.Time) world.Report {
	return world.Report{Kind: fact.JobCheckpointed, Run: r, Node: -1, When: at}
}
