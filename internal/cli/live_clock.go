package cli

import (
	"fmt"
	"regexp"
	"time"

	"github.com/escala-sched/escala/internal/api"
)

// wallClock writes times as people here read them.
type wallClock struct {
	now time.Time
	loc *time.Location
}

// wall is the present, in the time zone of the caller.
func (s *State) wall() wallClock {
	c := wallClock{now: time.Now(), loc: time.Local}
	if s.Now != nil {
		c.now = s.Now()
	}
	if s.Zone != nil {
		c.loc = s.Zone
	}
	return c
}

// text is a time of the day, with its date where that is not plain.
func (c wallClock) text(t time.Time) string {
	t, now := t.In(c.loc), c.now.In(c.loc)
	away := t.Sub(now).Abs()
	switch {
	case away < 12*time.Hour || t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case away < 6*24*time.Hour:
		return t.Format("Mon 15:04")
	case away < 300*24*time.Hour:
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}

// when is a time, relative where it is near.
func (c wallClock) when(t time.Time) string {
	switch d := t.Sub(c.now); {
	case d >= time.Hour || d <= -time.Hour:
		return c.text(t)
	case d >= 0:
		return "in " + spanOf(d)
	default:
		return spanOf(-d) + " ago"
	}
}

// spanOf is a length of time, in one or two units.
func spanOf(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	case d < 48*time.Hour:
		if m := int(d / time.Minute % 60); m > 0 {
			return fmt.Sprintf("%d h %d min", int(d/time.Hour), m)
		}
		return fmt.Sprintf("%d h", int(d/time.Hour))
	}
	if h := int(d / time.Hour % 24); h > 0 {
		return fmt.Sprintf("%d d %d h", int(d/(24*time.Hour)), h)
	}
	return fmt.Sprintf("%d d", int(d/(24*time.Hour)))
}

// seconds is a number of seconds as a length of time.
func secondsText(n int64) string { return spanOf(time.Duration(n) * time.Second) }

// starts is when a waiting job is expected to start, "" where nothing is known.
func (c wallClock) starts(w *api.Waiting) string {
	switch {
	case w == nil:
		return ""
	case w.Promised != nil && w.Promised.Before(c.now):
		return "was promised for " + c.text(*w.Promised)
	case w.Promised != nil:
		return "promised for " + c.text(*w.Promised)
	case w.P50 != nil:
		text := c.soon(*w.P50)
		if w.Few { // how far its other end is off is anybody's guess
			if text == "any moment" {
				return text + " (few data)"
			}
			return "~" + text + " (few data)"
		}
		if w.P90 == nil {
			return text + " at 50 %"
		}
		if w.P90.Sub(*w.P50) < 30*time.Second || w.P90.Before(c.now) || c.text(*w.P90) == text {
			return text
		}
		return text + ", by " + c.text(*w.P90) + " at 90 %"
	case w.Futures > 0:
		return "too far off to say"
	}
	return ""
}

// soon is when something is expected: what should have been is so any moment.
func (c wallClock) soon(t time.Time) string {
	if t.Sub(c.now) < 5*time.Second {
		return "any moment"
	}
	return c.when(t)
}

var utcTimes = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`)

// local writes the times in a sentence of the daemon, which are in UTC, as people here read them.
func (c wallClock) local(text string) string {
	return utcTimes.ReplaceAllStringFunc(text, func(s string) string {
		t, err := time.Parse("2006-01-02 15:04:05Z", s)
		if err != nil {
			return s
		}
		if d := t.Sub(c.now).Abs(); d < time.Hour {
			return t.In(c.loc).Format("15:04:05")
		}
		return c.text(t)
	})
}
