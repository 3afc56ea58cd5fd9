package view_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/scenario"
	"github.com/escala-sched/escala/horizon/view"
)

// drawn makes a plan out of a picture: a row for each GPU, a letter for each step.
// Lower-case letters are jobs, '#' is closed, '.' idle, digits are applications.
func drawn(t *testing.T, q *horizon.Problem, picture string) *horizon.Plan {
	t.Helper()
	rows := strings.Fields(picture)
	q.GPUs, q.Steps, q.Decay = len(rows), len(rows[0]), 1
	p := &horizon.Plan{Problem: q}
	for i := range q.Apps {
		held := make([]horizon.Set, q.Steps)
		for s := range held {
			held[s] = make(horizon.Set, 1)
			for g, row := range rows {
				if int(row[s]-'0') == i {
					held[s][0] |= 1 << g
				}
			}
		}
		p.Held = append(p.Held, held)
	}
	for g, row := range rows {
		for s, c := range row {
			switch {
			case c == '#':
				q.Closed = append(q.Closed, horizon.Window{First: g, Count: 1, From: s, To: s + 1})
			case c >= 'a' && c <= 'z':
				p.Placed = append(p.Placed, horizon.Stretch{Job: int(c - 'a'), Start: s, Steps: 1, Offset: g, Size: 1})
			}
		}
	}
	return p
}

func TestCoverage(t *testing.T) {
	jobs := []horizon.Job{{ID: "a"}}
	for name, tc := range map[string]struct {
		picture string
		app     horizon.App
		types   []int
		reading horizon.Reading
		spare   []int
		want    string
	}{
		"idle GPUs are a margin": {
			picture: "000 ... aaa", app: horizon.App{Demand: []int{1, 1, 1}, SwapCap: 1, Current: []int{0}},
			spare: []int{1, 1, 1},
		},
		"no idle GPU is no margin": {
			picture: "000 a.a aaa", app: horizon.App{Demand: []int{1, 1, 1}, SwapCap: 1, Current: []int{0}},
			spare: []int{0, 1, 0}, want: "no-margin 0-1 (0), no-margin 2-3 (0)",
		},
		"less than wanted is short, and stretches are joined": {
			picture: "000 aa0 aaa", app: horizon.App{Demand: []int{2, 3, 2}, SwapCap: 4, Current: []int{0}},
			spare: []int{0, 0, 0}, want: "short 0-2 (3), no-margin 2-3 (0)",
		},
		"more than wanted is a margin": {
			picture: "000 000 aaa", app: horizon.App{Demand: []int{1, 1, 1}, SwapCap: 1, Current: []int{0, 1}},
			spare: []int{0, 0, 0},
		},
		"the swap cap keeps it from idle GPUs": {
			picture: "000 ..0 ...", app: horizon.App{Demand: []int{1, 1, 2}, SwapCap: 1, Current: []int{0}},
			spare: []int{1, 1, 0}, want: "no-margin 2-3 (0)",
		},
		"swaps used up before the first step count there": {
			picture: "00 .. ..", app: horizon.App{Demand: []int{1, 1}, SwapCap: 2, Used: 2, Current: []int{0}},
			spare: []int{0, 2}, want: "no-margin 0-1 (0)",
		},
		"a GPU that it gives up costs nothing to keep": {
			picture: "00 0. aa", app: horizon.App{Demand: []int{2, 1}, SwapCap: 1, Current: []int{0, 1}},
			spare: []int{0, 1}, want: "no-margin 0-1 (0)",
		},
		"a swap of one for another leaves nothing by identity": {
			picture: "0. .0 ..", app: horizon.App{Demand: []int{1, 1}, SwapCap: 2, Current: []int{0}},
			// To keep GPU 0 gives a swap back, which pays for GPU 2.
			spare: []int{2, 2},
		},
		"and by count it is no change": {
			picture: "0. .0 ..", app: horizon.App{Demand: []int{1, 1}, SwapCap: 1, Current: []int{0}}, reading: horizon.Reading{CountSwaps: true},
			spare: []int{1, 1},
		},
		"idle GPUs of another type are none": {
			picture: "00 .. ..", app: horizon.App{Demand: []int{1, 1}, SwapCap: 2, Current: []int{0}, Types: 1}, types: []int{0, 1, 1},
			spare: []int{0, 0}, want: "no-margin 0-2 (0)",
		},
		"closed GPUs are not idle": {
			picture: "00 ## ##", app: horizon.App{Demand: []int{1, 1}, SwapCap: 2, Current: []int{0}},
			spare: []int{0, 0}, want: "no-margin 0-2 (0)",
		},
		"what wants nothing needs no margin": {
			picture: "aa aa aa", app: horizon.App{Demand: []int{0, 0}, SwapCap: 2},
			spare: []int{0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := drawn(t, &horizon.Problem{Jobs: jobs, Apps: []horizon.App{tc.app}, Types: tc.types, Reading: tc.reading}, tc.picture)
			got := view.Coverage(p)[0]
			if !reflect.DeepEqual(got.Spare, tc.spare) {
				t.Errorf("spare %v, want %v", got.Spare, tc.spare)
			}
			var risks []string
			for _, r := range got.Risks {
				risks = append(risks, fmt.Sprintf("%v %d-%d (%d)", r.Kind, r.From, r.To, r.Short))
			}
			if text := strings.Join(risks, ", "); text != tc.want {
				t.Errorf("risks %s, want %s", text, tc.want)
			}
			steps := got.Steps(view.Short) + got.Steps(view.NoMargin)
			for s := range got.Held {
				if got.At(s) != 0 {
					steps--
				}
			}
			if steps != 0 {
				t.Errorf("the steps of the risks differ from the steps at risk by %d", steps)
			}
		})
	}
}

