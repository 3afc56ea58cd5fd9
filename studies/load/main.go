// Command load measures what a live scheduler takes: it starts one, submits jobs to it over
// HTTP at a given rate for a time, then reads while all of them wait, and prints JSON. The
// store's own rate of commits is measured in the same run, since all of it rests on that.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/escala-sched/escala/internal/store"
)

// figures is what is printed.
type figures struct {
	Rate           int     `json:"rate_asked_per_s"`
	Seconds        float64 `json:"seconds"`
	Accepted       int64   `json:"accepted"`
	Failed         int64   `json:"failed"`
	AcceptedPerSec float64 `json:"accepted_per_s"`
	SubmitP50      float64 `json:"submit_p50_ms"`
	SubmitP99      float64 `json:"submit_p99_ms"`
	SubmitMax      float64 `json:"submit_max_ms"`
	Batch          int     `json:"batch"`
	BatchPerSec    float64 `json:"batch_jobs_per_s"`
	Waiting        int     `json:"waiting_afterwards"`
	Reads          []read  `json:"reads"`
	ServerCPU      float64 `json:"server_cpu_s"`
	ClientCPU      float64 `json:"client_cpu_s"`
	ServerRSS      int64   `json:"server_rss_mib"`
	RestartSec     float64 `json:"restart_s"`
	WaitingAgain   int     `json:"waiting_after_restart"`
	CommitPerSec   float64 `json:"store_commits_per_s"`
}

