package auth

import (
	"errors"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// credentials asks the kernel who connected: what the process was then, whatever it is now.
func credentials(c *net.UnixConn) *peer {
	raw, err := c.SyscallConn()
	if err != nil {
		return &peer{err: err}
	}
	p := &peer{}
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			p.err = err
			return
		}
		p.uid, p.gid = int(cred.Uid), int(cred.Gid)
		p.groups = peerGroups(fd)
	})
	if err != nil {
		return &peer{err: err}
	}
	return p
}

// peerGroups are the supplementary groups; none where the kernel (before 4.13) does not tell.
func peerGroups(fd uintptr) []int {
	size := uint32(64)
	for range 4 {
		list := make([]uint32, size)
		n := size * 4
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&list[0])), uintptr(unsafe.Pointer(&n)), 0)
		switch {
		case errno == 0:
			out := make([]int, 0, n/4)
			for _, g := range list[:n/4] {
				out = append(out, int(g))
			}
			return out
		case errors.Is(errno, unix.ERANGE) && n/4 > size:
			size = n / 4 // it says how many there are
		default:
			return nil
		}
	}
	return nil
}
