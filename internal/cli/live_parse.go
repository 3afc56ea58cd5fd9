package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/yamlx"
)

// maxArray is how many jobs an array may have.
const maxArray = 10_000

// parseArray reads the indices of an array and how many of its jobs may run at once, 0 = all:
// "0-99%10", "0-99:5", "1,3,7-9".
func parseArray(text string) (indices []int32, throttle int, err error) {
	list, at, limited := strings.Cut(text, "%")
	if limited {
		if throttle, err = strconv.Atoi(at); err != nil || throttle < 1 || throttle > maxArray {
			return nil, 0, fmt.Errorf("%q: want the number of jobs at once after %%, as in 0-99%%10", at)
		}
	}
	seen := map[int32]bool{}
	for _, part := range strings.Split(list, ",") {
		lo, hi, step, err := parseRange(part)
		if err != nil {
			return nil, 0, err
		}
		for i := int64(lo); i <= int64(hi); i += int64(step) {
			if seen[int32(i)] {
				return nil, 0, fmt.Errorf("index %d comes twice", i)
			}
			if len(indices) == maxArray {
				return nil, 0, fmt.Errorf("more than %s indices", grouped(maxArray))
			}
			seen[int32(i)] = true
			indices = append(indices, int32(i))
		}
	}
	return indices, throttle, nil
}

// parseRange reads "7", "0-99" or "0-99:5".
func parseRange(text string) (lo, hi, step int32, err error) {
	bad := func() (int32, int32, int32, error) {
		return 0, 0, 0, fmt.Errorf("%q is no range of indices; want 7, 0-99 or 0-99:5", text)
	}
	span, by, stepped := strings.Cut(text, ":")
	first, last, ranged := strings.Cut(span, "-")
	if !ranged {
		last = first
	}
	step = 1
	for _, n := range []struct {
		text string
		to   *int32
		want bool
	}{{first, &lo, true}, {last, &hi, true}, {by, &step, stepped}} {
		if !n.want {
			continue
		}
		v, err := strconv.ParseUint(n.text, 10, 31)
		if err != nil {
			return bad()
		}
		*n.to = int32(v)
	}
	if hi < lo || step < 1 || stepped && !ranged {
		return bad()
	}
	return lo, hi, step, nil
}

// parseAfter reads what a job waits for: "12", "12:ok,15_3:not-ok".
func parseAfter(text string) ([]api.After, error) {
	var out []api.After
	for _, part := range strings.Split(text, ",") {
		job, when, named := strings.Cut(part, ":")
		if strings.TrimSpace(job) == "" || len(job) > 64 {
			return nil, fmt.Errorf("%q names no job; want JOB, JOB:ok, JOB:any or JOB:not-ok", part)
		}
		switch {
		case !named:
			when = "any"
		case when != "ok" && when != "any" && when != "not-ok":
			return nil, fmt.Errorf("%q: %s", part, yamlx.Choice(when, []string{"ok", "any", "not-ok"}))
		}
		out = append(out, api.After{Job: job, When: when})
	}
	return out, nil
}

// parseMemory reads an amount of memory in MiB: "16G", "512MiB", "1.5T".
func parseMemory(text string) (int64, error) {
	bad := errors.New("want a size with its unit, such as 512M, 16G or 1.5T")
	num := strings.TrimRight(text, "BbIi")
	if num == "" {
		return 0, bad
	}
	unit := map[byte]float64{'M': 1, 'm': 1, 'G': 1 << 10, 'g': 1 << 10, 'T': 1 << 20, 't': 1 << 20}[num[len(num)-1]]
	v, err := parseNumber(num[:len(num)-1])
	if unit == 0 || err != nil || v*unit > 1e12 {
		return 0, bad
	}
	return int64(math.Ceil(v * unit)), nil
}

// parseMilli reads a number, or where wanted a part such as "50%", in thousandths.
func parseMilli(text string, most float64) (int64, error) {
	unit := 1000.0
	if p, ok := strings.CutSuffix(text, "%"); ok {
		text, unit = p, 10
	}
	v, err := parseNumber(text)
	if n := v * unit; err == nil && n <= most*1000 && math.Abs(n-math.Round(n)) < 1e-6 {
		return int64(math.Round(n)), nil
	}
	return 0, fmt.Errorf("want a number of at most %s with at most three decimals", trimNumber(most, 0))
}

// parseNumber reads a number of 0 or more in digits.
func parseNumber(text string) (float64, error) {
	if text == "" || strings.Trim(text, "0123456789.") != "" {
		return 0, errors.New("want a number")
	}
	return strconv.ParseFloat(text, 64)
}

var momentLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

// parseWhen reads a time to come: "14:35" (the next one), "+2h", "2026-12-01T08:00", RFC 3339.
func (c wallClock) parseWhen(text string) (time.Time, error) {
	if after, ok := strings.CutPrefix(text, "+"); ok {
		d, err := yamlx.ParseDuration(after)
		if err != nil || int64(d) > math.MaxInt64/int64(time.Millisecond) {
			return time.Time{}, fmt.Errorf("%q: want a duration after +, as in +2h", text)
		}
		return c.now.Add(time.Duration(d) * time.Millisecond), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, c.loc); err == nil {
			now := c.now.In(c.loc)
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, c.loc)
			if at.Before(now) {
				at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), t.Second(), 0, c.loc)
			}
			return at, nil
		}
	}
	for _, layout := range momentLayouts {
		if t, err := time.ParseInLocation(layout, text, c.loc); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q: want a time such as 14:35, +2h or 2026-12-01T08:00", text)
}

// splitWords cuts a line into words as a shell does, with quotes and backslashes; nothing is
// expanded. A # begins a comment.
func splitWords(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\r':
			if inWord {
				out = append(out, word.String())
				word.Reset()
			}
			inWord = false
		case r == '#' && !inWord:
			return out, nil
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		out = append(out, word.String())
	}
	return out, nil
}
