package report

import (
	"strings"
	"testing"

	"github.com/escala-sched/escala/workload"
)

// TestTicksTellTheClock: ticks are times of the input's clock, wherever the picture begins.
func TestTicksTellTheClock(t *testing.T) {
	const minute, hour, day = workload.Minute, workload.Hour, workload.Day
	for name, tc := range map[string]struct {
		from, to, epoch workload.Time
		want            string
		first           float64
	}{
		"days from zero":   {0, 4 * day, workload.Unknown, "0s 12h 1d 1d12h 2d 2d12h 3d 3d12h 4d", 0},
		"days of a window": {5 * day, 14 * day, workload.Unknown, "day 5 day 6 day 7 day 8 day 9 day 10 day 11 day 12 day 13 day 14", 0},
		"amid a day":       {5*day + 12*hour, 14 * day, workload.Unknown, "day 6 day 7 day 8 day 9 day 10 day 11 day 12 day 13 day 14", 100 * 0.5 / 8.5},
		"hours":            {0, 12 * hour, workload.Unknown, "0 h 1 h 2 h 3 h 4 h 5 h 6 h 7 h 8 h 9 h 10 h 11 h 12 h", 0},
		"hours of a day":   {5*day + 90*minute, 6 * day, workload.Unknown, "5d3h 5d6h 5d9h 5d12h 5d15h 5d18h 5d21h 6d", 100 * 1.5 / 22.5},
		"minutes":          {30 * minute, 60 * minute, workload.Unknown, "30 min 35 min 40 min 45 min 50 min 55 min 60 min", 0},
		"later minutes":    {2*hour + 50*minute, 3*hour + 10*minute, workload.Unknown, "2h50m 2h55m 3h 3h5m 3h10m", 0},
		"seconds":          {10_000, 20_000, workload.Unknown, "10 s 11 s 12 s 13 s 14 s 15 s 16 s 17 s 18 s 19 s 20 s", 0},
		"a calendar":       {5 * day, 7 * day, 1598918400000, "6 Sep 06:00 12:00 18:00 7 Sep 06:00 12:00 18:00 8 Sep", 0},
	} {
		t.Run(name, func(t *testing.T) {
			ticks := timeTicks(tc.from, tc.to, tc.epoch)
			var labels []string
			for _, x := range ticks {
				labels = append(labels, x.Label)
			}
			if got := strings.Join(labels, " "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if d := ticks[0].Pos - tc.first; d > 1e-9 || d < -1e-9 {
				t.Errorf("the first tick lies at %v, want %v", ticks[0].Pos, tc.first)
			}
		})
	}
}
