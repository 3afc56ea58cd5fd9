package local

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/workload"
)

// message is what happens to a run: an order, the leave to forget it, or news in its files.
type message struct {
	order  *world.Order
	settle bool
	// look: a file of the run may have changed. gone: its supervisor has ended. saved: the job says
	// that its state is saved.
	look, gone, saved bool
	// follow: try again to get hold of its supervisor.
	follow bool
}

// run is one run. All but the mailbox is touched only by its actor: one goroutine at a time,
// which lives as long as there is mail.
type run struct {
	w *World
	world.Run
	dir string

	mailbox []message // guarded by the world
	busy    bool      // guarded by the world
	forgot  bool

	// exists: there is a directory. toldUp: its start was reported.
	exists, toldUp bool
	end            *endRecord
	super          *supervision
	// lost: it was reported that it cannot be told whether the run goes on.
	lost bool
	// asked is the last request to stop.
	asked *stopRecord
	// checkpoint is what is watched for savedFile, saved the last time that it was touched.
	checkpoint string
	saved      time.Time
	ticket     *ticket
}

// mail hands a message to the run's actor.
func (w *World) mail(id world.Run, m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || !w.begun {
		return
	}
	r := w.runs[id]
	if r == nil {
		if m.order == nil {
			return // news or a leave for what is forgotten
		}
		r = &run{w: w, Run: id, dir: w.path("runs", runName(id))}
		w.runs[id] = r
	}
	r.mailbox = append(r.mailbox, m)
	if !r.busy {
		r.busy = true
		w.wg.Add(1)
		go r.serve()
	}
}

// serve handles mail until there is none.
func (r *run) serve() {
	defer r.w.wg.Done()
	for {
		r.w.mu.Lock()
		if len(r.mailbox) == 0 {
			r.busy = false
			if r.forgot {
				delete(r.w.runs, r.Run)
			}
			r.w.mu.Unlock()
			return
		}
		m := r.mailbox[0]
		r.mailbox = r.mailbox[1:]
		r.w.mu.Unlock()
		r.handle(m)
	}
}

func (r *run) handle(m message) {
	switch {
	case m.order != nil && m.order.Do == fact.Start:
		r.start(m.order)
	case m.order != nil:
		r.stop(m.order)
	case m.settle:
		r.settle()
	case m.saved:
		r.savedNow()
	case m.gone:
		r.super.reap()
		r.look()
		r.salvage()
	case m.follow:
		r.followAgain()
	case m.look:
		r.look()
	}
}

// start begins the run, or tells how it stands.
func (r *run) start(o *world.Order) {
	r.forgot = false
	if r.exists || r.end != nil {
		r.look()
		r.again()
		return
	}
	r.w.starts <- struct{}{}
	defer func() { <-r.w.starts }()
	if r.stopWaits() {
		return // the stop behind it finds nothing to stop
	}
	t, err := r.prepare(o)
	if err == nil {
		if r.stopWaits() {
			return
		}
		err = r.begin(t)
	}
	if err != nil && r.w.ctx.Err() == nil {
		e := &endRecord{Kind: fact.StartFailed.String(), Text: err.Error(), Node: -1, Own: ownFault(err)}
		var f fault
		if errors.As(err, &f) && !f.own {
			e.Node = 0
		}
		r.conclude(e)
	}
}

// stopWaits tells whether the run is told to stop by what is in the mailbox.
func (r *run) stopWaits() bool {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for i := range r.mailbox {
		if o := r.mailbox[i].order; o != nil && o.Do == fact.Stop {
			return true
		}
	}
	return r.w.closed
}

// again tells how things stand, to whom has told an order twice.
func (r *run) again() {
	if r.toldUp {
		r.tellUp()
	}
	if r.end != nil {
		r.w.tell(r.end.report(r.Run))
	}
}

func (r *run) tellUp() {
	var s startRecord
	if ok, err := readRecord(r.dir, startedFile, &s); ok && err == nil {
		r.toldUp = true
		r.w.tell(world.Report{Kind: fact.JobStarted, Run: r.Run, Node: -1, When: s.At})
	}
}

// look reads the run's files, and reports what is new in them.
func (r *run) look() {
	if r.end != nil || !r.exists {
		return
	}
	if !r.toldUp {
		if r.tellUp(); r.toldUp {
			r.watchCheckpoint()
		}
	}
	var e endRecord
	if ok, err := readRecord(r.dir, endedFile, &e); ok && err == nil {
		if !r.toldUp {
			r.tellUp() // it may have come up since
		}
		if !r.toldUp && e.Kind == fact.JobFinished.String() { // a full disk took its start, and not its end
			r.toldUp = true
			r.w.tell(world.Report{Kind: fact.JobStarted, Run: r.Run, Node: -1, When: e.At})
		}
		r.over(&e)
	}
}

// over reports the end.
func (r *run) over(e *endRecord) {
	r.end = e
	r.savedNow()
	r.unwatch()
	r.w.tell(e.report(r.Run))
}

// conclude writes the end down where no supervisor does, and reports it.
func (r *run) conclude(e *endRecord) {
	if e.At.IsZero() {
		e.At = r.w.opts.Now()
	}
	if !r.exists {
		// If that fails as well it is remembered as long as the daemon lives.
		r.exists = os.Mkdir(r.dir, 0o711) == nil
	}
	if r.exists {
		if err := writeRecord(r.dir, endedFile, e, true); err != nil {
			e.Text += " (and it could not be written down: " + err.Error() + ")"
		}
	}
	r.over(e)
}

