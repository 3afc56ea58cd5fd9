package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// descendants lists the processes below one, parents first, without those that are dead and
// only wait to be reaped by it.
func descendants(root int) []int {
	list, ok := childrenOf(root)
	if !ok {
		return descendantsByScan(root)
	}
	for i := 0; i < len(list); i++ {
		below, _ := childrenOf(list[i])
		list = append(list, below...)
	}
	return list
}

// childrenOf reads the kernel's list. ok is false where the kernel keeps none.
func childrenOf(pid int) (list []int, ok bool) {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		ok = true
		for s := range strings.FieldsSeq(string(data)) {
			if n, err := strconv.Atoi(s); err == nil {
				list = append(list, n)
			}
		}
	}
	return list, ok
}

func descendantsByScan(root int) []int {
	all := scanProcesses()
	list := []int{root}
	for i := 0; i < len(list); i++ {
		for pid := range all {
			if all[pid].parent == list[i] {
				list = append(list, pid)
			}
		}
	}
	return list[1:]
}

// process is what /proc tells of one.
type process struct {
	parent int
	zombie bool
	// own is its CPU time, reaped that of its children that have ended. memory in bytes.
	own, reaped time.Duration
	memory      int64
}

// tick is the unit of CPU times in /proc: USER_HZ is 100 wherever Linux runs.
const tick = 10 * time.Millisecond

// scanProcesses reads all of /proc.
func scanProcesses() map[int]process {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close() // only read
	page := int64(os.Getpagesize())
	all := make(map[int]process, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(data, page); ok {
			all[pid] = p
		}
	}
	return all
}

// parseStat reads /proc/PID/stat. The name in parentheses may hold anything.
func parseStat(data []byte, page int64) (p process, ok bool) {
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return p, false
	}
	f := strings.Fields(string(data[i+1:]))
	if len(f) < 22 {
		return p, false
	}
	number := func(i int) int64 {
		n, err := strconv.ParseInt(f[i], 10, 64)
		ok = ok && err == nil
		return n
	}
	ok = true
	p.zombie = f[0] == "Z" || f[0] == "X"
	p.parent = int(number(1))
	p.own = time.Duration(number(11)+number(12)) * tick
	p.reaped = time.Duration(number(13)+number(14)) * tick
	p.memory = number(21) * page
	return p, ok
}

// marked lists the processes that carry the mark of a run in their environment and are alive.
func marked(mark string) []int {
	want := []byte("ESCALA_RUN=" + mark + "\x00")
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close() // only read
	var list []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ")
		if err != nil {
			continue // it has ended, or is not ours
		}
		if bytes.HasPrefix(env, want) || bytes.Contains(env, append([]byte{0}, want...)) {
			list = append(list, pid)
		}
	}
	return list
}

// killMarked kills what carries a mark, and tells whether there was anything. A pidfd makes
// sure that what is killed is what was looked at.
func killMarked(mark string) (found bool) {
	for _, pid := range marked(mark) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		env, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if bytes.Contains(env, []byte("ESCALA_RUN="+mark+"\x00")) {
			found = true
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended
		}
		_ = syscall.Close(fd)
	}
	return found
}

// bootID names the present boot of the machine, "" where the kernel does not tell.
func bootID() string {
	data, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data))
}
