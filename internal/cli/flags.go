package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// choice is an option that takes one of a few words.
type choice struct {
	to    *string
	words []string
}

// newChoice sets the first word as the default.
func newChoice(to *string, words ...string) *choice {
	*to = words[0]
	return &choice{to: to, words: words}
}

func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return errors.New(yamlx.Choice(s, slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return w == "" })))
	}
	*c.to = s
	return nil
}

func (c *choice) String() string { return *c.to }

func (c *choice) Type() string { return "word" }

// span is an option that takes a length of time.
type span struct{ to *workload.Span }

func (d span) Set(s string) error {
	if s == "0" {
		*d.to = 0
		return nil
	}
	v, err := yamlx.ParseDuration(s)
	if err != nil {
		return errors.New("want a duration such as 90s, 15m, 8h or 1h30m")
	}
	*d.to = workload.Span(v)
	return nil
}

// String writes no length as "0", which help leaves out.
func (d span) String() string {
	if *d.to == 0 {
		return "0"
	}
	return spanText(*d.to)
}

func (d span) Type() string { return "duration" }

func spanText(d workload.Span) string { return yamlx.Duration(d).String() }

// checkpoint is the option that says what stopped work keeps, in the terms of
// sim.Assumptions: 0 = all of it, < 0 = none, > 0 = up to the last checkpoint.
type checkpoint struct{ to *workload.Span }

func (c checkpoint) Set(s string) error {
	switch s {
	case "on-stop":
		*c.to = 0
		return nil
	case "never":
		*c.to = -1
		return nil
	}
	v, err := yamlx.ParseDuration(s)
	if err != nil || v == 0 {
		return errors.New("want on-stop, never, or a duration such as 30m")
	}
	*c.to = workload.Span(v)
	return nil
}

func (c checkpoint) String() string {
	switch {
	case *c.to == 0:
		return "on-stop"
	case *c.to < 0:
		return "never"
	}
	return spanText(*c.to)
}

func (c checkpoint) Type() string { return "when" }

// words completes an option with fixed words.
func words(list ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(int64(n)) + " " + noun + "s"
}

// grouped writes a whole number with commas.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return sign + strings.Join(append([]string{s}, parts...), ",")
}

// quoteArgs writes a command line so that a shell reads it back.
func quoteArgs(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		plain := a != "" && strings.IndexFunc(a, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%", r)
		}) < 0
		if out[i] = a; !plain {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// trimNumber writes a number with at most n decimals.
func trimNumber(v float64, n int) string {
	s := strconv.FormatFloat(v, 'f', n, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
