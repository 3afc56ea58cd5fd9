package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroupParent is where runs get their cgroups (v2).
type cgroupParent struct {
	dir string
	// cpu and memory tell which limits can be set.
	cpu, memory bool
}

// findCgroups looks for a place where cgroups of version 2 can be made. said is a word about
// what can be had of them. A nil parent is none.
func findCgroups(want Cgroups, parent string) (p *cgroupParent, said string) {
	if want == CgroupsOff {
		return nil, "no cgroups: they are switched off"
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, "no cgroups: " + err.Error()
	}
	mount := cgroup2Mount(string(mounts))
	if mount == "" {
		return nil, "no cgroups: version 2 is not mounted"
	}
	if parent == "" {
		self, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			return nil, "no cgroups: " + err.Error()
		}
		parent = besideMe(string(self))
	}
	p = &cgroupParent{dir: filepath.Join(mount, path.Clean("/"+parent))}
	if err := p.probe(); err != nil {
		return nil, "no cgroups: " + err.Error()
	}
	said = "cgroups below " + p.dir + ": whole runs are killed at once"
	switch {
	case p.cpu && p.memory:
		said += ", cores and memory are limited"
	case p.cpu:
		said += ", cores are limited, memory is not"
	case p.memory:
		said += ", memory is limited, cores are not"
	default:
		said += ", cores and memory are not limited (no such controllers there)"
	}
	return p, said
}

// cgroup2Mount is where cgroup v2 is mounted, by the text of mountinfo.
func cgroup2Mount(mountinfo string) string {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if ok && strings.HasPrefix(after, "cgroup2 ") && len(f) > 4 && f[3] == "/" {
			return strings.ReplaceAll(f[4], `\040`, " ")
		}
	}
	return ""
}

// besideMe is the place for runs, by the text of /proc/self/cgroup: below the daemon's own
// cgroup, or beside it where a service manager has put the daemon into a leaf of its own
// (DelegateSubgroup=daemon): limits cannot be given below a cgroup that has processes.
func besideMe(self string) string {
	for line := range strings.Lines(self) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			if path.Base(own) == "daemon" {
				own = path.Dir(own)
			}
			return path.Join(own, "escala-runs")
		}
	}
	return "escala-runs"
}

// probe makes the parent, and a cgroup in it to see what it can do.
func (p *cgroupParent) probe() error {
	if err := os.Mkdir(p.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	above := filepath.Join(filepath.Dir(p.dir), "cgroup.subtree_control")
	for _, c := range []string{"+cpu", "+memory"} {
		// Each alone: one that cannot be had must not cost the other. What came of it is read below.
		_ = os.WriteFile(above, []byte(c), 0)
		_ = os.WriteFile(filepath.Join(p.dir, "cgroup.subtree_control"), []byte(c), 0)
	}
	test, err := os.MkdirTemp(p.dir, "probe.")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(test) }() // nothing was put into it
	kind, err := os.ReadFile(filepath.Join(test, "cgroup.type"))
	if err != nil {
		return err
	}
	if k := strings.TrimSpace(string(kind)); k != "domain" {
		return fmt.Errorf("%s is of type %q", p.dir, k)
	}
	f, err := os.OpenFile(filepath.Join(test, "cgroup.kill"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_ = f.Close() // only whether it can be opened
	f, err = os.OpenFile(filepath.Join(test, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_ = f.Close() // only whether it can be opened
	p.cpu = exists(filepath.Join(test, "cpu.max"))
	p.memory = exists(filepath.Join(test, "memory.max"))
	return nil
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

// cgroup is that of one run. Nil does nothing.
type cgroup struct {
	dir  string
	file *os.File // open until the job is in it
}

// openCgroup makes the run's cgroup and limits it; nil where it is to have none.
func openCgroup(t *ticket) (*cgroup, error) {
	if t.Cgroup == "" {
		return nil, nil
	}
	if err := os.Mkdir(t.Cgroup, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	g := &cgroup{dir: t.Cgroup}
	if err := g.limit(t.CPUMilli, t.MemoryMiB); err != nil {
		g.remove()
		return nil, err
	}
	var err error
	if g.file, err = os.Open(t.Cgroup); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// period is that of cpu.max, in microseconds.
const period = 100_000

// limit bounds cores (milli) and memory (MiB); 0 = not.
func (g *cgroup) limit(cpu, memory int64) error {
	set := func(name, value string) error { return os.WriteFile(filepath.Join(g.dir, name), []byte(value), 0) }
	if cpu > 0 {
		if err := set("cpu.max", fmt.Sprintf("%d %d", max(cpu*period/1000, 1000), period)); err != nil {
			return err
		}
	}
	if memory > 0 {
		if err := set("memory.max", strconv.FormatInt(memory<<20, 10)); err != nil {
			return err
		}
		_ = set("memory.oom.group", "1") // old kernels kill one process of it instead of all
		_ = set("memory.swap.max", "0")  // there may be no swap
	}
	return nil
}

// place makes a process begin in the cgroup.
func (g *cgroup) place(a *syscall.SysProcAttr) {
	if g != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.file.Fd())
	}
}

func (g *cgroup) started() {
	if g != nil && g.file != nil {
		_ = g.file.Close() // a folder, open to name it
	}
}

// kill ends all that is in it.
func (g *cgroup) kill() {
	if g != nil {
		_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0) // the caller looks at what is left
	}
}

// empty tells whether nothing is alive in it.
func (g *cgroup) empty() bool {
	if g == nil {
		return true
	}
	data, err := os.ReadFile(filepath.Join(g.dir, "cgroup.events"))
	return err != nil || strings.Contains(string(data), "populated 0")
}

// oomKills is how often the kernel killed in it for want of memory.
func (g *cgroup) oomKills() int {
	if g == nil {
		return 0
	}
	data, _ := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	for line := range strings.Lines(string(data)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			count, _ := strconv.Atoi(strings.TrimSpace(n))
			return count
		}
	}
	return 0
}

// remove takes it away. The kernel may need a moment after the last process.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	removeBelow(g.dir)
	for range 50 {
		if err := syscall.Rmdir(g.dir); err == nil || errors.Is(err, syscall.ENOENT) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// removeBelow takes away what the job has made in its cgroup.
func removeBelow(dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if e.IsDir() {
			removeBelow(filepath.Join(dir, e.Name()))
			_ = syscall.Rmdir(filepath.Join(dir, e.Name())) // the parent's removal tells
		}
	}
}
