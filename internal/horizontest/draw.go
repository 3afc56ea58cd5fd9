// Package horizontest draws random horizons for tests, and plans tiny ones by trying
// everything.
package horizontest

import (
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/workload"
)

// Size is the most of each that a drawn problem has.
type Size struct{ GPUs, Steps, Jobs, Apps int }

// Sizes that tests ask for. Wide rows take several words, most of them no whole number.
var (
	Tiny  = Size{GPUs: 4, Steps: 4, Jobs: 3, Apps: 1}
	Small = Size{GPUs: 16, Steps: 12, Jobs: 12, Apps: 3}
	Wide  = Size{GPUs: 200, Steps: 40, Jobs: 30, Apps: 3}
)

// Draw draws a problem that passes its check, with everything that a problem may have.
func Draw(t *rapid.T, most Size) *horizon.Problem {
	p := &horizon.Problem{Name: "drawn", StepLength: workload.Hour, GPUs: upTo(t, most.GPUs, "gpus"),
		Steps: upTo(t, most.Steps, "steps"), Decay: rapid.SampledFrom([]float64{1, 0.97, 0.5}).Draw(t, "decay")}
	if edge := rapid.SampledFrom([]int{0, 0, 0, 63, 64, 65, 128, 130}).Draw(t, "edge"); edge > 0 && edge <= most.GPUs {
		p.GPUs = edge
	}
	p.Reading = DrawReading(t)
	if rapid.IntRange(0, 2).Draw(t, "typed") == 0 {
		width := rapid.IntRange(1, 8).Draw(t, "width")
		for g := range p.GPUs {
			p.Types = append(p.Types, g/width*5%7%3)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "windows") {
		w := horizon.Window{Name: "w", First: rapid.IntRange(0, p.GPUs-1).Draw(t, "first"), From: rapid.IntRange(0, p.Steps).Draw(t, "from"),
			Absent: rapid.Bool().Draw(t, "absent")}
		w.Count = rapid.IntRange(1, p.GPUs-w.First).Draw(t, "count")
		w.To = w.From + rapid.IntRange(1, p.Steps+1).Draw(t, "for")
		p.Closed = append(p.Closed, w)
	}
	for i := range upTo(t, most.Jobs+1, "jobs") - 1 {
		drawJob(t, p, "j"+strconv.Itoa(i))
	}
	for i := range rapid.IntRange(0, most.Apps).Draw(t, "apps") {
		drawApp(t, p, "a"+strconv.Itoa(i))
	}
	return p
}

// upTo draws a number from 1 to most, as often a large one as a small one.
func upTo(t *rapid.T, most int, name string) int {
	n := rapid.IntRange(1, most).Draw(t, name)
	if rapid.Bool().Draw(t, "many") {
		return most + 1 - n
	}
	return n
}

// DrawReading draws one of the readings of the rules.
func DrawReading(t *rapid.T) horizon.Reading {
	flag := func(name string) bool { return rapid.IntRange(0, 2).Draw(t, name) == 0 }
	return horizon.Reading{Unaligned: flag("unaligned"), AnySize: flag("any size"), Complete: flag("complete"), CountSwaps: flag("count swaps")}
}

func drawJob(t *rapid.T, p *horizon.Problem, id string) {
	j := horizon.Job{ID: id, Kind: workload.KindTraining, GPUs: rapid.IntRange(1, max(1, p.GPUs/2)).Draw(t, "gpus"),
		Steps: rapid.IntRange(1, p.Steps+2).Draw(t, "steps"), Priority: int64(rapid.IntRange(0, 5).Draw(t, "priority"))}
	if rapid.IntRange(0, 2).Draw(t, "late comer") == 0 {
		j.Release = rapid.IntRange(0, p.Steps+1).Draw(t, "release")
	}
	if rapid.IntRange(0, 3).Draw(t, "whole nodes") == 0 {
		j.Slots = rapid.IntRange(1, p.GPUs).Draw(t, "slots")
	}
	if rapid.IntRange(0, 3).Draw(t, "own alignment") == 0 {
		j.Align = rapid.SampledFrom([]int{1, 2, 3, 4, 8, 96, 128}).Draw(t, "align")
	}
	if rapid.IntRange(0, 2).Draw(t, "due") == 0 {
		j.Deadline = rapid.IntRange(1, p.Steps+3).Draw(t, "deadline")
		j.Late = rapid.SampledFrom([]int{0, 500, 1000}).Draw(t, "late")
	}
	if rapid.IntRange(0, 2).Draw(t, "interruptible") == 0 {
		j.MinSteps = rapid.IntRange(1, 4).Draw(t, "min steps")
		j.Restart = rapid.IntRange(0, 2).Draw(t, "restart")
	}
	if len(p.Types) > 0 && rapid.Bool().Draw(t, "typed") {
		j.Types = rapid.Uint64Range(1, 7).Draw(t, "types")
	}
	p.Jobs = append(p.Jobs, j)
	if p.Check() != nil { // its block is larger than the row
		p.Jobs = p.Jobs[:len(p.Jobs)-1]
		return
	}
	if rapid.IntRange(0, 3).Draw(t, "runs") == 0 {
		drawRunning(t, p, &p.Jobs[len(p.Jobs)-1])
	}
}

// drawRunning makes the job one that runs, where that leaves the problem legal.
func drawRunning(t *rapid.T, p *horizon.Problem, j *horizon.Job) {
	size, align := p.Reading.Block(j)
	r := &horizon.Running{Foreign: rapid.Bool().Draw(t, "foreign"), Elapsed: rapid.IntRange(0, 4).Draw(t, "elapsed")}
	if r.Foreign {
		align = 1
	}
	r.Offset = align * rapid.IntRange(0, (p.GPUs-size)/align).Draw(t, "block")
	release := j.Release
	j.Running, j.Release = r, 0
	if p.Check() != nil {
		j.Running, j.Release = nil, release
	}
}

func drawApp(t *rapid.T, p *horizon.Problem, id string) {
	a := horizon.App{ID: id, Penalty: int64(rapid.IntRange(0, 30).Draw(t, "penalty")),
		SwapCap: rapid.SampledFrom([]int{0, 1, 1, 2, 2, 3, p.GPUs, 2 * p.GPUs}).Draw(t, "swap cap"),
		Used:    rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "used")}
	base := rapid.IntRange(0, (p.GPUs+1)/2).Draw(t, "base")
	now := rapid.IntRange(0, base).Draw(t, "now")
	below, above := rapid.IntRange(0, 3).Draw(t, "below"), rapid.IntRange(0, 2).Draw(t, "above")
	for range p.Steps {
		base = min(max(0, base+rapid.IntRange(-1, 1).Draw(t, "trend")), p.GPUs)
		a.Demand = append(a.Demand, base)
		a.Min = append(a.Min, max(0, base-below))
		a.Max = append(a.Max, min(p.GPUs, base+above))
	}
	if len(p.Types) > 0 && rapid.Bool().Draw(t, "typed") {
		a.Types = rapid.Uint64Range(1, 7).Draw(t, "types")
	}
	taken := holders(p)
	for len(a.Current) < now && len(taken) < p.GPUs {
		g := rapid.IntRange(0, p.GPUs-1).Draw(t, "holds")
		for taken[g] {
			g = (g + 1) % p.GPUs
		}
		taken[g] = true
		a.Current = append(a.Current, g)
	}
	p.Apps = append(p.Apps, a)
	if p.Check() == nil {
		return
	}
	last := &p.Apps[len(p.Apps)-1]
	for s := range last.Min {
		last.Min[s], last.Max[s] = 0, p.GPUs
	}
	if p.Check() != nil {
		p.Apps = p.Apps[:len(p.Apps)-1]
	}
}

