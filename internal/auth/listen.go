package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// CheckListen decides whether the daemon may listen at an address: "unix:/path", or host:port. A
// socket and an address of this machine alone are fine; any other needs TLS, since tokens go over
// the wire. There is no way to listen on TCP without tokens.
func CheckListen(addr string, tls bool) error {
	if path, ok := SocketPath(addr); ok {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%q: a socket needs an absolute path", addr)
		}
		if tls {
			return fmt.Errorf("%q: a socket needs no TLS: the system itself says who is there", addr)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address to listen at; want unix:/path or host:port", addr)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || port[0] == '+' {
		return fmt.Errorf("%q: %q is no port; want 0..65535", addr, port)
	} else if tls || isLoopback(host) {
		return nil
	} else if n == 0 {
		port = "PORT"
	}
	where := "can be reached from other machines"
	if host == "" {
		where = "stands for all addresses of this machine, and " + where
	}
	return fmt.Errorf("%q %s, and tokens would go over the wire for all to read: give a certificate and a key for TLS, or listen at 127.0.0.1:%s or at a socket", addr, where, port)
}

// SocketPath is the path of an address that is a unix socket: "unix:/path", or a path.
func SocketPath(addr string) (path string, ok bool) {
	if path, ok = strings.CutPrefix(addr, "unix:"); ok {
		return path, true
	}
	return addr, strings.HasPrefix(addr, "/")
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// ListenSocket listens at a unix socket of mode 0600, or of 0660 for a group (its name or number).
// It has that mode from the first moment on: it is made in a directory of its own and renamed.
func ListenSocket(path, group string) (net.Listener, error) {
	if err := freeSocket(path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s") // 0700
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	temp := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // its name will be another
	err = protect(temp, group)
	if err == nil {
		err = os.Rename(temp, path)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &socketListener{l, path, info}, nil
}

// protect gives a socket its mode.
func protect(path, group string) error {
	if group == "" {
		return os.Chmod(path, 0o600)
	}
	gid, err := strconv.Atoi(group)
	if err != nil {
		g, err := user.LookupGroup(group)
		if err != nil {
			return fmt.Errorf("the group of the socket: %w", err)
		}
		if gid, err = strconv.Atoi(g.Gid); err != nil {
			return err
		}
	}
	if err := os.Chown(path, -1, gid); err != nil {
		return fmt.Errorf("giving the socket to group %s: %w", group, err)
	}
	return os.Chmod(path, 0o660)
}

// freeSocket refuses a path that is something else, or at which somebody answers.
func freeSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s is there and is no socket", path)
	}
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return fmt.Errorf("somebody listens at %s already", path)
	}
	return nil // a daemon that died left it: the new one takes its place
}

type socketListener struct {
	*net.UnixListener
	path string
	info fs.FileInfo
}

// Addr is the address under the name that the socket has now.
func (l *socketListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close removes the socket, unless it is another's by now.
func (l *socketListener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.info) {
		_ = os.Remove(l.path)
	}
	return l.UnixListener.Close()
}
