package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// calendar is a workload with two jobs whose clock begins at an epoch.
func calendar(name string, epoch workload.Time, ids ...string) *workload.Workload {
	w := &workload.Workload{Name: name, Epoch: epoch, Hash: name, Format: "csv", Rows: len(ids)}
	for i, id := range ids {
		w.Jobs = append(w.Jobs, workload.Job{ID: id, Submit: workload.Time(i) * workload.Minute, Need: workload.Need{GPUs: 1}, Deadline: 5 * workload.Hour})
		w.Actual = append(w.Actual, workload.Actual{Duration: workload.Minute, Start: workload.Hour, End: workload.Unknown})
	}
	return w
}

func TestMerge(t *testing.T) {
	a := calendar("a", 1_600_000_000_000, "a1", "a2")
	b := calendar("b", 1_600_000_000_000+30*workload.Second, "b1", "b2")
	got, err := merge([]string{"a.csv", "b.csv"}, []*workload.Workload{a, b})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range got.Jobs {
		ids = append(ids, got.Jobs[i].ID)
	}
	if want := []string{"a1", "b1", "a2", "b2"}; !slices.Equal(ids, want) {
		t.Errorf("order is %v, want %v", ids, want)
	}
	if j, x := got.Jobs[1], got.Actual[1]; j.Submit != 30*workload.Second || j.Deadline != 5*workload.Hour+30*workload.Second ||
		x.Start != workload.Hour+30*workload.Second || x.End != workload.Unknown {
		t.Errorf("b1 was moved to %+v %+v", j, x)
	}
	if got.Name != "a + b" || got.Rows != 4 || len(got.Hash) != 64 || got.Format != "csv" {
		t.Errorf("merged into %s, %d rows, hash %s, format %s", got.Name, got.Rows, got.Hash, got.Format)
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		b    *workload.Workload
		want string
	}{
		"same ID":  {calendar("b", 0, "x", "a2"), `job "a2" is both in a.csv and in b.csv`},
		"no clock": {calendar("b", workload.Unknown, "b1"), "a.csv tells calendar times and b.csv does not"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := merge([]string{"a.csv", "b.csv"}, []*workload.Workload{calendar("a", 0, "a1", "a2"), tc.b})
			if err == nil || !strings.Contains(err.Error(), tc.want) || exitCode(err) != exitBadInput {
				t.Errorf("got %v (code %d), want %q", err, exitCode(err), tc.want)
			}
		})
	}
}

func TestParseWindow(t *testing.T) {
	w := calendar("w", 1_598_918_400_000, "1", "2", "3") // 2020-09-01
	for text, want := range map[string]metrics.Window{
		"0..60":                                 {From: 0, To: workload.Minute},
		"1m..":                                  {From: workload.Minute, To: 2*workload.Minute + 1},
		"..90s":                                 {From: 0, To: 90 * workload.Second},
		"-5..0.5":                               {From: -5000, To: 500},
		"2020-09-01..2020-09-02":                {From: 0, To: workload.Day},
		"2020-09-01T00:01..2020-09-01 01:00:30": {From: workload.Minute, To: workload.Hour + 30*workload.Second},
		"2020-09-01T02:00:00+02:00..":           {From: 0, To: 2*workload.Minute + 1},
	} {
		if got, err := parseWindow(text, w); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"5":            "want FROM..TO",
		"..":           "want FROM..TO",
		"2..1":         "ends before it begins",
		"x..1":         `"x" is no point in time`,
		"1..x":         `"x" is no point in time`,
		"10m..":        "holds no submission; the first is 2020-09-01 00:00:00",
		"..2019-01-01": "holds no submission",
	} {
		if _, err := parseWindow(text, w); err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitBadInput {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestWithPolicy(t *testing.T) {
	for _, tc := range [][3]string{
		{"out.csv", "fifo", "out.fifo.csv"},
		{"a.b/out", "sjf@helios", "a.b/out.sjf-helios"},
		{"x/out.csv", "team/mine", "x/out.team-mine.csv"},
	} {
		if got := withPolicy(tc[0], tc[1]); got != tc[2] {
			t.Errorf("%s under %s: got %s, want %s", tc[0], tc[1], got, tc[2])
		}
	}
}

func TestQuoteArgs(t *testing.T) {
	if got, want := quoteArgs([]string{"compare", "my jobs.csv", "--report", "", "it's", "a@b=1,2"}), `compare 'my jobs.csv' --report '' 'it'\''s' a@b=1,2`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRoundSpan(t *testing.T) {
	for s, want := range map[float64]string{0: "0 s", 59.94: "59.9 s", 60: "1 min", 61: "1 min 1 s", 3600: "1 h", 5400: "1 h 30 min", 90000: "1 d 1 h", 864000: "10 d", 59.97: "1 min", 3599.6: "1 h", 86399: "1 d", 89999: "1 d 1 h", 2216000: "25 d 16 h"} {
		if got := roundSpan(s); got != want {
			t.Errorf("%g: got %s, want %s", s, got, want)
		}
	}
}
