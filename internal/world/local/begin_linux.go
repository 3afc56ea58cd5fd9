package local

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/internal/world"
)

// mark is what the processes of a run carry in their environment as ESCALA_RUN.
func (w *World) mark(r world.Run) string { return w.token + "." + runName(r) }

// prepare makes the ticket of a run out of its order and its payload.
func (r *run) prepare(o *world.Order) (*ticket, error) {
	w := r.w
	for i := range o.Place {
		if g := &o.Place[i]; g.Node != 0 || g.GPUs>>len(w.gpus) != 0 {
			return nil, own(fmt.Errorf("it was given GPUs %b of node %d; this machine is node 0 and has %d GPUs", g.GPUs, g.Node, len(w.gpus)))
		}
	}
	data, err := w.opts.Payload(o.Job)
	if err != nil {
		return nil, fmt.Errorf("its payload could not be read: %w", err)
	}
	p, err := ParsePayload(data)
	if err != nil {
		return nil, own(err)
	}
	t := &ticket{Job: o.Job, Attempt: o.Attempt, ID: o.ID, Mark: w.mark(r.Run), Boot: w.boot, Argv: p.Argv, Script: p.Script,
		ResumeExit: ResumeExit, Limit: o.Limit, LimitGrace: w.opts.Grace,
		Logs: w.path("logs", runName(r.Run)), LogSegment: w.opts.LogSegment, LogSegments: w.opts.LogSegments, Checkpoint: p.Checkpoint}
	if p.ResumeExit != nil {
		t.ResumeExit = *p.ResumeExit
	}
	// Both were checked with the payload.
	t.Umask, _ = p.umask()
	t.Signal, _ = ParseSignal(p.Signal)
	if t.Checkpoint == "" {
		t.Checkpoint, t.OwnCheckpoint = w.path("checkpoints", strconv.Itoa(int(o.Job))), true
	}
	if o.Spec != nil && o.Spec.Contract.Grace > 0 {
		t.LimitGrace = time.Duration(o.Spec.Contract.Grace) * time.Millisecond
	}
	a, err := w.account(p, t)
	if err != nil {
		return nil, own(err)
	}
	t.Dir = cmp.Or(p.Dir, a.home)
	t.Stdout, t.Stderr = expand(p.Stdout, o.ID, a.name, o.Job, o.Attempt), expand(p.Stderr, o.ID, a.name, o.Job, o.Attempt)
	if t.Stderr == "" {
		t.Stderr = t.Stdout
	}
	t.Env = w.environ(o, p, t, r.dir, a)
	if w.cgroups != nil {
		t.Cgroup = filepath.Join(w.cgroups.dir, w.token[:8]+"."+runName(r.Run))
		for i := range o.Place {
			if w.cgroups.cpu {
				t.CPUMilli += o.Place[i].CPU
			}
			if w.cgroups.memory {
				t.MemoryMiB += o.Place[i].Memory
			}
		}
	}
	return t, nil
}

// account decides who the job runs as.
func (w *World) account(p *Payload, t *ticket) (account, error) {
	uid := uint32(os.Geteuid())
	switch {
	case !w.root && p.UID != nil && *p.UID != uid:
		return account{}, fmt.Errorf("it belongs to uid %d, but the daemon is uid %d and not root", *p.UID, uid)
	case !w.root:
	case p.UID == nil || p.GID == nil:
		return account{}, errors.New("its payload does not say whose it is (uid, gid)")
	case *p.UID == 0 && !w.opts.AllowRoot:
		return account{}, errors.New("it belongs to root, and jobs of root are not allowed here")
	default:
		uid = *p.UID
		t.Drop, t.UID, t.GID, t.NoNewPrivs = true, *p.UID, *p.GID, !w.opts.NewPrivileges
	}
	a := account{name: strconv.FormatUint(uint64(uid), 10), home: "/", shell: "/bin/sh"}
	u, _ := user.LookupId(a.name)
	if u == nil {
		return a, nil // a number without a name is a user too
	}
	a.name, a.home = u.Username, cmp.Or(u.HomeDir, "/")
	if info, err := os.Stat(a.home); err != nil || !info.IsDir() {
		a.home = "/"
	}
	if !t.Drop {
		return a, nil
	}
	ids, err := u.GroupIds()
	if err != nil {
		return a, fmt.Errorf("the groups of %s: %w", a.name, err)
	}
	for _, s := range ids {
		if n, err := strconv.ParseUint(s, 10, 32); err == nil && uint32(n) != t.GID {
			t.Groups = append(t.Groups, uint32(n))
		}
	}
	return a, nil
}

// begin makes the run's directory and starts its supervisor. An error is the node's fault.
func (r *run) begin(t *ticket) error {
	w := r.w
	if err := os.Mkdir(r.dir, 0o711); err != nil {
		return fault{err: err}
	}
	r.exists, r.ticket = true, t
	if err := writeRecord(r.dir, orderFile, t, false); err != nil {
		return fault{err: err}
	}
	r.watchFiles()
	s, err := w.supervise(r.dir)
	if err != nil {
		return fault{err: fmt.Errorf("starting its supervisor: %w", err)}
	}
	r.super = s
	w.await(r.Run, s)
	return nil
}

// supervise starts a supervisor. It gets the lock of the run already locked: a lock belongs to
// the open file, which the two share until this process closes its half.
func (w *World) supervise(dir string) (*supervision, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer closeQuietly(lock)
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, err
	}
	noise, err := os.OpenFile(filepath.Join(dir, noiseFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer closeQuietly(noise)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer closeQuietly(null)
	env := []string{"PATH=" + defaultPath, "GOMAXPROCS=2"}
	for _, k := range []string{"GORACE", "GOCOVERDIR"} { // of a program that is being tested
		if v := os.Getenv(k); v != "" {
			env = append(env, k+"="+v)
		}
	}
	argv := append(append([]string{"escala"}, w.opts.SuperviseArgs...), dir)
	fd := -1
	pid, err := syscall.ForkExec(w.opts.Executable, argv, &syscall.ProcAttr{Dir: "/", Env: env,
		Files: []uintptr{null.Fd(), null.Fd(), noise.Fd(), lock.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &fd}})
	if err != nil {
		return nil, err
	}
	remember(pid)
	if fd < 0 {
		_ = unix.Kill(pid, unix.SIGKILL) // a child of ours that is not reaped
		reapPID(pid)
		return nil, errors.New("this kernel has no pidfds; Linux 5.4 or newer is needed")
	}
	s := newSupervision(pid, fd)
	if s == nil {
		return nil, errors.New("its descriptor cannot be waited for")
	}
	return s, nil
}
