package auth

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// credentials asks the kernel who connected.
func credentials(c *net.UnixConn) *peer {
	raw, err := c.SyscallConn()
	if err != nil {
		return &peer{err: err}
	}
	p := &peer{}
	err = raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		switch {
		case err != nil:
			p.err = err
		case cred.Ngroups < 1:
			p.err = errors.New("no group is told")
		default:
			p.uid, p.gid = int(cred.Uid), int(cred.Groups[0])
			for _, g := range cred.Groups[:cred.Ngroups] {
				p.groups = append(p.groups, int(g))
			}
		}
	})
	if err != nil {
		return &peer{err: err}
	}
	return p
}
