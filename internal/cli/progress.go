package cli

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/escala-sched/escala/policy"
)

// progress is one line on a terminal that tells how far the runs are. Where
// nobody watches it does nothing.
type progress struct {
	statusLine
	total int
	names []string
	done  []atomic.Int64
}

func (s *State) newProgress() *progress {
	p := &progress{}
	p.statusLine = statusLine{s: s, text: p.line}
	return p
}

func (p *progress) begin(total int, policies []*policy.Policy) {
	p.total = total
	p.done = make([]atomic.Int64, len(policies))
	for _, x := range policies {
		p.names = append(p.names, x.Name)
	}
	p.statusLine.begin()
}

func (p *progress) set(i, done int) { p.done[i].Store(int64(done)) }

// line says which policies run, how much of the whole is done, how fast, and how
// long it may still take.
func (p *progress) line(elapsed time.Duration) string {
	var sum int64
	var now []string
	finished := 0
	for i := range p.done {
		n := p.done[i].Load()
		sum += n
		switch {
		case n >= int64(p.total):
			finished++
		case n > 0:
			now = append(now, p.names[i])
		}
	}
	all := int64(p.total) * int64(len(p.done))
	rate := float64(sum) / elapsed.Seconds()
	text := fmt.Sprintf("%s  %d %%  %s jobs/s", strings.Join(now, ", "), 100*sum/max(all, 1), grouped(int64(rate)))
	if len(p.done) > 1 {
		text = fmt.Sprintf("[%d/%d] ", finished, len(p.done)) + text
	}
	if sum > 0 {
		left := time.Duration(float64(all-sum) / rate * float64(time.Second))
		text += "  " + left.Round(time.Second).String() + " left"
	}
	return p.fit(text)
}
