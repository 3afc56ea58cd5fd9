package cli

import "time"

// statusLine is one line on a terminal that is drawn anew while something long goes on.
// Where nobody watches it does nothing.
type statusLine struct {
	s *State
	// text says what is going on, so long after the beginning.
	text  func(elapsed time.Duration) string
	start time.Time
	stop  chan struct{}
	ended chan struct{}
}

// When the line first appears and how often it is drawn: what is over in a moment
// needs none.
const (
	progressAfter = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

func (l *statusLine) begin() {
	if !l.s.Stderr.TTY {
		return
	}
	l.start = time.Now()
	l.stop, l.ended = make(chan struct{}), make(chan struct{})
	go l.draw()
}

// end wipes the line.
func (l *statusLine) end() {
	if l.stop == nil {
		return
	}
	close(l.stop)
	<-l.ended
	l.stop = nil
}

func (l *statusLine) draw() {
	defer close(l.ended)
	wait, drawn := progressAfter, false
	for {
		select {
		case <-l.stop:
			if drawn {
				l.s.say("\r\x1b[K")
			}
			return
		case <-time.After(wait):
			l.s.say("\r\x1b[K%s", l.text(time.Since(l.start)))
			wait, drawn = progressEvery, true
		}
	}
}

// fit cuts a text so that it stays on one line.
func (l *statusLine) fit(text string) string {
	if w := l.s.Stderr.width(); w > 1 {
		if r := []rune(text); len(r) >= w {
			return string(r[:w-1])
		}
	}
	return text
}
