package local

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// asUser calls f with the rights of the run's user on files, where it is another than the
// daemon: nothing that a user can put in the way (a link, a pipe) is followed as root. Only the
// thread changes, and it ends with the call.
func asUser(t *ticket, f func() error) error {
	if !t.Drop {
		return f()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is not used again
		if err := becomeOnThread(t); err != nil {
			done <- fault{err: err}
			return
		}
		done <- f()
	}()
	return <-done
}

// becomeOnThread gives the present thread the user's rights on files.
func becomeOnThread(t *ticket) error {
	var first unsafe.Pointer
	if len(t.Groups) > 0 {
		first = unsafe.Pointer(&t.Groups[0])
	}
	// The raw call, since that of package syscall is for all threads.
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(t.Groups)), uintptr(first), 0); errno != 0 {
		return errno
	}
	if _, err := unix.SetfsgidRetGid(int(t.GID)); err != nil {
		return err
	}
	if _, err := unix.SetfsuidRetUid(int(t.UID)); err != nil {
		return err
	}
	// They tell of no failure; asked again with what cannot be, they tell what holds.
	if uid, _ := unix.SetfsuidRetUid(-1); uint32(uid) != t.UID {
		return unix.EPERM
	}
	return nil
}