func TestIdleWindows(t *testing.T) {
	for name, tc := range map[string]struct {
		picture string
		types   []int
		reading horizon.Reading
		want    string
		blocks  string
	}{
		"nothing idle": {"aa aa", nil, horizon.Reading{}, "", "0 0"},
		"all idle":     {"... ... ... ...", nil, horizon.Reading{}, "0-4 x 0-3 block 4", "4 4 4"},
		"the largest first, without overlap": {
			"a... a... a.aa ..aa", nil, horizon.Reading{},
			"0-2 x 1-4 block 2, 3-4 x 0-2 block 1, 2-3 x 1-2 block 1", "1 4 2 2",
		},
		"an aligned block begins at a multiple of its size": {
			"aa .. .. ..", nil, horizon.Reading{}, "1-4 x 0-2 block 2", "2 2",
		},
		"any offset": {"aa .. .. aa", nil, horizon.Reading{Unaligned: true}, "1-3 x 0-2 block 2", "2 2"},
		"two GPUs off a boundary hold blocks of one": {
			"aa .. .. aa", nil, horizon.Reading{}, "1-3 x 0-2 block 1", "1 1",
		},
		"any size": {"aa .. .. ..", nil, horizon.Reading{AnySize: true}, "1-4 x 0-2 block 3", "3 3"},
		"a window is of one type": {
			".. .. .. ..", []int{0, 0, 1, 1}, horizon.Reading{}, "0-2 x 0-2 block 2, 2-4 x 0-2 block 2", "2 2",
		},
		"closed is not idle": {"#. .. .. ..", nil, horizon.Reading{}, "1-4 x 0-2 block 2, 0-1 x 1-2 block 1", "2 4"},
	} {
		t.Run(name, func(t *testing.T) {
			p := drawn(t, &horizon.Problem{Jobs: []horizon.Job{{ID: "a"}}, Types: tc.types, Reading: tc.reading}, tc.picture)
			var got []string
			for _, w := range view.IdleWindows(p) {
				got = append(got, fmt.Sprintf("%d-%d x %d-%d block %d", w.First, w.First+w.Count, w.From, w.To, w.Block))
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("windows %s\nwant    %s", text, tc.want)
			}
			var blocks []string
			for _, s := range view.IdleSteps(p) {
				blocks = append(blocks, fmt.Sprint(s.Block))
			}
			if text := strings.Join(blocks, " "); text != tc.blocks {
				t.Errorf("blocks %s, want %s", text, tc.blocks)
			}
		})
	}
}

// TestWindowsCoverWhatIsIdle: windows are idle, do not overlap, and leave nothing out.
func TestWindowsCoverWhatIsIdle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		gpus, steps := 1+rng.IntN(20), 1+rng.IntN(12)
		var rows []string
		for range gpus {
			row := make([]byte, steps)
			for s := range row {
				row[s] = "..a#"[rng.IntN(4)]
			}
			rows = append(rows, string(row))
		}
		p := drawn(t, &horizon.Problem{Jobs: []horizon.Job{{ID: "a"}}}, strings.Join(rows, " "))
		total := 0
		for _, s := range view.IdleSteps(p) {
			total += s.GPUs
		}
		grid := p.Grid()
		last := gpus * steps
		for _, w := range view.IdleWindows(p) {
			if n := w.GPUSteps(); n > last || n == 0 {
				t.Fatalf("a window of %d GPU-steps after one of %d", n, last)
			}
			last = w.GPUSteps()
			total -= last
			for g := w.First; g < w.First+w.Count; g++ {
				for s := w.From; s < w.To; s++ {
					if grid[g][s] != horizon.Idle {
						t.Fatalf("%+v is not idle, or counted twice\n%s", w, strings.Join(rows, "\n"))
					}
					grid[g][s] = horizon.Shut
				}
			}
		}
		if total != 0 {
			t.Fatalf("%d idle GPU-steps are in no window\n%s", total, strings.Join(rows, "\n"))
		}
	}
}

