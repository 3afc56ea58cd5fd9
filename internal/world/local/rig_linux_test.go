package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/world"
	"github.com/escala-sched/escala/internal/world/worldtest"
	"github.com/escala-sched/escala/workload"
)

// nobody is who jobs run as where the tests are root.
const nobody = 65534

// rig is a state directory with payloads.
type rig struct {
	t    testing.TB
	base string
	opts Options

	mu       sync.Mutex
	payloads map[int32]Payload
	slow     map[int32]bool
	gates    map[int32]*os.File
	next     int32
}

func newRig(t testing.TB) *rig {
	t.Helper()
	base, err := os.MkdirTemp("", "escala-local-")
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{t: t, base: base, payloads: map[int32]Payload{}, slow: map[int32]bool{}, gates: map[int32]*os.File{}}
	t.Cleanup(g.clean)
	for dir, mode := range map[string]os.FileMode{"": 0o711, "gates": 0o711, "ready": 0o777, "home": 0o777} {
		path := filepath.Join(base, dir)
		os.MkdirAll(path, 0o700)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	g.opts = Options{Dir: filepath.Join(base, "state"), Payload: g.payload, Now: time.Now, Pretend: 8, Cgroups: CgroupsOff}
	return g
}

func (g *rig) clean() {
	reapAll()
	for _, f := range g.gates {
		f.Close()
	}
	token, _ := os.ReadFile(filepath.Join(g.opts.Dir, "token"))
	if len(token) > 0 {
		if left := g.alive(string(token[:len(token)-1])); left > 0 {
			g.t.Errorf("%d processes are left", left)
		}
	}
	os.RemoveAll(g.base)
}

// alive counts the processes of all runs of a state directory.
func (g *rig) alive(token string) (n int) {
	list, _ := os.ReadDir("/proc")
	for _, e := range list {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && contains(env, "ESCALA_RUN="+token+".") {
			n++
		}
	}
	return n
}

func (g *rig) payload(job int32) ([]byte, error) {
	g.mu.Lock()
	p, ok := g.payloads[job]
	slow := g.slow[job]
	g.mu.Unlock()
	if slow {
		time.Sleep(300 * time.Millisecond)
	}
	if !ok {
		return nil, errors.New("no such payload")
	}
	return json.Marshal(p)
}

func (g *rig) open() *World {
	g.t.Helper()
	w, err := Open(context.Background(), g.opts)
	if err != nil {
		g.t.Fatal(err)
	}
	return w
}

// add makes a job of a payload, of the user nobody where that can be, and returns its start.
func (g *rig) add(p Payload) world.Order {
	g.mu.Lock()
	defer g.mu.Unlock()
	job := g.next
	g.next++
	if os.Geteuid() == 0 && p.UID == nil {
		id := uint32(nobody)
		p.UID, p.GID = &id, &id
	}
	if p.Dir == "" {
		p.Dir = filepath.Join(g.base, "home")
	}
	g.payloads[job] = p
	return world.Order{Do: fact.Start, Run: world.Run{Job: job, Attempt: 1}, ID: "job-" + strconv.Itoa(int(job)), Spec: &workload.Job{User: "ann", Team: "lab"},
		Place: []fact.Grant{{Node: 0, Milli: 1000, GPUs: 1 << (job % 8), Count: 1}}, Count: 1}
}

func (g *rig) script(format string, args ...any) world.Order {
	return g.add(Payload{Script: fmt.Sprintf(format, args...)})
}

// gate makes a pipe that a job reads from until it is released.
func (g *rig) gate(job int32) string {
	path := filepath.Join(g.base, "gates", strconv.Itoa(int(job)))
	if err := unix.Mkfifo(path, 0o666); err != nil {
		g.t.Fatal(err)
	}
	os.Chmod(path, 0o666)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		g.t.Fatal(err)
	}
	g.gates[job] = f
	return path
}

// job makes a job of a kind, as a shell script.
func (g *rig) job(t *testing.T, k worldtest.Kind) world.Order {
	gate := g.gate(g.next)
	ready := fmt.Sprintf("touch %s/ready/$ESCALA_JOB_NUMBER.$ESCALA_ATTEMPT\n", g.base)
	wait := fmt.Sprintf("exec head -c 1 %s >/dev/null\n", gate)
	switch {
	case k.Fails && !k.Node:
		return g.add(Payload{Argv: []string{"/no/such/program"}})
	case k.Exits:
		return g.script("exit %d", k.Code)
	case k.Yields:
		return g.script("exit 75")
	case k.Late:
		return g.script("exec sleep 1000")
	}
	s := ""
	if k.Ignores {
		s += "trap '' TERM\n"
	}
	if k.Forks {
		s += "for i in 1 2 3; do setsid sleep 1000 & done\n(sleep 1000; true) &\n"
	}
	if k.Saves {
		s += "trap 'sleep 0.05; exit 0' TERM\n"
		wait = fmt.Sprintf("head -c 1 %s >/dev/null & wait $!\n", gate)
	}
	o := g.script("%s", s+ready+wait)
	if k.Fails {
		if err := os.MkdirAll(filepath.Join(g.opts.Dir, "logs"), 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(g.opts.Dir, "logs", runName(o.Run)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.slow[o.Job] = k.Slow
	return o
}

func (g *rig) release(r world.Run) { g.gates[r.Job].Write([]byte("x")) }

func (g *rig) ready(t *testing.T, r world.Run) {
	t.Helper()
	path := filepath.Join(g.base, "ready", runName(r))
	for range 5000 {
		if exists(path) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("job %v does not become ready", r)
}

func (g *rig) harness() worldtest.Harness {
	w := g.open()
	return worldtest.Harness{
		World: w, Job: g.job, Ready: g.ready, Release: g.release,
		Reopen:    func(*testing.T) world.World { return g.open() },
		Processes: func(r world.Run) int { return len(marked(w.mark(r))) },
		Patience:  20 * time.Second, Quiet: 60 * time.Millisecond, Grace: 5 * time.Second, Limit: 250 * time.Millisecond,
	}
}
