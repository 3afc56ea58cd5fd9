package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// show prints the explanation for people.
func (e *explained) show(s *State, c clock) error {
	p := &explainText{s: s, c: c}
	p.line("Job", "%s (#%d), %s%s", e.Job.ID, e.Job.Number, gpusOf(e.Job.GPUs), ofText(e.Job.User, e.Job.Team))
	p.line("At", "%s, under %s on %s", p.time(e.At), e.Policy, e.Cluster)
	p.line("State", "%s", p.state(e))
	if e.Why != nil {
		p.line("Why", "%s", e.Why.Text)
	}
	if e.Waits != nil {
		p.waits(e.Waits)
	}
	if e.Run != nil {
		p.run(e.Run, e.At)
	}
	if e.Plan != nil {
		p.proposed(e.Plan, e.Waits != nil)
	}
	if e.Ran != nil {
		p.ran(e.Ran)
	}
	if e.State == "held" {
		p.line("Held", "%s", placeText(e.Held, e.Job.GPUs))
	}
	accounts := e.Elsewhere
	if e.Account != nil {
		accounts = append([]*accountView{e.Account}, accounts...)
	}
	for _, a := range accounts {
		p.standing(a)
	}
	if e.Stop != nil {
		p.stop(e.Stop)
	}
	if e.Waits != nil {
		p.ahead(e.Waits)
	}
	for _, a := range accounts {
		p.levels(a)
	}
	if e.Waits != nil {
		p.protections(e.Waits)
	}
	if e.Stop != nil {
		p.shares(e.Stop)
	}
	return p.err
}

// explainText prints lines and tables until one cannot be printed.
type explainText struct {
	s   *State
	c   clock
	err error
}