func TestUnplaced(t *testing.T) {
	job := horizon.Job{ID: "b", GPUs: 2, Steps: 2, Priority: 1}
	with := func(change func(j *horizon.Job)) horizon.Job {
		j := job
		change(&j)
		return j
	}
	for name, tc := range map[string]struct {
		picture  string
		job      horizon.Job
		reading  horizon.Reading
		types    []int
		reserved bool
		want     string
	}{
		"placed":                   {"bb bb", job, horizon.Reading{}, nil, false, ""},
		"released after it":        {"aaa aaa", with(func(j *horizon.Job) { j.Release = 3 }), horizon.Reading{}, nil, false, "late-release 0 0"},
		"longer than what is left": {"... ...", with(func(j *horizon.Job) { j.Release = 2 }), horizon.Reading{Complete: true}, nil, false, "too-long 0 0"},
		"closed":                   {"#.#. .#.#", job, horizon.Reading{}, nil, false, "no-block 0 0"},
		"of another type":          {"... ... ... ...", with(func(j *horizon.Job) { j.Types = 2 }), horizon.Reading{}, []int{0, 0, 0, 0}, false, "no-block 0 0"},
		"across types":             {"... ... ... ...", with(func(j *horizon.Job) { j.Types = 3 }), horizon.Reading{}, []int{0, 1, 0, 1}, false, "no-block 0 0"},
		"idle, but too short":      {"a.aa. a.aa.", with(func(j *horizon.Job) { j.Steps = 3 }), horizon.Reading{Complete: true}, nil, false, "no-room 1 1"},
		"idle before its release":  {"..aa ..aa", with(func(j *horizon.Job) { j.Release = 1 }), horizon.Reading{}, nil, false, "no-room 1 1"},
		"idle off a boundary":      {"aa .. .. aa", job, horizon.Reading{}, nil, false, "no-room 0 0"},
		"which may be enough":      {"aa .. .. aa", job, horizon.Reading{Unaligned: true}, nil, false, "not-chosen 0 0"},
		"three GPUs take four":     {"aa .. .. ..", with(func(j *horizon.Job) { j.GPUs = 3 }), horizon.Reading{}, nil, false, "no-room 0 0"},
		"room at the end":          {"aa. aa.", with(func(j *horizon.Job) { j.Steps = 9 }), horizon.Reading{}, nil, false, "not-chosen 0 0"},
		"kept out by order":        {"aa. aa.", job, horizon.Reading{}, nil, true, "in-order 0 0"},
		"a protected part fits":    {"a..a a..a", with(func(j *horizon.Job) { j.Steps, j.MinSteps = 8, 2 }), horizon.Reading{}, nil, false, "not-chosen 0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := drawn(t, &horizon.Problem{Jobs: []horizon.Job{{ID: "a"}, tc.job}, Reading: tc.reading, Types: tc.types}, tc.picture)
			p.Reserved = tc.reserved
			got := ""
			for _, u := range view.Unplaced(p) {
				if u.Job == 1 {
					got = fmt.Sprintf("%v %d %d", u.Why, u.Longest, u.Since)
				}
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestScenarios holds what is seen to the score, which counts on its own.
func TestScenarios(t *testing.T) {
	paths, _ := filepath.Glob("../../../shared/scenarios/*.json")
	if len(paths) == 0 {
		t.Skip("no ../shared/scenarios: published horizons are not looked at")
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		q, err := scenario.Read(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		r, err := horizon.Fast(q, horizon.Options{Work: 60})
		if err != nil {
			t.Fatal(err)
		}
		fifo, err := horizon.FIFO(q, horizon.FIFOStrict)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*horizon.Plan{r.Plan, fifo} {
			s := p.Score()
			short := 0
			for _, a := range view.Coverage(p) {
				for _, risk := range a.Risks {
					short += risk.Short
				}
			}
			if short != s.Shortfall {
				t.Errorf("%s: %d GPU-steps short, the score says %d", path, short, s.Shortfall)
			}
			if n := len(view.Unplaced(p)); n != len(q.Jobs)-s.Started {
				t.Errorf("%s: %d jobs left out, the score says %d", path, n, len(q.Jobs)-s.Started)
			}
			for _, u := range view.Unplaced(p) {
				if u.Why == view.NotChosen {
					t.Errorf("%s: %s is left out although there is room", path, q.Jobs[u.Job].ID)
				}
			}
		}
	}
}
