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
	s     *State
	quiet bool
	total int
	names []string
	done  []atomic.Int64
	start time.Time
	stop  chan struct{}
	ended chan struct{}
}

// When the line first appears and how often it is drawn: a run that is over in
// a moment needs none.
const (
	progressAfter = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

func (s *State) newProgress() *progress { return &progress{s: s, quiet: !s.Stderr.TTY} }

func (p *progress) begin(total int, policies []*policy.Policy) {
	p.total, p.start = total, time.Now()
	p.done = make([]atomic.Int64, len(policies))
	for _, x := range policies {
		p.names = append(p.names, x.Name)
	}
	if p.quiet {
		return
	}
	p.stop, p.ended = make(chan struct{}), make(chan struct{})
	go p.draw()
}

func (p *progress) set(i, done int) { p.done[i].Store(int64(done)) }

// end wipes the line.
func (p *progress) end() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	<-p.ended
	p.stop = nil
}

func (p *progress) draw() {
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
	if w := p.s.Stderr.width(); w > 1 {
		if r := []rune(text); len(r) >= w {
			text = string(r[:w-1])
		}
	}
	return text
}