type read struct {
	What string  `json:"what"`
	N    int     `json:"n"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
}

func main() {
	bin := flag.String("escala", "bin/escala", "program to start")
	rate := flag.Int("rate", 3000, "submissions a second")
	seconds := flag.Int("seconds", 60, "how long")
	batch := flag.Int("batch", 1000, "jobs in each batch of the second part")
	batchSeconds := flag.Int("batch-seconds", 10, "how long batches are sent one after the other; 0 = not")
	total := flag.Int("waiting", 200_000, "fill the queue up to this number before reading")
	flag.Parse()
	if err := run(*bin, *rate, *seconds, *batch, *batchSeconds, *total); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// batchClients send batches at once.
const batchClients = 4

// daemon is a scheduler under load.
type daemon struct {
	cmd         *exec.Cmd
	base, token string
	http        *http.Client
}

func start(bin, dir string) (*daemon, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	_ = l.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "escala.yaml")
	if err := os.WriteFile(config, []byte("limits: {userJobs: 0, requestsPerSecond: 0, jobsPerSecond: 0}\n"), 0o600); err != nil {
		return nil, err
	}
	c := exec.Command(bin, "serve", "--config", config, "--gpus", "8", "--state", filepath.Join(dir, "state"), "--listen", addr, "--allow-root")
	c.Stderr, c.Stdout = log, log
	if err := c.Start(); err != nil {
		return nil, err
	}
	d := &daemon{cmd: c, base: "http://" + addr, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	for range 3000 {
		if resp, err := d.http.Get(d.base + "/readyz"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				token, err := os.ReadFile(filepath.Join(dir, "state", "token"))
				d.token = strings.TrimSpace(string(token))
				return d, err
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errors.New("the scheduler does not get ready; see " + log.Name())
}

func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	return d.cmd.Wait()
}

func (d *daemon) call(method, path string, body []byte, out any) error {
	req, err := http.NewRequest(method, d.base+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", resp.Status, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

// job is what is submitted: one that would run long.
func job(i int) map[string]any {
	return map[string]any{"name": "load-" + strconv.Itoa(i%100), "team": "team" + strconv.Itoa(i%20), "need": map[string]any{"gpus": 1 + i%8}, "estimate_seconds": 600 + i%3600,
		"contract": map[string]any{"min_runtime_seconds": 600}, "run": map[string]any{"command": []string{"sleep", "900"}, "env": map[string]string{"PATH": "/usr/bin:/bin"}}}
}

func run(bin string, rate, seconds, batch, batchSeconds, total int) error {
	dir, err := os.MkdirTemp("", "escala-load")
	if err != nil {
		return err
	}
	defer func() {
		endRuns(dir) // jobs outlive their scheduler
		_ = os.RemoveAll(dir)
	}()
	d, err := start(bin, dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.cmd.Process.Kill() }()
	f := figures{Rate: rate, Batch: batch}
	cpu := clientCPU()
	d.submit(&f, rate, seconds)
	f.ClientCPU = clientCPU() - cpu
	f.ServerCPU, f.ServerRSS = serverUse(d.cmd.Process.Pid)
	n := int(f.Accepted)
	if batchSeconds > 0 {
		began, sent := time.Now(), 0
		for time.Since(began) < time.Duration(batchSeconds)*time.Second {
			errs := make(chan error, batchClients)
			for range batchClients {
				from := n
				go func() { errs <- d.batch(from, batch) }()
				n, sent = n+batch, sent+batch
			}
			for range batchClients {
				if err := <-errs; err != nil {
					return err
				}
			}
		}
		f.BatchPerSec = float64(sent) / time.Since(began).Seconds()
	}
	for n < total {
		if err := d.batch(n, batch); err != nil {
			return err
		}
		n += batch
	}
	var st struct{ Waiting int }
	if err := d.call(http.MethodGet, "/status", nil, &st); err != nil {
		return err
	}
	f.Waiting = st.Waiting
	for _, what := range []string{"/status", "/jobs?limit=100", "/jobs/1", "/jobs/" + strconv.Itoa(n/2), "/queue?limit=100", "/nodes", "/jobs?user=nobody&limit=1"} {
		r := read{What: what}
		var took []float64
		for range 300 {
			began := time.Now()
			if err := d.call(http.MethodGet, what, nil, nil); err != nil {
				return err
			}
			took = append(took, ms(time.Since(began)))
			time.Sleep(2 * time.Millisecond)
		}
		r.N, r.P50, r.P99 = len(took), quantile(took, 50), quantile(took, 99)
		f.Reads = append(f.Reads, r)
	}
	if err := d.stop(); err != nil {
		return err
	}
	began := time.Now()
	if d, err = start(bin, dir); err != nil {
		return err
	}
	f.RestartSec = time.Since(began).Seconds()
	if err := d.call(http.MethodGet, "/status", nil, &st); err != nil {
		return err
	}
	f.WaitingAgain = st.Waiting
	if err := d.stop(); err != nil {
		return err
	}
	if f.CommitPerSec, err = commits(dir); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(f)
}

// endRuns ends what the scheduler started, by the numbers that it wrote down.
func endRuns(dir string) {
	locks, _ := filepath.Glob(filepath.Join(dir, "state", "local", "runs", "*", "lock"))
	for _, l := range locks {
		text, err := os.ReadFile(l)
		if err != nil {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the job's main process goes with its supervisor
		}
	}
}

// submit sends jobs on a schedule, whether or not those before were answered.
func (d *daemon) submit(f *figures, rate, seconds int) {
	n := rate * seconds
	took := make([]float64, n)
	var accepted, failed atomic.Int64
	var wg sync.WaitGroup
	slots := make(chan struct{}, 256)
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-slots; wg.Done() }()
			body, _ := json.Marshal(job(i))
			if err := d.call(http.MethodPost, "/jobs", body, nil); err != nil {
				if failed.Add(1) == 1 {
					fmt.Fprintln(os.Stderr, "load: first failure:", err)
				}
				return
			}
			took[i] = ms(time.Since(due)) // from when it was to be sent: waiting for a slot counts
			accepted.Add(1)
		}()
	}
	wg.Wait()
	f.Seconds = time.Since(began).Seconds()
	f.Accepted, f.Failed = accepted.Load(), failed.Load()
	f.AcceptedPerSec = float64(f.Accepted) / f.Seconds
	took = slices.DeleteFunc(took, func(v float64) bool { return v == 0 })
	if len(took) > 0 {
		f.SubmitP50, f.SubmitP99, f.SubmitMax = quantile(took, 50), quantile(took, 99), slices.Max(took)
	}
}

func (d *daemon) batch(from, n int) error {
	jobs := make([]any, n)
	for i := range jobs {
		jobs[i] = job(from + i)
	}
	body, err := json.Marshal(map[string]any{"jobs": jobs})
	if err != nil {
		return err
	}
	var out struct{ Results []struct{ Error string } }
	if err := d.call(http.MethodPost, "/jobs/batch", body, &out); err != nil {
		return err
	}
	for _, r := range out.Results {
		if r.Error != "" {
			return errors.New(r.Error)
		}
	}
	return nil
}

// commits is how many batches of one line the store takes in a second, one after the other.
func commits(dir string) (float64, error) {
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(dir, "commits", "journal.db"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = st.Close() }()
	epoch, err := st.Claim(ctx, "load")
	if err != nil {
		return 0, err
	}
	body := []byte(strings.Repeat("x", 299) + "\n")
	began, n := time.Now(), int64(0)
	for time.Since(began) < 3*time.Second {
		n++
		if err := st.Append(ctx, &store.Batch{Seq: n, Segment: 1, Epoch: epoch, At: n, Lines: 1, Body: body}, store.Rows{}); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func quantile(v []float64, percent int) float64 {
	s := slices.Clone(v)
	slices.Sort(s)
	return s[max(0, (len(s)*percent+99)/100-1)]
}

func clientCPU() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// serverUse reads CPU seconds and memory of a process.
func serverUse(pid int) (cpu float64, rss int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	u, _ := strconv.ParseFloat(f[11], 64)
	s, _ := strconv.ParseFloat(f[12], 64)
	pages, _ := strconv.ParseInt(f[21], 10, 64)
	return (u + s) / 100, pages * int64(os.Getpagesize()) >> 20
}
