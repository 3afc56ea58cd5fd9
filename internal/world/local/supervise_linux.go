package local

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/workload"
)

// lockFD is the locked file that the daemon hands to a supervisor.
const lockFD = 3

// wake is the signal by which the daemon tells a supervisor to look for stop.json. Ignored by
// default, so that it cannot kill one that is not listening yet; such a one looks anyway.
const wake = unix.SIGWINCH

// Supervise runs one job to its end. main calls it with what follows [Command] on the command
// line, and exits with its result. Nobody is there to read what it prints: the end of the job is
// in its directory.
func Supervise(args []string, now func() time.Time) int {
	if len(args) != 1 {
		return 2
	}
	// Jobs are forked from this thread: their death signal is bound to it, and so is no_new_privs.
	runtime.LockOSThread()
	s := &supervisor{dir: args[0], now: now}
	if err := s.run(); err != nil {
		fmt.Fprintf(s.noise(), "%v\n", err)
		return 1
	}
	return 0
}

type supervisor struct {
	dir string
	now func() time.Time
	t   ticket

	kids   *kids
	cgroup *cgroup
	log    *logWriter

	// stop is the first request to stop, limit: the time limit asked. deadline is when all is killed.
	stop     *stopRecord
	limit    bool
	deadline time.Time
	alarm    *time.Timer
	// pause is how long to wait until what was killed is looked at again.
	pause time.Duration
}

// noise is where a supervisor that cannot work says so: its own standard error, which the
// daemon has made a file.
func (s *supervisor) noise() *os.File { return os.NewFile(2, "stderr") }

func (s *supervisor) run() error {
	unix.CloseOnExec(lockFD)
	closeInherited()
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if _, err := unix.Pwrite(lockFD, []byte(pid), 0); err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, wake)
	// What a terminal or a service manager sends to all is for the job alone: it decides, and its end is written down.
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE)

	if ok, err := readRecord(s.dir, orderFile, &s.t); err != nil || !ok {
		return s.failed(fault{err: fmt.Errorf("no order: %w", err)})
	}
	if s.look(); s.stop != nil {
		return s.ended(&endRecord{Kind: fact.JobStopped.String(), Cause: s.stop.Cause, Node: -1, Text: "it was told to stop before it began"})
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return s.failed(fault{err: fmt.Errorf("becoming a subreaper: %w", err)})
	}
	saved := savedAt(s.t.Checkpoint)
	main, err := s.launch()
	if err != nil {
		s.cgroup.remove()
		return s.failed(err)
	}
	// Not durable: after a power cut nothing of the run is left but its checkpoints, whatever stands here.
	if err := writeRecord(s.dir, startedFile, &startRecord{At: s.now().UTC(), PID: main, Saved: saved}, false); err != nil {
		fmt.Fprintf(s.noise(), "%v\n", err) // the end record will tell
	}
	s.kids = newKids(main)
	return s.watch(woken)
}

