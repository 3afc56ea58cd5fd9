package cli

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/escala-sched/escala/internal/exact"
	"github.com/escala-sched/escala/workload"
)

// planProgress is one line on a terminal that tells how far a search is. Where nobody
// watches it does nothing.
type planProgress struct {
	s      *State
	f      *planFlags
	budget time.Duration
	start  time.Time
	stop   chan struct{}
	ended  chan struct{}

	mu   sync.Mutex
	last exact.Progress // what the full mode told
}

func (s *State) newPlanProgress(f *planFlags) *planProgress {
	p := &planProgress{s: s, f: f, budget: time.Duration(f.budget) * time.Millisecond}
	if p.budget == 0 && f.mode == modeFull {
		p.budget = exact.DefaultBudget
	}
	return p
}

func (p *planProgress) begin() {
	if !p.s.Stderr.TTY {
		return
	}
	p.start = time.Now()
	p.stop, p.ended = make(chan struct{}), make(chan struct{})
	go p.draw()
}

// end wipes the line.
func (p *planProgress) end() {
	if p.stop != nil {
		close(p.stop)
		<-p.ended
	}
}

// told takes news of the full mode.
func (p *planProgress) told(news exact.Progress) {
	p.mu.Lock()
	p.last = news
	p.mu.Unlock()
}

func (p *planProgress) draw() {
	defer close(p.ended)
	wait, drawn := progressAfter, false
	for {
		select {
		case <-p.stop:
			if drawn {
				p.s.say("\r\x1b[K")
			}
			return
		case <-time.After(wait):
			p.s.say("\r\x1b[K%s", p.line(time.Since(p.start)))
			wait, drawn = progressEvery, true
		}
	}
}

// line says what is being done, how much of it is behind, and what is known.
func (p *planProgress) line(elapsed time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := "searching"
	switch {
	case p.last.Doing != "":
		text = p.last.Doing
	case p.f.work > 0:
		text += ", " + plural(p.f.work, "attempt")
	}
	text += "  " + elapsed.Truncate(time.Second).String()
	if p.budget > 0 {
		text += " of " + spanText(workload.Span(p.budget/time.Millisecond))
	}
	if p.last.Doing != "" && !math.IsInf(p.last.Objective, 0) {
		text += fmt.Sprintf("  objective %.1f", p.last.Objective)
		if !math.IsInf(p.last.Bound, 0) {
			text += fmt.Sprintf(", at most %.1f", p.last.Bound)
		}
	}
	text += "  (Ctrl-C takes the best)"
	if w := p.s.Stderr.width(); w > 1 {
		if r := []rune(text); len(r) >= w {
			text = string(r[:w-1])
		}
	}
	return text
}
