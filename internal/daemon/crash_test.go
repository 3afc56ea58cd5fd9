package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/client"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/store/pgtest"
	"github.com/escala-sched/escala/internal/world/local"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/policy/celexpr"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// The test's program is also the daemon that it kills, and the supervisor of its jobs.
const daemonEnv, journalEnv = "ESCALA_TEST_DAEMON", "ESCALA_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == local.Command {
		os.Exit(local.Supervise(os.Args[2:], time.Now))
	}
	policy.CompileExpr = celexpr.Compile
	if dir := os.Getenv(daemonEnv); dir != "" {
		p, err := policy.Resolve("contract")
		ctx, cancel := context.WithCancel(context.Background())
		if err == nil {
			err = Run(ctx, Options{Beside: confess(dir, cancel), State: dir, Journal: os.Getenv(journalEnv), Pretend: 8, Policy: p, AllowRoot: true, Cgroups: local.CgroupsOff, Version: "test", Now: time.Now,
				Assume: sim.Assumptions{Checkpoint: -1, Grace: 2 * workload.Second, StartLatency: 30 * workload.Second},
				Log:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Ready: func(*Info) { fmt.Println("ready") }})
		}
		cancel()
		if err == nil {
			os.Exit(0)
		}
		fmt.Fprintln(os.Stderr, "daemon:", err)
		os.Exit(1)
	}
	code := m.Run()
	if pg.Load() != nil {
		if err := pg.Load().Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// pg is the PostgreSQL of these tests, once one needed it.
var pg atomic.Pointer[pgtest.Server]

// postgres is an empty schema of a PostgreSQL; it skips the test where there is none.
func postgres(t testing.TB) string {
	t.Helper()
	if pg.Load() == nil {
		pg.Store(pgtest.New(""))
	}
	if why := pg.Load().Why; why != "" {
		t.Skip("no PostgreSQL for the tests: " + why)
	}
	return pg.Load().Schema(t)
}

// confession is what a daemon says of its state right before it ends.
type confession struct {
	Hash string
	// Ran is what its jobs had by their runs, Charged by the ledger, in milli-GPU x ms.
	Ran, Charged int64
}

// confess has a daemon say it, and end, when it gets a SIGUSR1.
func confess(dir string, end func()) func(context.Context, *live.Daemon) error {
	return func(ctx context.Context, d *live.Daemon) error {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGUSR1)
		select {
		case <-ctx.Done():
			return nil
		case <-told:
		}
		defer end()
		var c confession
		var err error
		for after := ""; ; {
			jobs, next, err := d.Past(ctx, live.Filter{}, after, 1000)
			if err != nil {
				return err
			}
			for i := range jobs {
				for k := range jobs[i].Runs {
					if r := &jobs[i].Runs[k]; r.Up != workload.Unknown {
						until := r.Left
						if r.Told != workload.Unknown {
							until = min(until, r.Told)
						}
						c.Ran += r.Milli * max(until-r.Up, 0)
					}
				}
			}
			if after = next; next == "" {
				break
			}
		}
		rows, err := d.Ledger(ctx, 0, workload.Never)
		if err != nil {
			return err
		}
		for _, r := range rows {
			c.Charged += r.Allocated + r.Unallocated
		}
		if c.Hash, err = d.StateHash(ctx); err != nil {
			return err
		}
		body, _ := json.Marshal(&c)
		return os.WriteFile(filepath.Join(dir, "confession"), body, 0o600)
	}
}

// victim is a daemon that is killed.
type victim struct {
	t       testing.TB
	dir     string
	journal string
	cmd     *exec.Cmd
	log     bytes.Buffer
	c       *client.Client
	// starts are how long each start took, until requests were answered.
	starts []time.Duration
}

func (v *victim) start() {
	v.t.Helper()
	v.cmd = exec.Command("/proc/self/exe")
	v.cmd.Env = append(os.Environ(), daemonEnv+"="+v.dir, journalEnv+"="+v.journal)
	v.cmd.Stderr = &v.log
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	began := time.Now()
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	defer func() { v.starts = append(v.starts, time.Since(began)) }()
	if n, err := out.Read(make([]byte, 6)); n == 0 {
		v.t.Fatalf("the daemon does not start: %v\n%s", err, v.log.String())
	}
}

// kill ends it as a power switch would end a process.
func (v *victim) kill() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
}

// soak is how many times as often things are done: ESCALA_SOAK, or once.
func soak() int {
	n, _ := strconv.Atoi(os.Getenv("ESCALA_SOAK"))
	return max(n, 1)
}

// A daemon that is killed at any time under load loses no job that it took, starts none twice
// and forgets none: each run of each job begins exactly once, and the journal tells what was.
func TestKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	killedAtAnyTime(t, "", 20*soak())
}

func TestKilledAtAnyTimeWithPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	times := 8
	if soak() > 1 {
		times = 20 * soak()
	}
	killedAtAnyTime(t, postgres(t), times)
}

func killedAtAnyTime(t *testing.T, dsn string, times int) {
	v, began := newVictim(t, t.TempDir(), dsn)
	v.start()
	defer func() { v.kill() }()
	rnd := rand.New(rand.NewPCG(uint64(times), 7))
	ctx, cancel := context.WithCancel(t.Context())
	taken := make(chan string, 1<<16)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ctx.Err() == nil; i++ {
			if id := v.submit(ctx, i, began); id != "" {
				taken <- id
			}
			time.Sleep(time.Duration(5+i%20) * time.Millisecond)
		}
	}()
	for range times {
		time.Sleep(time.Duration(20+rnd.IntN(400)) * time.Millisecond)
		v.kill()
		v.start()
	}
	cancel()
	<-stopped
	close(taken)
	v.settle(taken, began)
}

