//go:build linux || darwin

package observe

import "golang.org/x/sys/unix"

// diskOf is the size of the file system of a directory, and what is free of it without privileges.
func diskOf(dir string) (size, free uint64, ok bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, 0, false
	}
	block := uint64(s.Bsize)
	return s.Blocks * block, s.Bavail * block, true
}
