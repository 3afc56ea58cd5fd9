package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fault is an error of a start with who is to blame: the job itself, or its node.
type fault struct {
	err error
	own bool
}

func (f fault) Error() string { return f.err.Error() }
func (f fault) Unwrap() error { return f.err }

func own(err error) error { return fault{err: err, own: true} }

// ownFault tells whether a start failed by the job's own fault, so that it would fail again.
func ownFault(err error) bool {
	var f fault
	return errors.As(err, &f) && f.own
}

// blame finds who is at fault for what the kernel said about a program or a folder of the job.
func blame(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		switch errno {
		case unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE, unix.EIO, unix.ENOSPC, unix.EROFS, unix.EINTR, unix.ESTALE, unix.ETIMEDOUT:
			return fault{err: err}
		}
	}
	return own(err)
}

// launch starts the job and returns its process number.
func (s *supervisor) launch() (pid int, err error) {
	t := &s.t
	if err := s.folders(); err != nil {
		return 0, err
	}
	defer unix.Umask(unix.Umask(t.Umask)) // also for files that are opened for the job
	argv := t.Argv
	if t.Script != "" {
		if err := s.give(scriptFile, []byte(t.Script)); err != nil {
			return 0, fault{err: err} // a full disk is not the job's fault
		}
		argv = interpreter(t.Script, filepath.Join(s.dir, scriptFile))
	}
	if s.cgroup, err = openCgroup(t); err != nil {
		return 0, fault{err: err}
	}
	defer s.cgroup.started()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, fault{err: err}
	}
	defer closeQuietly(null)
	var path string
	var stdout, stderr *os.File
	if err := asUser(t, func() error { return s.asTheUser(argv, &path, &stdout, &stderr) }); err != nil {
		return 0, err
	}
	if stdout == nil || stderr == nil {
		pipe, err := s.openLog()
		if err != nil {
			return 0, fault{err: err}
		}
		defer closeQuietly(pipe)
		if stdout == nil {
			stdout = pipe
		}
		if stderr == nil {
			stderr = pipe
		}
	}
	defer closeQuietly(stdout)
	defer closeQuietly(stderr)
	if t.NoNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return 0, fault{err: err}
		}
	}
	attr := &syscall.ProcAttr{Dir: t.Dir, Env: t.Env, Files: []uintptr{null.Fd(), stdout.Fd(), stderr.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}}
	if t.Drop {
		attr.Sys.Credential = &syscall.Credential{Uid: t.UID, Gid: t.GID, Groups: t.Groups}
	}
	s.cgroup.place(attr.Sys)
	pid, err = syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, blame(fmt.Errorf("starting %s: %w", argv[0], err))
	}
	return pid, nil
}

// folders makes what the run needs on disk and gives it to the user.
func (s *supervisor) folders() error {
	t := &s.t
	make := func(dir string) error {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fault{err: err}
		}
		if t.Drop {
			if err := os.Lchown(dir, int(t.UID), int(t.GID)); err != nil {
				return fault{err: err}
			}
		}
		info, err := os.Lstat(dir)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no folder", dir)
		}
		if err != nil {
			return fault{err: err}
		}
		return nil
	}
	if err := make(t.Logs); err != nil {
		return err
	}
	if t.OwnCheckpoint {
		return make(t.Checkpoint)
	}
	return nil
}

// asTheUser looks at what belongs to the user with the user's eyes.
func (s *supervisor) asTheUser(argv []string, path *string, stdout, stderr **os.File) (err error) {
	t := &s.t
	info, err := os.Stat(t.Dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", t.Dir)
	}
	if err != nil {
		return blame(fmt.Errorf("working directory: %w", err))
	}
	if !t.OwnCheckpoint {
		if err := os.MkdirAll(t.Checkpoint, 0o700); err != nil {
			return blame(fmt.Errorf("checkpoint directory: %w", err))
		}
	}
	if *path, err = findProgram(argv[0], t.Env, t.Dir); err != nil {
		return blame(err)
	}
	if t.Stdout != "" {
		if *stdout, err = appendTo(t.Dir, t.Stdout); err != nil {
			return blame(err)
		}
	}
	if t.Stdout != "" {
		note := "output goes to " + (*stdout).Name() + "\n"
		if err := os.WriteFile(filepath.Join(t.Logs, segmentName(0)), []byte(note), 0o600); err != nil {
			return fault{err: err}
		}
	}
	switch {
	case t.Stderr != "" && t.Stderr != t.Stdout:
		if *stderr, err = appendTo(t.Dir, t.Stderr); err != nil {
			return blame(err)
		}
	case *stdout != nil:
		*stderr = *stdout
	}
	return nil
}

func appendTo(dir, name string) (*os.File, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NONBLOCK, 0o666)
}

// findProgram looks for a program as a shell does.
func findProgram(name string, env []string, dir string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil // the kernel says what is wrong with it
	}
	for _, e := range env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, d := range filepath.SplitList(list) {
			p := filepath.Join(d, name)
			if !filepath.IsAbs(p) {
				p = filepath.Join(dir, p)
			}
			if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("there is no program %q in PATH: %w", name, fs.ErrNotExist)
}

// interpreter is the command that runs a script: what its first line names, else the shell. The
// kernel is not asked, since the state may lie where nothing is executed.
func interpreter(script, path string) []string {
	first, _, _ := strings.Cut(script, "\n")
	line, ok := strings.CutPrefix(strings.TrimSuffix(first, "\r"), "#!")
	name, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	if !ok || name == "" {
		return []string{"/bin/sh", path}
	}
	if arg = strings.TrimSpace(arg); arg != "" {
		return []string{name, arg, path}
	}
	return []string{name, path}
}

func closeQuietly(f *os.File) { _ = f.Close() } // a copy that the job has; closing twice does nothing

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs of strings and times
	}
	return append(data, '\n')
}