// stop tells the supervisor, or answers for what is not there.
func (r *run) stop(o *world.Order) {
	r.forgot = false
	r.look()
	switch {
	case r.end != nil && r.end.Kind == fact.StartFailed.String():
		r.conclude(&endRecord{Kind: fact.JobStopped.String(), Cause: o.Cause.String(), Node: -1, Text: "its start had failed: " + r.end.Text})
	case r.end != nil:
		r.again()
	case !r.exists:
		r.conclude(&endRecord{Kind: fact.JobStopped.String(), Cause: o.Cause.String(), Node: -1, Text: "it had not begun"})
	default:
		r.tellToStop(&stopRecord{Cause: o.Cause.String(), Why: o.Why, Grace: o.Grace})
	}
}

func (r *run) tellToStop(s *stopRecord) {
	if r.asked != nil {
		s.Cause, s.Why = r.asked.Cause, r.asked.Why // the first one gives the cause
	}
	var old stopRecord
	if ok, _ := readRecord(r.dir, stopFile, &old); ok {
		s.Cause, s.Why = old.Cause, old.Why
	}
	r.asked = s
	if err := writeRecord(r.dir, stopFile, s, false); err != nil {
		// Without a disk the supervisor cannot be told; once the grace is over it can be killed, and
		// with it the job.
		r.w.later(s.Grace, func() { r.super.signal(unix.SIGKILL) })
		return
	}
	r.super.signal(wake)
}

// settle forgets the run, if it has ended.
func (r *run) settle() {
	if r.end == nil {
		r.look()
	}
	if r.end == nil {
		return
	}
	if r.exists {
		if err := os.RemoveAll(r.dir); err != nil {
			return // it is found, and not believed, when the daemon comes back
		}
	}
	r.unwatch()
	r.exists, r.end, r.toldUp, r.forgot = false, nil, false, true
}

// salvage deals with a run whose supervisor has ended without writing down an end: it kills what
// is left, and reports that it is over.
func (r *run) salvage() {
	if r.end != nil || !r.exists {
		return
	}
	e := &endRecord{Kind: fact.JobFinished.String(), Outcome: workload.OutcomeFailed.String(), Exit: 128 + int(unix.SIGKILL), Node: -1,
		Text: "its supervisor was killed" + r.noise()}
	var t ticket
	known, _ := readRecord(r.dir, orderFile, &t)
	sameBoot := !known || t.Boot == r.w.boot
	if sameBoot && !r.killAll(t.Cgroup) {
		if r.up() && !r.lost && r.w.ctx.Err() == nil {
			r.lost = true
			r.w.tell(world.Report{Kind: fact.LostSight, Run: r.Run, Node: -1, Text: "its supervisor was killed, and some of its processes cannot be"})
		}
		r.w.later(time.Second, func() { r.w.mail(r.Run, message{follow: true}) })
		return
	}
	var started startRecord
	up, _ := readRecord(r.dir, startedFile, &started)
	var s stopRecord
	stopping, _ := readRecord(r.dir, stopFile, &s)
	if r.asked != nil {
		stopping, s = true, *r.asked
	}
	switch {
	case stopping:
		e.Kind, e.Cause = fact.JobStopped.String(), s.Cause
	case !sameBoot:
		e.Kind, e.Cause, e.Text = fact.JobStopped.String(), fact.CauseNodeFailure.String(), "the machine was restarted"
	case !known, r.toldUp && !up:
		e.Kind, e.Cause, e.Text = fact.JobStopped.String(), fact.CauseNodeFailure.String(), "what was written down about it is damaged"
	case !up:
		e.Kind, e.Exit, e.Node, e.Text = fact.StartFailed.String(), 0, 0, "its supervisor ended before it began"+r.noise()
	}
	if e.Kind != fact.StartFailed.String() && up {
		r.up()
	}
	r.conclude(e)
}

// up tells whether the run is reported to have started; if it has and is not, it is now.
func (r *run) up() bool {
	if !r.toldUp {
		r.tellUp()
	}
	return r.toldUp
}

// killAll kills what a dead supervisor has left, until nothing is found. It is false if that does not
// come soon, or the world closes.
func (r *run) killAll(group string) bool {
	var g *cgroup
	if group != "" && exists(group) {
		g = &cgroup{dir: group}
	}
	mark := r.w.mark(r.Run)
	for wait := time.Millisecond; wait < 2*time.Second; wait *= 2 {
		g.kill()
		// One more look after nothing was found: a process may have begun while /proc was read.
		if !killMarked(mark) && g.empty() && !killMarked(mark) {
			g.remove()
			return true
		}
		select {
		case <-r.w.ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
	return false
}

// noise is what a supervisor that went wrong has printed, for an operator to read.
func (r *run) noise() string {
	data, _ := os.ReadFile(filepath.Join(r.dir, noiseFile))
	s := strings.TrimSpace(string(data))
	if s == "" {
		return ""
	}
	if len(s) > 400 {
		s = s[:400] + "..."
	}
	return ": " + s
}

// lockedBy is the process number in the lock of a run, 0 for none yet; held tells whether it is locked.
func (r *run) lockedBy() (pid int, held bool) {
	f, err := os.OpenFile(filepath.Join(r.dir, lockFile), os.O_RDWR, 0)
	if err != nil {
		return 0, false
	}
	defer closeQuietly(f)
	if errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		held = true
	}
	var buf [16]byte
	n, _ := f.ReadAt(buf[:], 0)
	line, _, ok := strings.Cut(string(buf[:n]), "\n")
	if !ok {
		return 0, held
	}
	pid, _ = strconv.Atoi(line)
	return pid, held
}
