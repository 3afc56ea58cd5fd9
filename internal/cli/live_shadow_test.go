package cli

import (
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/metrics"
)

func TestParsePast(t *testing.T) {
	at := func(text string) time.Time {
		got, err := noon.parsePast(text)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	day := noon.now.In(noon.loc)
	clock := func(d, h, m int) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day()+d, h, m, 0, 0, noon.loc)
	}
	for text, want := range map[string]time.Time{"now": noon.now, "10m": noon.now.Add(-10 * time.Minute), "11:30": clock(0, 11, 30), "23:00": clock(-1, 23, 0), "2026-11-30T08:15": time.Date(2026, 11, 30, 8, 15, 0, 0, noon.loc)} {
		if got := at(text); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "soon", "+2h", "25:00"} {
		if got, err := noon.parsePast(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestShadowReport(t *testing.T) {
	real := noon.now.Add(-2 * time.Hour)
	r := &api.Shadow{Policy: "contract", From: noon.now.Add(-7 * 24 * time.Hour), To: noon.now,
		Wait:      api.ShadowWaits{Real: metrics.Dist{P50: 720, P90: 13200, Mean: 4200, Bounds: metrics.Bounded{P90: true}}, Shadow: metrics.Dist{P50: 120, P90: 3900, Mean: 1320}},
		Occupancy: api.ShadowPair{Real: 0.781, Shadow: 0.814}, GPUHours: api.ShadowPair{Real: 100.25, Shadow: 90},
		Teams: []api.ShadowTeam{{Team: "vision", Jobs: 3, Saved: 7200, RealWait: 3600, ShadowWait: 1200, GPUHours: api.ShadowPair{Real: 12.5, Shadow: 12}}, {Team: "speech", Jobs: 1, Saved: -60}},
		List:  []api.ShadowJob{{ID: "12", Name: "train", User: "ana", Team: "vision", GPUs: 8, Submitted: noon.now.Add(-3 * time.Hour), Real: &real, Saved: -3600, Stops: 2, Guess: true}}}
	golden(t, "shadow.txt", shadowFigures(r).text(80, false)+"\n"+shadowTeams(r.Teams).text(100, false)+"\n"+shadowJobs(r.List, noon).text(140, false))
}
