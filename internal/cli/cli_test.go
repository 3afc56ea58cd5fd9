package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/atomicfile"
	"github.com/escala-sched/escala/policy"
)

// world is a State in a folder of its own, with what it printed.
type world struct {
	*State
	out, err bytes.Buffer
	dir      string
}

func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	t.Chdir(w.dir)
	w.State = &State{
		Args: args, Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""),
		Stdout: Stream{Writer: &w.out}, Stderr: Stream{Writer: &w.err},
		ReadFile: os.ReadFile,
		Open:     func(path string) (io.ReadCloser, error) { return os.Open(path) },
		Create:   func(path string) (File, error) { return atomicfile.Create(path) },
		MkdirAll: func(path string) error { return os.MkdirAll(path, 0o777) },
		Build:    Build{Version: "v0.0.0-test"},
	}
	return w
}

func (w *world) run(t *testing.T, want int) {
	t.Helper()
	if got := Run(t.Context(), w.State); got != want {
		t.Fatalf("exit code %d, want %d\n%s", got, want, w.err.String())
	}
}

// leftovers lists what lies in the world's folder.
func (w *world) leftovers(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestDemo holds the embedded trace to the figures that others have for it:
// strict FIFO, FIFO that skips, and SJF with true durations on one pool per
// virtual cluster.
func TestDemo(t *testing.T) {
	w := newWorld(t, "compare", "--output", "json")
	w.run(t, exitOK)
	var got struct {
		SchemaVersion int
		Input         struct {
			Workload struct {
				Jobs        int
				Attribution string
			}
			Assumptions []struct{ Name, Value string }
		}
		Policies []struct {
			Name    string
			Metrics struct {
				JCT         struct{ Mean float64 }
				Preemptions int
				Lost        float64  `json:"lost_gpu_hours"`
				Cost        *float64 `json:"cost"`
				KWh         *float64 `json:"kwh"`
			}
		}
	}
	if err := json.Unmarshal(w.out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.SchemaVersion != 1 || got.Input.Workload.Jobs != 1867 || !strings.Contains(got.Input.Workload.Attribution, "CC-BY-4.0") {
		t.Errorf("input is %+v", got.Input)
	}
	if a := got.Input.Assumptions[0]; a.Name != "Checkpoints" || !strings.HasPrefix(a.Value, "one after each 30m") {
		t.Errorf("first assumption is %+v", a)
	}
	want := []struct {
		name string
		jct  float64 // 0 = not known from elsewhere
	}{{"fifo", 16534}, {"fifo-skip", 5902}, {"easy", 0}, {"sjf@perfect", 6273}, {"sjf@helios", 0}, {"srsf", 0}}
	if len(got.Policies) != len(want) {
		t.Fatalf("%d policies, want %d", len(got.Policies), len(want))
	}
	for i, p := range got.Policies {
		if p.Name != want[i].name {
			t.Errorf("policy %d is %s, want %s", i, p.Name, want[i].name)
		}
		if want[i].jct > 0 && math.Abs(p.Metrics.JCT.Mean-want[i].jct) > 0.5 {
			t.Errorf("%s: mean JCT %.1f s, want %.0f s", p.Name, p.Metrics.JCT.Mean, want[i].jct)
		}
		if p.Metrics.Cost == nil || p.Metrics.KWh == nil {
			t.Errorf("%s has no cost or energy", p.Name)
		}
	}
	if m := got.Policies[5].Metrics; m.Preemptions == 0 || m.Lost == 0 {
		t.Errorf("preemption in srsf is free: %+v", m)
	}
	if left := w.leftovers(t); len(left) > 0 {
		t.Errorf("JSON for scripts left %v", left)
	}
}

// TestInterrupt stops runs right after their files were begun.
func TestInterrupt(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"compare", []string{"compare", "--jobs", "out.csv", "--policy", "fifo,easy"},
			"Interrupted. Not written: out.fifo.csv, out.easy.csv, report.html.\n"},
		{"simulate", []string{"simulate", "--out", "run"}, "Interrupted. Not written: " + strings.Join([]string{
			filepath.Join("run", "journal.jsonl"), filepath.Join("run", "jobs.csv"), filepath.Join("run", "jobs.parquet"), filepath.Join("run", "series.csv"),
			filepath.Join("run", "series.parquet"), filepath.Join("run", "metrics.json")}, ", ") + ".\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, tc.args...)
			ctx, cancel := context.WithCancel(t.Context())
			create := w.Create
			w.Create = func(path string) (File, error) { cancel(); return create(path) }
			if got := Run(ctx, w.State); got != exitInterrupted {
				t.Errorf("exit code %d, want %d", got, exitInterrupted)
			}
			if w.err.String() != tc.want {
				t.Errorf("said %q, want %q", w.err.String(), tc.want)
			}
			if w.out.Len() > 0 {
				t.Errorf("printed %q", w.out.String())
			}
			for _, name := range w.leftovers(t) {
				if inside, err := os.ReadDir(name); err != nil || len(inside) > 0 {
					t.Errorf("left %s: %v", name, inside)
				}
			}
		})
	}
}

