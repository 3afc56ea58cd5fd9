package slurmtest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// killAll kills what has this cluster's slurm.conf in its environment: steps and jobs outlive slurmd.
func (c *Cluster) killAll() {
	for _, pid := range processes(c.Conf) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processes that have a slurm.conf in their environment.
func processes(conf string) (out []int) {
	for _, pid := range pids() {
		env, _ := os.ReadFile(proc(pid, "environ"))
		if strings.Contains("\x00"+string(env)+"\x00", "\x00SLURM_CONF="+conf+"\x00") {
			out = append(out, pid)
		}
	}
	return out
}

// stepsOf lists the steps of a node and what they started: they write to the node's log.
func (c *Cluster) stepsOf(node string) (out []int) {
	log := c.path("log/slurmd." + node + ".log")
	children := map[int][]int{}
	for _, pid := range pids() {
		children[parent(pid)] = append(children[parent(pid)], pid)
		fds, _ := filepath.Glob(proc(pid, "fd/*"))
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); to == log {
				out = append(out, pid)
				break
			}
		}
	}
	for i := 0; i < len(out); i++ {
		for _, pid := range children[out[i]] {
			if !slices.Contains(out, pid) {
				out = append(out, pid)
			}
		}
	}
	return out
}

// pids of all processes but this one.
func pids() (out []int) {
	list, _ := os.ReadDir("/proc")
	for _, d := range list {
		if pid, err := strconv.Atoi(d.Name()); err == nil && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

func parent(pid int) int {
	stat, _ := os.ReadFile(proc(pid, "stat"))
	// The name of the program is in brackets, and may have blanks.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	_, rest, _ = strings.Cut(rest, " ")
	ppid, _, _ := strings.Cut(rest, " ")
	n, _ := strconv.Atoi(ppid)
	return n
}

func proc(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }
