package horizontest

import (
	"math"

	"github.com/escala-sched/escala/horizon"
)

// Optimum plans a tiny problem (at most 8 GPUs, very few jobs) by trying everything, and
// returns the objective of the best plan, false if there is no legal one. It follows the words
// of the rules and shares nothing with the planner.
func Optimum(p *horizon.Problem) (float64, bool) {
	b := &brute{p: p, shut: make([]uint8, p.Steps), busy: make([]uint8, p.Steps), best: math.Inf(-1), costs: map[string]float64{}}
	for _, w := range p.Closed {
		for t := w.From; t < min(w.To, p.Steps); t++ {
			b.shut[t] |= block(w.First, w.Count)
		}
	}
	b.job(0, 0)
	return b.best, !math.IsInf(b.best, -1)
}

// Layouts tells whether real-time work has a legal layout beside what has to run.
func Layouts(p *horizon.Problem) bool {
	q := *p
	q.Jobs = nil
	for _, j := range p.Jobs {
		if j.Running == nil {
			continue
		}
		if j.MinSteps > 0 { // for as long as it is protected
			j.Steps, j.MinSteps = min(j.Steps, j.MinSteps-j.Running.Elapsed), 0
		}
		if j.Steps > 0 {
			q.Jobs = append(q.Jobs, j)
		}
	}
	q.Reading.Complete = false
	_, ok := Optimum(&q)
	return ok
}

type brute struct {
	p     *horizon.Problem
	shut  []uint8 // closed slots, by step
	busy  []uint8 // slots of jobs, by step
	best  float64
	costs map[string]float64 // of real-time work beside busy slots
}

func block(first, n int) uint8 { return uint8(1<<n-1) << first }

// worth of a GPU-step of priority 1.
func (b *brute) worth(t int) float64 { return math.Pow(b.p.Decay, float64(t)) }

// free tells whether a block is free from a step to the end of a stretch or of the horizon.
func (b *brute) free(m uint8, from, to int, evenShut bool) bool {
	for t := from; t < min(to, b.p.Steps); t++ {
		if b.busy[t]&m != 0 || b.shut[t]&m != 0 && !evenShut {
			return false
		}
	}
	return true
}

func (b *brute) flip(m uint8, from, to int) {
	for t := from; t < min(to, b.p.Steps); t++ {
		b.busy[t] ^= m
	}
}

// job tries all there is to do with job i and those after it, beside those before it.
func (b *brute) job(i int, value float64) {
	if i == len(b.p.Jobs) {
		if value > b.best {
			if cost := b.apps(); value-cost > b.best {
				b.best = value - cost
			}
		}
		return
	}
	j := &b.p.Jobs[i]
	r := j.Running
	switch {
	case r != nil && j.MinSteps == 0:
		b.whole(i, value, 0, r.Offset, r.Foreign)
	case r != nil:
		b.begun(i, value)
	case j.MinSteps > 0:
		b.pieces(i, value, piece{t: j.Release, left: j.Steps})
	default:
		b.job(i+1, value)
		for t := j.Release; t < b.p.Steps; t++ {
			if b.p.Reading.Complete && t+j.Steps > b.p.Steps {
				break
			}
			for _, o := range b.offsets(j) {
				b.whole(i, value, t, o, false)
			}
		}
	}
}

// whole puts job i on a block from a step on, to its end.
func (b *brute) whole(i int, value float64, t, offset int, evenShut bool) {
	j := &b.p.Jobs[i]
	m := block(offset, b.size(j))
	if !b.free(m, t, t+j.Steps, evenShut) {
		return
	}
	b.flip(m, t, t+j.Steps)
	b.job(i+1, value+b.inTime(j, b.sum(j, t, t+j.Steps), t+j.Steps))
	b.flip(m, t, t+j.Steps)
}

// begun tries how long an interruptible job that runs stays where it is.
func (b *brute) begun(i int, value float64) {
	j := &b.p.Jobs[i]
	r := j.Running
	m := block(r.Offset, b.size(j))
	kept := min(j.Steps, max(0, j.MinSteps-r.Elapsed))
	for n := 0; n <= j.Steps; n++ {
		if n < kept || n > max(kept, b.p.Steps) && n < j.Steps { // past the horizon, only all or nothing matters
			continue
		}
		if b.p.Reading.Complete && n > max(kept, b.p.Steps) {
			continue
		}
		if !b.free(m, 0, min(n, kept), r.Foreign) || !b.free(m, kept, n, false) {
			return
		}
		b.flip(m, 0, n)
		b.pieces(i, value, piece{t: n, left: j.Steps - n, end: n, sum: b.sum(j, 0, n), restart: j.Restart})
		b.flip(m, 0, n)
	}
}

// piece is how far an interruptible job has come.
type piece struct {
	t, left, end, restart int
	sum                   float64
}

// pieces tries all that an interruptible job could do from step x.t on.
func (b *brute) pieces(i int, value float64, x piece) {
	p, j := b.p, &b.p.Jobs[i]
	end := x.end
	if x.left > 0 {
		end = max(end, p.Steps) + x.left
	}
	b.job(i+1, value+b.inTime(j, x.sum, end))
	if x.left == 0 {
		return
	}
	for t := x.t; t < p.Steps; t++ {
		for _, o := range b.offsets(j) {
			for n := x.restart + 1; n <= x.left+x.restart; n++ {
				m := block(o, b.size(j))
				if !b.free(m, t, t+n, false) || p.Reading.Complete && t+n > p.Steps {
					break
				}
				ends := n == x.left+x.restart
				if t+n > p.Steps && !ends { // past the horizon, only all matters
					continue
				}
				if n < j.MinSteps && !ends && (t+n < p.Steps || p.Reading.Complete) {
					continue
				}
				b.flip(m, t, t+n)
				b.pieces(i, value, piece{t: t + n, left: x.left + x.restart - n, end: t + n, restart: j.Restart, sum: x.sum + b.sum(j, t+x.restart, t+n)})
				b.flip(m, t, t+n)
			}
		}
	}
}

func (b *brute) sum(j *horizon.Job, from, to int) float64 {
	v := 0.0
	for t := from; t < min(to, b.p.Steps); t++ {
		v += float64(j.Priority) * float64(j.GPUs) * b.worth(t)
	}
	return v
}

func (b *brute) inTime(j *horizon.Job, v float64, end int) float64 {
	if j.Deadline > 0 && end > j.Deadline {
		return v * float64(j.Late) / 1000
	}
	return v
}

func (b *brute) size(j *horizon.Job) int {
	n := max(j.GPUs, j.Slots)
	if b.p.Reading.AnySize {
		return n
	}
	return int(math.Pow(2, math.Ceil(math.Log2(float64(n)))))
}

// offsets are the first slots at which blocks of the job may lie.
func (b *brute) offsets(j *horizon.Job) []int {
	size := b.size(j)
	step := size
	if power := math.Log2(float64(size)); b.p.Reading.Unaligned || power != math.Floor(power) {
		step = 1
	}
	if j.Align > 0 {
		step = j.Align
	}
	var list []int
next:
	for o := 0; o+size <= b.p.GPUs; o += step {
		for g := o; g < o+size && j.Types > 0; g++ {
			if t := b.p.Types[g]; j.Types&(1<<t) == 0 || t != b.p.Types[o] {
				continue next
			}
		}
		list = append(list, o)
	}
	return list
}

// apps is the least that unmet demand costs beside the jobs where they are, infinity if
// there is no legal layout.
func (b *brute) apps() float64 {
	if len(b.p.Apps) == 0 {
		return 0
	}
	key := string(b.busy)
	if c, ok := b.costs[key]; ok {
		return c
	}
	now := map[string]float64{} // what all hold, to the least cost so far
	held := make([]byte, len(b.p.Apps))
	for a := range b.p.Apps {
		for _, g := range b.p.Apps[a].Current {
			held[a] |= 1 << g
		}
	}
	now[string(held)] = 0
	for t := range b.p.Steps {
		next := map[string]float64{}
		for from, cost := range now {
			b.holdings(t, 0, from, nil, cost, next)
		}
		now = next
	}
	least := math.Inf(1)
	for _, c := range now {
		least = min(least, c)
	}
	b.costs[key] = least
	return least
}

// holdings notes all that applications a and after may hold in step t.
func (b *brute) holdings(t, a int, from string, to []byte, cost float64, next map[string]float64) {
	if a == len(b.p.Apps) {
		if c, ok := next[string(to)]; !ok || cost < c {
			next[string(to)] = cost
		}
		return
	}
	app := &b.p.Apps[a]
	open := block(0, b.p.GPUs) &^ b.busy[t] &^ b.shut[t]
	for _, held := range to {
		open &^= held
	}
	for g, kind := range b.p.Types {
		if app.Types != 0 && app.Types&(1<<kind) == 0 {
			open &^= 1 << g
		}
	}
	for set := open; ; set = (set - 1) & open {
		if n := count(set); n >= app.Min[t] && n <= app.Max[t] && b.swaps(from[a], set) <= b.cap(app, t) {
			b.holdings(t, a+1, from, append(to, set), cost+float64(app.Penalty)*float64(max(0, app.Demand[t]-n)), next)
		}
		if set == 0 {
			return
		}
	}
}

func (b *brute) cap(a *horizon.App, t int) int {
	if t == 0 {
		return max(0, a.SwapCap-a.Used)
	}
	return a.SwapCap
}

func (b *brute) swaps(from, to uint8) int {
	if b.p.Reading.CountSwaps {
		return max(count(from)-count(to), count(to)-count(from))
	}
	return count(from ^ to)
}

func count(set uint8) int {
	n := 0
	for ; set > 0; set >>= 1 {
		n += int(set & 1)
	}
	return n
}
