package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/client"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/store"
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
		if err == nil {
			err = Run(context.Background(), Options{State: dir, Journal: os.Getenv(journalEnv), Pretend: 8, Policy: p, AllowRoot: true, Cgroups: local.CgroupsOff, Version: "test", Now: time.Now,
				Assume: sim.Assumptions{Checkpoint: -1, Grace: 2 * workload.Second, StartLatency: 30 * workload.Second},
				Log:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Ready: func(*Info) { fmt.Println("ready") }})
		}
		fmt.Fprintln(os.Stderr, "daemon:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// victim is a daemon that is killed.
type victim struct {
	t       testing.TB
	dir     string
	journal string
	cmd     *exec.Cmd
	log     bytes.Buffer
	c       *client.Client
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
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 6)); n == 0 {
		v.t.Fatalf("the daemon does not start: %v\n%s", err, v.log.String())
	}
}

// kill ends it as a power switch would end a process.
func (v *victim) kill() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
}

// kills is how often the daemon is killed: 20 times, or ESCALA_SOAK times that.
func kills() int {
	n, _ := strconv.Atoi(os.Getenv("ESCALA_SOAK"))
	return 20 * max(n, 1)
}

// A daemon that is killed at any time under load loses no job that it took, starts none twice
// and forgets none: each run of each job begins exactly once, and the journal tells what was.
func TestKilledAtAnyTime(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	killedAtAnyTime(t, "", kills())
}

func killedAtAnyTime(t *testing.T, dsn string, times int) {
	dir := t.TempDir()
	v := &victim{t: t, dir: filepath.Join(dir, "state"), journal: dsn}
	began := filepath.Join(dir, "began")
	c, err := client.New("unix:"+filepath.Join(v.dir, SocketName), "")
	if err != nil {
		t.Fatal(err)
	}
	v.c = c
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
	script := "#!/bin/sh\necho $ESCALA_JOB_ID.$ESCALA_ATTEMPT >> " + began + "\nsleep 0." + strconv.Itoa(i%4) + "\n"
	zero := int64(0)
	s := api.Submit{Name: "k" + strconv.Itoa(i), Need: api.Need{GPUs: int32(1 + i%3)}, EstimateSeconds: 1, Run: &api.Run{Script: script, Dir: "/"}, Contract: api.Contract{CheckpointOnStop: true, GraceSeconds: 2}}
	if i%5 == 0 {
		s.Contract.MinRuntimeSeconds = &zero
	}
	for ctx.Err() == nil {
		var out api.Submitted
		h := http.Header{"Idempotency-Key": {"key-" + strconv.Itoa(i)}}
		_, err := v.c.Call(ctx, http.MethodPost, "/jobs", &s, &out, h)
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
	t.Logf("%d jobs, %d runs", n, told)
	v.kill()
	v.audit()
}

// audit reads the journal: the chain holds, deciding again comes to the same, and the ledger by hour
// is no more than what ran.
func (v *victim) audit() {
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
	var all bytes.Buffer
	if err := st.Read(ctx, 0, func(b *store.Batch) error { _, err := all.Write(b.Body); return err }); err != nil {
		t.Fatal(err)
	}
	r, err := journal.NewReader("journal", &all)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Replay(r, true); err != nil {
		t.Error(err)
	}
}
