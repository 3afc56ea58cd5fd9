package horizon_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/scenario"
)

// Real-time work makes room as early as its swaps ask for: it takes nothing in place of what
// it gives up where nothing is left to take, and holds less than its demand for a while where
// that lets a job run that is worth more.
func TestRealTimeWorkMakesRoomInTime(t *testing.T) {
	for name, least := range map[string]float64{
		"whole-row":       36.31, // a job of all GPUs: there is nothing to move to
		"one-of-each":     129.44,
		"early":           201.71, // proven; held 4, 2, 0
		"below":           156.67, // proven
		"below-with-room": 156.67, // the same with a higher maximum, which only relaxes the rules
	} {
		f, err := os.Open(filepath.Join("testdata", "moves", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := scenario.Read(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err := horizon.Fast(p, horizon.Options{NoBound: true})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Score.Objective < least {
			t.Errorf("%s: objective %.3f; a plan of %.2f is known", name, r.Score.Objective, least)
		}
	}
}
