package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/api"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden holds a text to a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "live", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// topOf is a cluster in which something of everything happens.
func topOf(t *testing.T) *topData {
	t.Helper()
	job := func(n int32, user, team, state string, gpus int32, nodes ...string) api.Job {
		return api.Job{ID: fmt.Sprint(n + 1), Number: n, Name: fmt.Sprintf("%s-%03d", map[bool]string{true: "train", false: "debug"}[gpus > 1], n), User: user, Team: team, State: state, GPUs: gpus, Nodes: nodes,
			Need: "GPUs", Submitted: *noon.in(-time.Hour), EstimateSeconds: 3600}
	}
	runs := func(j api.Job, since, safe time.Duration) api.Job {
		j.Running = noon.in(-since)
		if safe > 0 {
			j.Protected = noon.in(safe)
		} else {
			j.Unallocated = safe < 0
		}
		return j
	}
	waits := func(j api.Job, rank int, w api.Waiting) api.Job {
		w.Rank, w.Of = rank, 4
		j.Waiting = &w
		return j
	}
	d := &topData{at: noon.now, Status: api.Status{Ready: true, Policy: "contract", GPUs: 24, GPUsAvailable: 16, GPUsUsed: 13, Waiting: 4, WaitingGPUs: 23, Running: 4},
		Nodes: []api.Node{{Name: "node01", GPUs: 8, Used: 8, State: "up"}, {Name: "node02", GPUs: 8, Used: 5, State: "up"}, {Name: "node03", GPUs: 8, State: "down"}},
		Running: []api.Job{
			runs(job(9, "iris", "speech", "running", 1, "node02"), 4*time.Minute, -1),
			runs(job(2, "ana", "vision", "running", 8, "node01", "node02"), 10*time.Minute, 50*time.Minute),
			runs(job(3, "diego", "language", "running", 3, "node01"), 2*time.Hour, 0),
			runs(job(4, "bruno", "vision", "stopping", 1, "node01"), 30*time.Second, 0),
		},
		Waiting: []api.Job{
			waits(job(5, "felix", "robotics", "waiting", 16), 1, api.Waiting{Why: "It needs 16 GPUs and 3 are free.", Promised: noon.in(3 * time.Hour)}),
			waits(job(6, "elena", "language", "waiting", 4), 2, api.Waiting{Why: "What could give way is protected until 2026-12-01 11:50:00Z at the longest.", Futures: 32, P50: noon.in(4 * time.Minute), P90: noon.in(20 * time.Minute)}),
			waits(job(7, "gabi", "search", "waiting", 2), 3, api.Waiting{Why: "It needs 2 GPUs and 0 are free.", Futures: 32}),
			waits(job(8, "gabi", "search", "waiting", 1), 4, api.Waiting{Why: "It has just come in."}),
			waits(job(10, "hugo", "search", "held", 1), 0, api.Waiting{Why: "It does not wait for GPUs: its owner holds it back."}),
		}}
	d.Running[3].LeavesBy = noon.in(time.Minute)
	tree, err := budget.Parse("lab.yaml", []byte("children: [{name: vision, share: 30}, {name: language, share: 30}, {name: robotics, share: 20}, {name: search, share: 15}, {name: speech, share: 5}]"))
	if err != nil {
		t.Fatal(err)
	}
	d.addTeams(&budgets{tree: tree}, []api.Account{{Levels: []api.Level{{Account: "vision", Charged: 130, Outstanding: 20, Fair: 100}, {Account: "language", Charged: 42, Fair: 100}, {Account: "speech"}}}})
	return d
}

func TestTopView(t *testing.T) {
	for _, tc := range []struct{ width, height int }{{80, 24}, {80, 40}, {140, 40}, {140, 0}} {
		m := &topModel{width: tc.width, height: tc.height}
		m.take(topOf(t))
		got := m.view(noon, false)
		golden(t, fmt.Sprintf("top-%dx%d.txt", tc.width, tc.height), got+"\n")
		lines := strings.Split(got, "\n")
		if tc.height > 0 && len(lines) != tc.height {
			t.Errorf("%dx%d: %d lines", tc.width, tc.height, len(lines))
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > tc.width {
				t.Errorf("%dx%d: %d columns: %s", tc.width, tc.height, utf8.RuneCountInString(l), l)
			}
		}
	}
}