// closeInherited closes what the daemon was given by its own parent and never meant for anybody
// else: files that are not closed on exec, for this process opens none like that.
func closeInherited() {
	list, _ := os.ReadDir("/proc/self/fd")
	for _, e := range list {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= lockFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// watch waits for the end, and brings it about where it is asked for.
func (s *supervisor) watch(woken <-chan os.Signal) error {
	s.alarm = time.NewTimer(time.Hour)
	s.alarm.Stop()
	defer s.alarm.Stop()
	var limit <-chan time.Time
	if s.t.Limit > 0 {
		t := time.NewTimer(s.t.Limit)
		defer t.Stop()
		limit = t.C
	}
	mainGone := s.kids.mainGone
	s.obey()
	for {
		select {
		case <-s.kids.allGone:
			return s.over()
		case <-mainGone:
			mainGone = nil
			if s.kids.last() {
				continue
			}
			if s.stopping() {
				s.kids.signal(unix.Signal(s.t.Signal)) // those that the process group did not reach
			} else {
				s.kill() // the run is over: what it left behind has no right to its GPUs
			}
		case <-woken:
			s.obey()
		case <-limit:
			limit = nil
			if !s.stopping() {
				s.limit = true
				s.ask(reason{Cause: "limit", Sentence: "it reached its time limit of " + s.t.Limit.String()}, s.t.LimitGrace)
			}
		case <-s.alarm.C:
			s.kill()
		}
	}
}

func (s *supervisor) stopping() bool { return s.stop != nil || s.limit }

// savedAt is when savedFile was last touched, zero for never.
func savedAt(checkpoint string) time.Time {
	info, err := os.Lstat(filepath.Join(checkpoint, savedFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// look reads whether the daemon wants the run to stop.
func (s *supervisor) look() (grace time.Duration) {
	var r stopRecord
	if ok, err := readRecord(s.dir, stopFile, &r); err != nil || !ok {
		return 0
	}
	if s.stop == nil {
		s.stop = &r
	}
	return r.Grace
}

// obey does what stop.json says: the first time it asks the job to leave, later it can only shorten the grace.
func (s *supervisor) obey() {
	first := !s.stopping()
	if first && s.kids.gone() {
		return // it ended by itself before the order reached it
	}
	had := s.stop
	grace := s.look()
	switch {
	case s.stop == nil:
	case s.limit:
		s.stop = nil // it had reached its limit before
		s.shorten(grace)
	case first:
		s.ask(reason{Cause: s.stop.Cause, Sentence: s.stop.Why}, grace)
	case had != nil:
		s.shorten(grace)
	}
}

// ask tells the job why, and then to leave within the grace.
func (s *supervisor) ask(r reason, grace time.Duration) {
	s.deadline = s.now().Add(grace).UTC()
	s.alarm.Reset(grace)
	r.Deadline = s.deadline
	if err := s.give(reasonFile, mustJSON(r)); err != nil {
		fmt.Fprintf(s.noise(), "%v\n", err)
	}
	if grace > 0 {
		s.kids.signalMain(unix.Signal(s.t.Signal))
		s.kids.signalMain(unix.SIGCONT) // one that is held by SIGSTOP hears it only then
	}
}

func (s *supervisor) shorten(grace time.Duration) {
	if d := s.now().Add(grace); d.Before(s.deadline) {
		s.deadline = d
		s.alarm.Reset(grace)
	}
}

// kill ends all processes of the run, and comes back until none is left.
func (s *supervisor) kill() {
	s.cgroup.kill()
	s.kids.signal(unix.SIGKILL)
	s.deadline = time.Time{}
	// What forks fast is caught later; what hangs in the kernel may hang for long.
	s.pause = min(max(2*s.pause, 5*time.Millisecond), time.Second)
	s.alarm.Reset(s.pause)
}

// over writes down how the run ended.
func (s *supervisor) over() error {
	ws := s.kids.status
	e := &endRecord{Exit: ws.ExitStatus(), Node: -1, Text: fmt.Sprintf("exit code %d", ws.ExitStatus())}
	if ws.Signaled() {
		e.Exit = 128 + int(ws.Signal())
		e.Text = "ended by signal " + unix.SignalName(ws.Signal())
	}
	if n := s.cgroup.oomKills(); n > 0 {
		e.Text += fmt.Sprintf("; out of memory: its limit is %d MiB", s.t.MemoryMiB)
	}
	switch {
	case s.limit:
		e.Kind, e.Outcome = fact.JobFinished.String(), workload.OutcomeTimeout.String()
		e.Text = "reached its time limit of " + s.t.Limit.String() + "; " + e.Text
	case s.stop != nil:
		e.Kind, e.Cause = fact.JobStopped.String(), s.stop.Cause
	case !ws.Signaled() && e.Exit == s.t.ResumeExit:
		e.Kind, e.Cause = fact.JobStopped.String(), fact.CauseYielded.String()
		e.Text += ": it asks to be resumed"
	case e.Exit == 0:
		e.Kind, e.Outcome, e.Text = fact.JobFinished.String(), workload.OutcomeCompleted.String(), ""
	default:
		e.Kind, e.Outcome = fact.JobFinished.String(), workload.OutcomeFailed.String()
	}
	s.log.finish()
	s.cgroup.remove()
	return s.ended(e)
}

// failed says that the start did not come true.
func (s *supervisor) failed(err error) error {
	e := &endRecord{Kind: fact.StartFailed.String(), Text: err.Error(), Node: -1, Own: ownFault(err)}
	if !e.Own {
		e.Node = 0
	}
	if s.look(); s.stop != nil {
		e = &endRecord{Kind: fact.JobStopped.String(), Cause: s.stop.Cause, Node: -1, Text: "its start failed: " + err.Error()}
	}
	return s.ended(e)
}

// ended writes the end down, and goes on trying while there is no room for that: without it the job
// would count as killed.
func (s *supervisor) ended(e *endRecord) error {
	e.At = s.now().UTC()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := writeRecord(s.dir, endedFile, e, true)
		if err == nil || !passing(err) {
			return err
		}
		fmt.Fprintf(s.noise(), "%v\n", err)
		time.Sleep(wait)
	}
}

// passing tells whether a file that could not be written may be later.
func passing(err error) bool {
	for _, e := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO, unix.ENFILE, unix.EMFILE, unix.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// give puts a file into the run's directory that the job may read.
func (s *supervisor) give(name string, data []byte) error {
	uid := -1
	if s.t.Drop {
		uid = int(s.t.UID)
	}
	return writeWhole(s.dir, name, data, 0o400, uid, false)
}
