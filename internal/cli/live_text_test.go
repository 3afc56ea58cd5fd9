package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
)

func (c wallClock) in(d time.Duration) *time.Time {
	t := c.now.Add(d)
	return &t
}

func TestTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "in 0 s", 20 * time.Second: "in 20 s", 4 * time.Minute: "in 4 min", 59*time.Minute + 59*time.Second: "in 59 min",
		2*time.Hour + 35*time.Minute: "14:35", 11 * time.Hour: "23:00", 14 * time.Hour: "Wed 02:00", 3 * 24 * time.Hour: "Fri 12:00", 10 * 24 * time.Hour: "11 Dec 12:00",
		400 * 24 * time.Hour: "5 Jan 2028", -30 * time.Second: "30 s ago", -5 * time.Minute: "5 min ago", -3 * time.Hour: "09:00", -24 * time.Hour: "Mon 12:00",
	} {
		if got := noon.when(*noon.in(d)); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{59 * time.Second: "59 s", 90 * time.Minute: "1 h 30 min", 2 * time.Hour: "2 h", 50 * time.Hour: "2 d 2 h", 72 * time.Hour: "3 d"} {
		if got := spanOf(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestStarts(t *testing.T) {
	for _, tc := range []struct {
		w    *api.Waiting
		want string
	}{
		{nil, ""},
		{&api.Waiting{}, ""},
		{&api.Waiting{Futures: 32}, "too far off to say"},
		{&api.Waiting{Futures: 32, P50: noon.in(155 * time.Minute), P90: noon.in(170 * time.Minute)}, "14:35, by 14:50 at 90 %"},
		{&api.Waiting{Futures: 32, P50: noon.in(4 * time.Minute), P90: noon.in(4*time.Minute + 10*time.Second)}, "in 4 min"},
		{&api.Waiting{Futures: 32, P50: noon.in(4 * time.Minute)}, "in 4 min at 50 %"},
		{&api.Waiting{Futures: 32, P50: noon.in(155 * time.Minute), P90: noon.in(300 * time.Hour), Few: true}, "~14:35 (few data)"},
		{&api.Waiting{Futures: 32, P50: noon.in(-time.Minute), P90: noon.in(300 * time.Hour), Few: true}, "any moment (few data)"},
		{&api.Waiting{Futures: 32, P50: noon.in(-time.Minute), P90: noon.in(-time.Second)}, "any moment"},
		{&api.Waiting{Promised: noon.in(4 * time.Hour), P50: noon.in(time.Hour)}, "promised for 16:00"},
		{&api.Waiting{Promised: noon.in(-time.Hour)}, "was promised for 11:00"},
	} {
		if got := noon.starts(tc.w); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.w, got, tc.want)
		}
	}
}

// TestLocal: sentences of the daemon have times in UTC, people here have a zone.
func TestLocal(t *testing.T) {
	got := noon.local("safe until 2026-12-01 11:02:24Z, then 2026-12-02 11:00:00Z, not 2026-13-01 11:00:00Z.")
	if want := "safe until 12:02:24, then Wed 12:00, not 2026-13-01 11:00:00Z."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestList(t *testing.T) {
	l := &list{columns: []column{{title: "JOB"}, {title: "GPUS", right: true}, {title: "TEAM", wide: 40}, {title: "EMPTY"}, {title: "WHY", rest: true}}}
	l.add(cell{"1", styleBold}, cell{"16", ""}, cell{"vision", ""}, cell{}, cell{"It needs 16 GPUs and 0 are free.", ""})
	l.add(cell{"12_3", ""}, cell{"2", ""}, cell{"", ""}, cell{}, cell{})
	want := "JOB   GPUS  TEAM    WHY\n1       16  vision  It needs 16 GPUs and 0 are free.\n12_3     2\n"
	if got := l.text(0, false); got != want {
		t.Errorf("any width:\n%s", got)
	}
	want = "JOB   GPUS  WHY\n1       16  It needs 16 GPU…\n12_3     2\n"
	if got := l.text(28, false); got != want {
		t.Errorf("28 columns:\n%s", got)
	}
	if got := l.text(0, true); !strings.Contains(got, styleBold+"1"+styleReset) || strings.Count(got, styleReset) != 5 {
		t.Errorf("coloured:\n%q", got)
	}
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 112: "112th", 1003: "1,003rd"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestUnprintable: a name cannot move the cursor of whoever lists it.
func TestUnprintable(t *testing.T) {
	if got := unprintable("a\x1b[2Jb\nc\u202ed\u009be"); got != "a?[2Jb?c?d?e" {
		t.Errorf("%q", got)
	}
}

func TestJobCode(t *testing.T) {
	code := func(n int32) *int32 { return &n }
	for _, tc := range []struct {
		j    api.Job
		want int
	}{
		{api.Job{State: "completed", Exit: code(0)}, 0},
		{api.Job{State: "failed", Exit: code(7)}, 7},
		{api.Job{State: "failed", Exit: code(0)}, 1},
		{api.Job{State: "failed"}, 1},
		{api.Job{State: "timeout", Exit: code(143)}, 124},
		{api.Job{State: "cancelled", Exit: code(143)}, 143},
		{api.Job{State: "cancelled"}, 130},
		{api.Job{State: "refused"}, 2},
		{api.Job{State: "node-fail", Exit: code(-1)}, 1},
	} {
		if got := jobCode(&tc.j); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.j, got, tc.want)
		}
	}
}

func TestJobText(t *testing.T) {
	w := newWorld(t)
	zero := int64(0)
	code := int32(75)
	j := api.Job{ID: "12", Name: "train", User: "ana", Team: "vision", State: "waiting", Need: "8 GPUs", GPUs: 8, EstimateSeconds: 7200, MinRuntimeSeconds: &zero,
		Submitted: *noon.in(-2 * time.Hour), Started: noon.in(-time.Hour), Stops: 1, Attempt: 1, GPUHours: 4.25, Labels: map[string]string{"b": "2", "a": "1"},
		Waiting: &api.Waiting{Rank: 3, Of: 12, Why: "It needs 8 GPUs and 2 are free.", Futures: 32, P50: noon.in(4 * time.Minute), P90: noon.in(20 * time.Minute)},
		Runs:    []api.JobRun{{Attempt: 1, Started: noon.in(-time.Hour), Ended: noon.in(-30 * time.Minute), Nodes: []string{"n1"}, GPUs: 8, End: "preempted", Exit: &code, StopWhy: "It was stopped for job 13.", LostSeconds: 60}}}
	want := `Job 12 (train) is waiting, expected to start in 4 min, by 12:20 at 90 %.
  why        It needs 8 GPUs and 2 are free.
  rank       3rd of 12
  asks for   8 GPUs for about 2 h; unallocated: it may be stopped at any time
  of         ana, team vision
  submitted  10:00
  started    11:00, after a wait of 1 h
  had        4.25 GPU-hours, stopped once
  labels     a=1 b=2

RUN  STARTED  LASTED  NODES  GPUS  END        EXIT  LOST   WHY
  1  11:00    30 min  n1        8  preempted    75  1 min  It was stopped for job 13.
`
	if got := w.jobText(&j, noon); got != want {
		t.Errorf("got\n%s", got)
	}
}