// TestTopSizes: no size of a terminal is too small, nor does it matter where the cursor is.
func TestTopSizes(t *testing.T) {
	for width := 1; width < 160; width += 7 {
		for height := 1; height < 60; height += 3 {
			m := &topModel{width: width, height: height}
			m.take(topOf(t))
			for _, k := range []string{"", "end", "tab", "end", "tab", "end", "/", "v", "enter"} {
				m.key(k)
				if n := strings.Count(m.view(noon, true), "\n") + 1; n > max(height, 2) {
					t.Fatalf("%dx%d after %q: %d lines", width, height, k, n)
				}
			}
		}
	}
}

func TestTopStale(t *testing.T) {
	m := &topModel{width: 80, height: 24}
	m.take(topOf(t))
	late := noon
	late.now = late.now.Add(42 * time.Second)
	if first, _, _ := strings.Cut(m.view(late, false), "\n"); !strings.HasSuffix(first, "data is 42 s old") {
		t.Errorf("says %q", first)
	}
}

// TestTopKeys presses keys, and looks at what is chosen and asked for.
func TestTopKeys(t *testing.T) {
	m := &topModel{width: 80, height: 24}
	if do, _ := m.key("enter"); do != topNothing || !strings.Contains(m.view(noon, false), "asking") {
		t.Error("there is nothing yet, and a key did something")
	}
	m.take(topOf(t))
	press := func(keys ...string) (do topDo, job string) {
		t.Helper()
		for _, k := range keys {
			do, job = m.key(k)
		}
		return do, job
	}
	if do, job := press("down", "enter"); do != topOpen || job != "3" {
		t.Errorf("enter opens %q (%d), want 3", job, do)
	}
	m.detail = strings.Repeat("line\n", 50)
	press("pgdown", "down", "up")
	if m.scroll != 22 {
		t.Errorf("read down to line %d", m.scroll)
	}
	if do, _ := press("q"); do != topNothing || m.detailID != "" {
		t.Error("q leaves the details, not the program")
	}
	if do, job := press("tab", "end", "up", "c", "y"); do != topCancel || job != "9" {
		t.Errorf("y cancels %q (%d), want 9", job, do)
	}
	if do, _ := press("c", "n"); do != topNothing || m.note != "Not cancelled." {
		t.Errorf("n does %d, says %q", do, m.note)
	}
	press("home", "/", "g", "a", "b", "i", "enter")
	if m.filter != "gabi" || m.count(paneQueue) != 2 || m.chosen() == nil || m.chosen().ID != "8" {
		t.Errorf("filter %q leaves %d, chosen %+v", m.filter, m.count(paneQueue), m.chosen())
	}
	press("/", "backspace", "esc")
	if m.filter != "" || m.typing {
		t.Errorf("filter %q after esc", m.filter)
	}
	press("end", "down", "down")
	if m.cursor[paneQueue] != 4 {
		t.Errorf("cursor at %d", m.cursor[paneQueue])
	}
	d := topOf(t)
	d.Waiting = slices.Concat(d.Waiting[4:], d.Waiting[:2])
	if m.take(d); m.chosen().ID != "11" || m.cursor[paneQueue] != 0 {
		t.Errorf("the cursor left its job for %s", m.chosen().ID)
	}
	press("tab", "enter", "c")
	if m.asking != nil || m.detailID != "" {
		t.Error("a team was opened, or cancelled")
	}
	if do, _ := press("q"); do != topQuit {
		t.Error("q does not leave")
	}
	if do, _ := press("/", "ctrl+c"); do != topQuit {
		t.Error("ctrl+c does not leave")
	}
}

func TestLetters(t *testing.T) {
	var teams []topTeam
	for i := range 60 {
		teams = append(teams, topTeam{Name: fmt.Sprintf("team%d", i)})
	}
	letters(teams)
	seen := map[rune]int{}
	for _, x := range teams {
		seen[x.letter]++
	}
	if seen['#'] != 8 || len(seen) != 53 {
		t.Errorf("letters are %v", seen)
	}
}
