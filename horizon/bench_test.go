package horizon_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/scenario"
)

// middling is scenario 7 where the scenarios are here, else one of its size.
func middling() *horizon.Problem {
	f, err := os.Open(filepath.Join("..", "..", "shared", "scenarios", "7-scale-64.json"))
	if err != nil {
		return crowd(64, 24, 30)
	}
	defer f.Close()
	p, err := scenario.Read(f)
	if err != nil {
		panic(err)
	}
	return p
}

// everything gives a problem all that a problem may have, in a way that changes no plan.
func everything(p *horizon.Problem) *horizon.Problem {
	p.Types = make([]int, p.GPUs)
	p.Closed = append(p.Closed, horizon.Window{Count: 1, From: p.Steps, To: p.Steps + 1})
	for i := range p.Jobs {
		j := &p.Jobs[i]
		j.Slots, j.Align = p.Reading.Block(j)
		j.Types, j.Deadline, j.Late = 1, 1000, 500
	}
	for i := range p.Apps {
		p.Apps[i].Types = 1
	}
	return p
}

// BenchmarkFast makes 200 decodes on 64 GPUs with 30 jobs: as a scenario has them, with every
// feature there and unused, and with more work than room.
func BenchmarkFast(b *testing.B) {
	for _, c := range []struct {
		name string
		p    *horizon.Problem
	}{{"plain", middling()}, {"everything", everything(middling())}, {"crowded", crowd(64, 24, 30)}, {"crowded-everything", everything(crowd(64, 24, 30))}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := horizon.Fast(c.p, horizon.Options{Work: 200, NoBound: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecode makes one grid of a large problem.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name string
		p    *horizon.Problem
	}{{"64x24x30", crowd(64, 24, 30)}, {"1024x96x2000", crowd(1024, 96, 2000)}, {"1024x96x2000-everything", everything(crowd(1024, 96, 2000))}} {
		b.Run(c.name, func(b *testing.B) {
			decode := horizon.Decoding(c.p)
			for range 36 {
				decode()
			}
			b.ReportAllocs()
			for b.Loop() {
				decode()
			}
		})
	}
}

// BenchmarkBound is 400 rounds, as fast mode makes them.
func BenchmarkBound(b *testing.B) {
	for _, c := range []struct {
		name string
		p    *horizon.Problem
	}{{"64x24x30", crowd(64, 24, 30)}, {"1024x96x2000", crowd(1024, 96, 2000)}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := horizon.NewSearch(c.p, 0)
			if err != nil {
				b.Fatal(err)
			}
			target := s.Plan().Score().Objective
			b.ReportAllocs()
			for b.Loop() {
				horizon.Bound(c.p, target, 400)
			}
		})
	}
}

// BenchmarkNewSearch is what a plan costs before the second decode.
func BenchmarkNewSearch(b *testing.B) {
	for _, c := range []struct {
		name string
		p    *horizon.Problem
	}{{"64x24x30", crowd(64, 24, 30)}, {"1024x96x2000", crowd(1024, 96, 2000)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := horizon.NewSearch(c.p, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