// fullDisk is a file that takes a little and no more.
type fullDisk struct{ aborted *bool }

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
func (fullDisk) Commit() error             { return nil }
func (f fullDisk) Abort()                  { *f.aborted = true }

// TestFullDisk: an error that is not the user's doing ends with code 1 and names the file.
func TestFullDisk(t *testing.T) {
	for _, args := range [][]string{
		{"compare", "--policy", "fifo", "--report", "page.html"},
		{"compare", "--policy", "fifo", "--jobs", "page.html"},
		{"simulate", "--journal", "page.html"},
		{"workload", "generate", "page.html", "--to", "csv"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			w := newWorld(t, args...)
			aborted := false
			w.Create = func(string) (File, error) { return fullDisk{&aborted}, nil }
			w.run(t, exitInternal)
			if !aborted || !strings.Contains(w.err.String(), "no space left on device") {
				t.Errorf("aborted %v, said %q", aborted, w.err.String())
			}
		})
	}
}

// TestTerminal: colour and width follow the terminal, and NO_COLOR.
func TestTerminal(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tty     bool
		env     string
		args    []string
		colored bool
	}{
		{name: "pipe"},
		{name: "terminal", tty: true, colored: true},
		{name: "NO_COLOR", tty: true, env: "NO_COLOR"},
		{name: "asked for", args: []string{"--color", "always"}, colored: true},
		{name: "asked not", tty: true, args: []string{"--color=never"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, append([]string{"compare", "--report", ""}, tc.args...)...)
			w.Stdout.TTY = tc.tty
			w.Stdout.Width = func() int { return 100 }
			w.Getenv = func(name string) string {
				if name == tc.env {
					return "1"
				}
				return ""
			}
			w.run(t, exitOK)
			if got := strings.Contains(w.out.String(), "\x1b["); got != tc.colored {
				t.Errorf("colour is %v, want %v", got, tc.colored)
			}
			if !tc.colored {
				for line := range strings.Lines(w.out.String()) {
					if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
						t.Errorf("%d columns: %s", n, line)
					}
				}
			}
		})
	}
}

func TestProgressLine(t *testing.T) {
	w := newWorld(t)
	p := w.newProgress()
	p.begin(1000, []*policy.Policy{{Name: "fifo"}, {Name: "easy"}, {Name: "sjf"}})
	p.set(0, 1000)
	p.set(1, 500)
	if got, want := p.line(3*time.Second), "[1/3] easy  50 %  500 jobs/s  3s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Stderr.Width = func() int { return 20 }
	if got := p.line(3 * time.Second); len(got) > 19 {
		t.Errorf("%q does not fit 20 columns", got)
	}
	p.end()
	if w.err.Len() > 0 {
		t.Errorf("said %q where nobody watches", w.err.String())
	}
}

// TestProgressOnTerminal: the line is wiped at the end.
func TestProgressOnTerminal(t *testing.T) {
	w := newWorld(t)
	w.Stderr.TTY = true
	p := w.newProgress()
	p.begin(10, []*policy.Policy{{Name: "fifo"}})
	p.set(0, 5)
	time.Sleep(progressAfter + 3*progressEvery/2)
	p.end()
	if got := w.err.String(); !strings.Contains(got, "fifo  50 %") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("said %q", got)
	}
}
