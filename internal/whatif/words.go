package whatif

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/workload"
)

func named(p *policy.Policy, err error) error {
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "policy ") {
		err = inner // the engine names the policy in its own way
	}
	return fmt.Errorf("policy %s: %w", p.Name, err)
}

// text is a policy as a file. Names in files take neither '@' nor blanks.
func text(p policy.Policy) string {
	p.Name, _, _ = strings.Cut(strings.TrimSuffix(p.Name, recordedName), "@")
	return string(p.YAML())
}

// assumptions are the lines of the head.
func (c *scene) assumptions(seed uint64, policies []*policy.Policy) []report.Assumption {
	const journal = "the journal"
	out := []report.Assumption{{Name: "Jobs", Value: c.jobsText(), Source: journal},
		c.drawn(seed),
		{Name: "Start latency", Value: span(c.from.StartLatency) + ", the median of the journal's starts", Source: "default"}}
	if t := c.leftText(); t != "" {
		out = append(out, report.Assumption{Name: "Left out", Value: t, Source: journal})
	}
	if c.counts.userCap > 0 {
		out = append(out, report.Assumption{Name: "Limits", Value: fmt.Sprintf("%s for a limit of its user begin and end as recorded", plural(c.counts.userCap, "hold")), Source: journal})
	}
	for _, p := range policies[1:] {
		if p.Sharing != nil && c.equal {
			out = append(out, report.Assumption{Name: "Shares", Value: "the journal has no budgets: equal shares of its teams", Source: journal})
			break
		}
	}
	return out
}

func (c *scene) jobsText() string {
	n := &c.counts
	return fmt.Sprintf("%s submitted in it; %s waited and %s ran when it began: these are followed, and are in no wait or completion time", plural(n.arrived, "job"), grouped(n.waiting), grouped(n.running))
}

// drawn says how many run times are not known.
func (c *scene) drawn(seed uint64) report.Assumption {
	n := &c.counts
	drawn := n.drawnRunning + n.drawnWaiting + n.drawnTaken + n.drawnEvicted
	var of []string
	for _, x := range []struct {
		n    int
		what string
	}{{n.drawnRunning, "ran at the end"}, {n.drawnWaiting, "waited at the end"}, {n.drawnTaken, "were cancelled"}, {n.drawnEvicted, "were stopped for good"}} {
		if x.n > 0 {
			of = append(of, grouped(x.n)+" "+x.what)
		}
	}
	s := "as they were"
	if drawn > 0 {
		s = fmt.Sprintf("%s drawn (%s) from %s that ended, seed %d; all others as they were", plural(drawn, "job"), strings.Join(of, ", "), plural(c.s.book.ended, "job"), seed)
	}
	if n.services > 0 {
		s += fmt.Sprintf("; %s that went on at the end for as long as declared", plural(n.services, "application"))
	}
	return report.Assumption{Name: "Run times", Value: s, Source: "the journal"}
}

// leftText says what of the record is not gone through again.
func (c *scene) leftText() string {
	l := &c.s.book.left
	var of []string
	for _, x := range []struct {
		n    int
		what string
	}{{l.startFailures, "failed start"}, {l.backOffs, "back-off"}, {l.retries, "retry of a failed run"}, {l.requeues, "requeue by hand"}, {l.plans, "plan from outside"}, {l.checkpoints, "checkpoint that a job told"}} {
		if x.n > 0 {
			of = append(of, plural(x.n, x.what))
		}
	}
	return strings.Join(of, ", ")
}

// plural writes a count with its noun: the plural's s goes to the first word behind it that
// is one.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	for _, x := range []struct{ one, many string }{{"retry of", "retries of"}, {"plan from", "plans from"}, {"requeue by", "requeues by"}, {"checkpoint that", "checkpoints that"}} {
		if rest, ok := strings.CutPrefix(noun, x.one); ok {
			return grouped(n) + " " + x.many + rest
		}
	}
	return grouped(n) + " " + noun + "s"
}

// grouped writes a count with commas.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func span(d workload.Span) string {
	if d >= workload.Minute {
		d -= d % workload.Second
	}
	if d == 0 {
		return "0 s"
	}
	return yamlx.Duration(d).String()
}
