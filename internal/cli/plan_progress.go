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
	statusLine
	f      *planFlags
	budget time.Duration

	mu   sync.Mutex
	last exact.Progress // what the full mode told
}

func (s *State) newPlanProgress(f *planFlags) *planProgress {
	p := &planProgress{f: f, budget: time.Duration(f.budget) * time.Millisecond}
	p.statusLine = statusLine{s: s, text: p.line}
	if p.budget == 0 && f.mode == modeFull {
		p.budget = exact.DefaultBudget
	}
	return p
}

// told takes news of the full mode.
func (p *planProgress) told(news exact.Progress) {
	p.mu.Lock()
	p.last = news
	p.mu.Unlock()
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
	return p.fit(text)
}