func (p *explainText) line(name, format string, args ...any) {
	if p.err == nil {
		p.err = p.s.print("%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
}

func (p *explainText) table(title string, t *table) {
	if p.err == nil {
		p.err = p.s.print("\n%s\n", title)
	}
	if p.err == nil {
		p.err = p.s.showTable(t)
	}
}

func (p *explainText) time(seconds float64) string { return p.c.text(inMillis(seconds)) }

func inMillis(seconds float64) workload.Time { return workload.Time(math.Round(seconds * 1000)) }

func gpusOf(n float64) string { return milliText(int64(math.Round(n * 1000))) }

// state says the state in words, and since when.
func (p *explainText) state(e *explained) string {
	text := map[string]string{
		"blocked": "blocked: it waits for other jobs to end", "held": "has a place, and waits for the jobs stopped for it to leave",
		"starting": "told to start", "stopping": "told to stop", "refused": "refused: it can never run here",
		"stuck": "refused: it can never start", "ended": pick(e.withdrawn, "withdrawn", "ended: "+e.Outcome),
	}[e.State]
	if text == "" {
		text = e.State
	}
	if e.Since != nil {
		text += pick(e.State == "ended", " at ", ", since ") + p.time(*e.Since)
		if d := e.At - *e.Since; d > 0 {
			text += " (" + roundSpan(d) + pick(e.State == "ended", " ago)", ")")
		}
	}
	if e.Waits != nil {
		text += fmt.Sprintf(", number %s of %s in order", grouped(int64(e.Waits.Rank)), grouped(int64(e.Waits.Of)))
		if w := e.Waits; w.Unallocated {
			text += fmt.Sprintf(", %s of %s that wait unallocated", grouped(int64(w.FillRank)), grouped(int64(w.FillOf)))
		}
	}
	switch {
	case e.withdrawn:
		text += ", after waiting " + roundSpan(e.waited) + ", before it started"
	case e.State == "ended":
		text += ", after " + plural(e.Starts, "start")
	}
	return text
}

func (p *explainText) waits(w *waitReport) {
	if w.Date != nil {
		p.line("Promised", "a start at %s, at the latest. %s", p.time(w.Date.At), w.Date.Text)
	}
	if w.Undated != nil {
		p.line("Promised", "no start. %s", w.Undated.Text)
	}
	p.line("Needs", "%s; where it may run %s", w.Need, w.Text)
}

func (p *explainText) run(r *runReport, at float64) {
	p.line("Where", "%s", placeText(r.Place, r.GPUs))
	p.line("Started", "at %s, start %d. %s", p.time(r.Decided), r.Attempt, r.Why.Text)
	if r.Resized != nil {
		p.line("Resized", "at %s. %s", p.time(r.Resized.At), r.Resized.Why.Text)
	}
	switch {
	case r.Allocated == nil:
		return
	case !*r.Allocated:
		p.line("Charged", "to nobody: it runs unallocated and unprotected")
		return
	case r.Charged != "":
		p.line("Charged", "to %s", r.Charged)
	}
	switch {
	case r.Protected == nil:
		p.line("Protected", "no")
	case *r.Protected > at:
		p.line("Protected", "until %s (%s more)", p.time(*r.Protected), roundSpan(*r.Protected-at))
	default:
		p.line("Protected", "until %s: others may stop it now", p.time(*r.Protected))
	}
}

// ran says who was charged for the last run of a job that ended.
func (p *explainText) ran(r *ranReport) {
	switch {
	case !r.Allocated:
		p.line("Charged", "to nobody: it ran unallocated")
	case r.Uncharged != nil:
		p.line("Charged", "to %s until %s, then to nobody: a hard budget was used up", r.Charged, p.time(*r.Uncharged))
	default:
		p.line("Charged", "to %s", r.Charged)
	}
}

// placeText writes where a run is, the first nodes of many.
func placeText(place []nodeShare, gpus float64) string {
	if len(place) == 0 {
		return gpusOf(gpus) + " of the pool"
	}
	const most = 8
	var parts []string
	for i, n := range place {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(place)-most))
			break
		}
		part := n.Node
		if n.GPUs != "" {
			part += pick(strings.ContainsAny(n.GPUs, "-,"), " GPUs ", " GPU ") + n.GPUs
		}
		if n.Milli < 1000 && n.GPUs != "" {
			part += fmt.Sprintf(" (%s of it)", percent(float64(n.Milli)/1000))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func (p *explainText) standing(a *accountView) {
	where := pick(a.Pool == "", "", " in pool "+a.Pool)
	if a.Leaf == "" {
		p.line("Account", "none%s: %s", where, a.Text)
		return
	}
	if a.fills {
		p.line("Account", "%s%s: %s", a.Leaf, where, a.Text)
		return
	}
	p.line("Account", "%s, %s%s: %s", a.Leaf, a.Standing, where, a.Text)
}

// stop says by whom and why the last run was stopped, and what it cost.
func (p *explainText) stop(r *stopReport) {
	text := ""
	switch {
	case r.By != nil:
		text = fmt.Sprintf("for job %s (%s%s), ", r.By.ID, gpusOf(r.By.GPUs), ofText(r.By.User, r.By.Team))
	case r.Decided == nil:
		text = "by its node, "
	}
	switch {
	case r.Decided == nil:
		text += "at " + p.time(*r.Left)
	case r.Left == nil:
		text += "told at " + p.time(*r.Decided) + ", still leaving"
	case *r.Left == *r.Decided:
		text += "at " + p.time(*r.Left)
	default:
		text += fmt.Sprintf("told at %s, gone at %s", p.time(*r.Decided), p.time(*r.Left))
	}
	p.line("Stopped", "%s, after it ran %s (start %d)", text, roundSpan(r.Ran), r.Attempt)
	p.line("Because", "%s", r.Text)
	lost := "no work"
	switch {
	case r.Left == nil:
		lost = "told once it has left"
	case r.Lost > 0:
		lost = fmt.Sprintf("%s of work (%s GPU-h)", roundSpan(r.Lost), hours(r.LostGPU))
	}
	p.line("Lost", "%s; starting again costs %s", lost, pick(r.Restart > 0, roundSpan(r.Restart), "nothing"))
}

func (p *explainText) ahead(w *waitReport) {
	if len(w.Head) == 0 {
		return
	}
	t := &table{header: []string{"#", "JOB", "TEAM", "GPUS", "WHY"}}
	for i := range w.Head {
		a := &w.Head[i]
		t.add(strconv.Itoa(a.Rank), a.ID, a.Team, trimNumber(a.GPUs, 3), a.Text)
	}
	title := "Before it"
	if w.Rank-1 > len(w.Head) {
		title += fmt.Sprintf(", the nearest %d of %s", len(w.Head), grouped(int64(w.Rank-1)))
	}
	p.table(title, t)
}

// levels shows the numbers that sort its accounts.
func (p *explainText) levels(a *accountView) {
	if len(a.Levels) == 0 {
		return
	}
	if a.fills {
		p.fillLevels(a)
		return
	}
	t := &table{header: []string{"ACCOUNT", "SHARE", "CHARGED", "OUTSTANDING", "USAGE", "FAIR SHARE", "USED OF IT", "PLACE"}}
	for i := range a.Levels {
		l := &a.Levels[i]
		place := "-"
		if l.Of > 0 {
			place = fmt.Sprintf("%d of %d", l.Place, l.Of)
		}
		t.add(l.Account, percent(l.Share), hours(l.Charged), hours(l.Outstanding), hours(l.Usage), hours(l.Fair), partText(l.Used), place)
	}
	t.alignRight(1)
	p.table(fmt.Sprintf("Shares%s at %s, of the last %s, in GPU-hours; siblings go by usage / share, the smaller first", pick(a.Pool == "", "", " in pool "+a.Pool), p.time(a.At), spanText(inMillis(a.Window))), t)
}

// fillLevels shows what sorts its accounts while it waits unallocated.
func (p *explainText) fillLevels(a *accountView) {
	t := &table{header: []string{"ACCOUNT", "SHARE", "UNALLOCATED", "FAIR SHARE", "OF IT"}}
	for i := range a.Levels {
		l := &a.Levels[i]
		t.add(l.Account, percent(l.Share), hours(l.Unallocated), hours(l.Fair), partText(l.UnallocatedOf))
	}
	t.alignRight(1)
	p.table(fmt.Sprintf("Unallocated time%s at %s, of the last %s, in GPU-hours; siblings go by it / share, the smaller first", pick(a.Pool == "", "", " in pool "+a.Pool), p.time(a.At), spanText(inMillis(a.Window))), t)
}

func (p *explainText) protections(w *waitReport) {
	if len(w.Safe) == 0 {
		return
	}
	t := &table{header: []string{"UNTIL", "GPUS", "JOB", "TEAM"}}
	for i := range w.Safe {
		r := &w.Safe[i]
		t.add(p.time(r.Until), trimNumber(r.GPUs, 3), r.ID, r.Team)
	}
	title := "Protected where it may run, the next to end first"
	if w.More > 0 {
		title += fmt.Sprintf(" (%d more)", w.More)
	}
	p.table(title, t)
}

// shares compares winner and victim before the stop and after the winner's start.
func (p *explainText) shares(r *stopReport) {
	if r.Before == nil {
		return
	}
	t := &table{header: []string{"ACCOUNT", "OF", "SHARE", "USAGE BEFORE", "OF ITS FAIR SHARE", "AFTER", "OF ITS FAIR SHARE"}}
	add := func(of string, pickOne func(c *compareReport) *levelReport) {
		b := pickOne(r.Before)
		usage, used := "-", "-"
		if r.After != nil {
			a := pickOne(r.After)
			usage, used = hours(a.Usage), partText(a.Used)
		}
		t.add(b.Account, of, percent(b.Share), hours(b.Usage), partText(b.Used), usage, used)
	}
	winner := "job " + r.By.ID
	add(winner, func(c *compareReport) *levelReport { return &c.Fork.Winner })
	add("this job", func(c *compareReport) *levelReport { return &c.Fork.Victim })
	if r.Before.Leaf.Winner.Account != r.Before.Fork.Winner.Account {
		add(winner, func(c *compareReport) *levelReport { return &c.Leaf.Winner })
	}
	if r.Before.Leaf.Victim.Account != r.Before.Fork.Victim.Account {
		add("this job", func(c *compareReport) *levelReport { return &c.Leaf.Victim })
	}
	t.alignRight(2)
	title := "Shares in GPU-hours, before: at " + p.time(r.Before.At)
	if r.After != nil {
		title += fmt.Sprintf("; after: at %s, with the start of job %s", p.time(r.After.At), r.By.ID)
	} else {
		title += fmt.Sprintf("; job %s has not started since", r.By.ID)
	}
	p.table(title, t)
}