// holders are the slots that somebody holds before step 0.
func holders(p *horizon.Problem) map[int]bool {
	taken := map[int]bool{}
	for i := range p.Jobs {
		if r := p.Jobs[i].Running; r != nil {
			size, _ := p.Reading.Block(&p.Jobs[i])
			for g := r.Offset; g < r.Offset+size; g++ {
				taken[g] = true
			}
		}
	}
	for i := range p.Apps {
		for _, g := range p.Apps[i].Current {
			taken[g] = true
		}
	}
	return taken
}

// DrawSqueezed draws a problem of real-time work alone whose GPUs are closed one by one, now and
// then, so that it has to move.
func DrawSqueezed(t *rapid.T, most Size) *horizon.Problem {
	p := &horizon.Problem{Name: "squeezed", StepLength: workload.Hour, GPUs: upTo(t, most.GPUs, "gpus"), Steps: upTo(t, most.Steps, "steps"), Decay: 1}
	p.Reading.CountSwaps = rapid.IntRange(0, 3).Draw(t, "count swaps") == 0
	for range rapid.IntRange(0, 2*p.GPUs).Draw(t, "windows") {
		from := rapid.IntRange(0, p.Steps-1).Draw(t, "from")
		p.Closed = append(p.Closed, horizon.Window{Name: "w", First: rapid.IntRange(0, p.GPUs-1).Draw(t, "slot"), Count: 1, From: from,
			To: from + rapid.IntRange(1, 3).Draw(t, "for")})
	}
	for i := range rapid.IntRange(1, most.Apps).Draw(t, "apps") {
		drawApp(t, p, "a"+strconv.Itoa(i))
	}
	return p
}

// Text is a problem in few lines, for failures.
func Text(p *horizon.Problem) string {
	b := fmt.Sprintf("%d GPUs %d steps decay %v %+v types %v\n", p.GPUs, p.Steps, p.Decay, p.Reading, p.Types)
	for _, w := range p.Closed {
		b += fmt.Sprintf("%+v\n", w)
	}
	for _, j := range p.Jobs {
		running := "waits"
		if j.Running != nil {
			running = fmt.Sprintf("%+v", *j.Running)
		}
		j.Running = nil
		b += fmt.Sprintf("%+v %s\n", j, running)
	}
	for _, a := range p.Apps {
		b += fmt.Sprintf("%+v\n", a)
	}
	return b
}