// submit asks for a job that says when it begins, and returns its ID if the daemon took it. A
// submission that was not answered is sent again under its key, so that it is one.
func (v *victim) submit(ctx context.Context, i int, began string) string {
	s := v.body(i, began)
	for ctx.Err() == nil {
		var out api.Submitted
		_, err := v.c.Call(ctx, http.MethodPost, "/jobs", s, &out, http.Header{"Idempotency-Key": {key(i)}})
		var gone *client.Unreachable
		var problem *client.Problem
		switch {
		case err == nil:
			return out.ID
		case errors.As(err, &problem) && problem.Bad():
			v.t.Errorf("submission %d: %v", i, err)
			return ""
		case errors.As(err, &gone), errors.As(err, &problem):
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

func key(i int) string { return "key-" + strconv.Itoa(i) }

// body is a job that says when it begins.
func (v *victim) body(i int, began string) *api.Submit {
	script := "#!/bin/sh\necho $ESCALA_JOB_ID.$ESCALA_ATTEMPT >> " + began + "\nsleep 0." + strconv.Itoa(i%4) + "\n"
	zero := int64(0)
	s := api.Submit{Name: "k" + strconv.Itoa(i), Need: api.Need{GPUs: int32(1 + i%3)}, EstimateSeconds: 1, Run: &api.Run{Script: script, Dir: "/"}, Contract: api.Contract{CheckpointOnStop: true, GraceSeconds: 2}}
	if i%5 == 0 {
		s.Contract.MinRuntimeSeconds = &zero
	}
	return &s
}

// settle waits until all is quiet, and compares what was promised with what was done.
func (v *victim) settle(taken <-chan string, began string) {
	t := v.t
	ctx := context.Background()
	for wait := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		var st api.Status
		if err := v.c.Get(ctx, "/status", &st); err != nil {
			t.Fatal(err)
		}
		if st.Waiting+st.Running+st.Held == 0 {
			break
		}
		if time.Since(wait) > 2*time.Minute {
			t.Fatalf("it does not come to rest: %+v\n%s", st, v.log.String())
		}
	}
	data, err := os.ReadFile(began)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for _, l := range strings.Fields(string(data)) {
		if runs[l]++; runs[l] > 1 {
			t.Errorf("run %s began twice", l)
		}
	}
	n, told := 0, 0
	for id := range taken {
		n++
		var j api.Job
		if err := v.c.Get(ctx, "/jobs/"+id, &j); err != nil {
			t.Errorf("job %s was taken and is not known: %v", id, err)
			continue
		}
		if j.State != "completed" {
			t.Errorf("job %s is %s: %s", id, j.State, j.Text)
		}
		for _, r := range j.Runs {
			if r.Started != nil {
				told++
				delete(runs, fmt.Sprintf("%s.%d", id, r.Attempt))
			}
		}
	}
	for r := range runs { // what the journal does not know of, or what was submitted without an answer
		if id, _, _ := strings.Cut(r, "."); v.c.Get(ctx, "/jobs/"+id, &api.Job{}) != nil {
			t.Errorf("run %s began, and the journal knows nothing of it", r)
		}
	}
	if n == 0 || told < n {
		t.Errorf("%d jobs were taken, %d runs of them told", n, told)
	}
	slices.Sort(v.starts)
	t.Logf("%d kills, %d jobs, %d runs; starts took %v in the middle, %v at most", len(v.starts)-1, n, told, v.starts[len(v.starts)/2].Round(time.Millisecond), v.starts[len(v.starts)-1].Round(time.Millisecond))
	v.audit(v.confess())
}

// confess ends the daemon, after it has told of its state.
func (v *victim) confess() *confession {
	v.t.Helper()
	if err := v.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		v.t.Fatal(err)
	}
	if err := v.cmd.Wait(); err != nil {
		v.t.Errorf("it does not end well: %v\n%s", err, v.log.String())
	}
	var c confession
	body, err := os.ReadFile(filepath.Join(v.dir, "confession"))
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	if err != nil {
		v.t.Fatal(err)
	}
	if c.Ran != c.Charged || c.Ran == 0 {
		v.t.Errorf("jobs had %d milli-GPU x ms, and the ledger has %d", c.Ran, c.Charged)
	}
	return &c
}

// audit reads the journal: the chain holds, deciding again comes to the same, and so does the state.
func (v *victim) audit(c *confession) {
	t := v.t
	ctx := context.Background()
	dsn := v.journal
	if dsn == "" {
		dsn = filepath.Join(v.dir, "journal", JournalName)
	}
	st, err := store.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
	for _, verify := range []bool{true, false} {
		var all bytes.Buffer
		if err := st.Read(ctx, 0, func(b *store.Batch) error { _, err := all.Write(b.Body); return err }); err != nil {
			t.Fatal(err)
		}
		r, err := journal.NewReader("journal", &all)
		if err != nil {
			t.Fatal(err)
		}
		x, err := journal.Replay(r, verify)
		if err != nil {
			t.Fatal(err)
		}
		if h := x.Engine.Snapshot().Settled().Hash(); h != c.Hash {
			t.Errorf("the journal comes to state %s (deciding again: %v), the daemon had %s", h, verify, c.Hash)
		}
	}
}
