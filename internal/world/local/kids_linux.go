package local

import (
	"errors"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// kids are the processes below a supervisor: its job, and as it is a subreaper all that
// descends from it. When it has no children any more, all are gone.
type kids struct {
	main int
	// mu is held while a child is reaped: a number that is signalled with it held is still that child's.
	mu                 sync.Mutex
	mainDone, mainTold bool
	// status of the main process, to be read after mainGone.
	status   unix.WaitStatus
	mainGone chan struct{}
	allGone  chan struct{}
}

func newKids(main int) *kids {
	k := &kids{main: main, mainGone: make(chan struct{}), allGone: make(chan struct{})}
	go k.reap()
	return k
}

// reap waits for all children, also those that were left to the supervisor.
func (k *kids) reap() {
	for {
		// Waits without reaping, so that the reaping itself can be done under the lock.
		if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WALL, nil); errors.Is(err, unix.ECHILD) {
			close(k.allGone)
			return
		}
		if k.reapAll() {
			close(k.allGone)
			return
		}
	}
}

// reapAll reaps those that have ended, and tells whether there is no child any more.
func (k *kids) reapAll() (none bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|unix.WALL, nil)
		if err != nil || pid <= 0 {
			if k.mainDone && !k.mainTold {
				k.mainTold = true
				close(k.mainGone)
			}
			return errors.Is(err, unix.ECHILD)
		}
		if pid == k.main {
			k.status, k.mainDone = ws, true
		}
	}
}

// gone tells whether the main process has ended.
func (k *kids) gone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mainDone
}

// last tells, once the main process is gone, whether it was the last.
func (k *kids) last() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
	return errors.Is(err, unix.ECHILD)
}

// signalMain sends a signal to the process group of the job, as a terminal would.
func (k *kids) signalMain(s unix.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mainDone {
		return
	}
	_ = unix.Kill(-k.main, s) // it may have ended
}

// signal sends a signal to all processes of the run. Those that are no children of the
// supervisor are not reaped by it; that the number of one passes to another process between
// being listed and signalled takes a whole round of numbers in microseconds.
func (k *kids) signal(s unix.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pid := range descendants(syscall.Getpid()) {
		_ = unix.Kill(pid, s) // it may have ended
	}
}
