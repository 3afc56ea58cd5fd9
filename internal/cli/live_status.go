package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
)

func statusCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	c := &cobra.Command{
		Use:     "status [JOB]",
		GroupID: groupLive,
		Short:   "Say how the scheduler stands, or all about one job",
		Example: "  escala status\n  escala status 12\n  escala status 12 --output json",
		Args:    argCount(0, 1, "the ID of a job, or nothing"),
		RunE: f.ask(s, func(ctx context.Context, c *conn, args []string) error {
			if len(args) == 1 {
				return f.job(ctx, s, c, args[0])
			}
			return f.daemon(ctx, s, c)
		}),
	}
	f.add(c)
	c.ValidArgsFunction = f.completeJobs(s, "alive", "ended")
	return c
}

// daemon says how the scheduler stands.
func (f *liveFlags) daemon(ctx context.Context, s *State, c *conn) error {
	var t api.Status
	raw, err := fetch(ctx, c, "/status", nil, &t)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return s.printRaw(raw)
	}
	clock := s.wall()
	state := s.paint(styleGood, "ready")
	if !t.Ready {
		state = s.paint(styleBad, "not ready: "+t.Trouble)
	}
	if t.Shadow {
		state += ", in shadow: everything is decided and nothing done"
	}
	p := facts{}
	p.add("state", "%s", state)
	p.add("policy", "%s", t.Policy)
	p.add("GPUs", "%s of %d used, %s available", trimNumber(t.GPUsUsed, 2), t.GPUs, trimNumber(t.GPUsAvailable, 2))
	p.add("jobs", "%s running, %s waiting for %s, %s held or blocked", grouped(int64(t.Running)), grouped(int64(t.Waiting)), pluralGPUs(t.WaitingGPUs), grouped(int64(t.Held)))
	nodes := plural(t.Nodes, "node")
	if t.NodesDown > 0 {
		nodes += fmt.Sprintf(", %d down", t.NodesDown)
	}
	if t.NodesDrained > 0 {
		nodes += fmt.Sprintf(", %d out of use", t.NodesDrained)
	}
	p.add("cluster", "%s", nodes)
	p.add("world", "%s", t.World)
	p.add("journal", "%s since %s, chain %.16s", pick(t.Journal.Batches == 1, "1 batch", grouped(t.Journal.Batches)+" batches"), clock.text(t.Journal.Since), t.Journal.Chain)
	p.add("version", "%s", t.Version)
	if t.You.User != "" {
		p.add("you", "%s, %s", unprintable(t.You.User), t.You.Role)
	}
	return s.print("%s", p.text())
}

func pluralGPUs(n float64) string { return trimNumber(n, 2) + pick(n == 1, " GPU", " GPUs") }

// facts are lines of a name and what there is to say.
type facts struct{ lines [][2]string }

// add adds a line; what is empty is left out.
func (p *facts) add(name, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text != "" {
		p.lines = append(p.lines, [2]string{name, text})
	}
}

func (p *facts) text() string {
	width := 0
	for _, l := range p.lines {
		width = max(width, len(l[0]))
	}
	var b strings.Builder
	for _, l := range p.lines {
		fmt.Fprintf(&b, "  %s  %s\n", pad(l[0], width), l[1])
	}
	return b.String()
}

// job says all about one job; of an array it lists the jobs.
func (f *liveFlags) job(ctx context.Context, s *State, c *conn, id string) error {
	var j api.Job
	raw, err := fetch(ctx, c, "/jobs/"+url.PathEscape(id), nil, &j)
	if err != nil {
		if found, other := f.array(ctx, s, c, id, err); found {
			return other
		}
		return err
	}
	if f.output == "json" {
		return s.printRaw(raw)
	}
	return s.print("%s", s.jobText(&j, s.wall()))
}

// array lists the jobs of an array; found is false where there is none of that ID.
func (f *liveFlags) array(ctx context.Context, s *State, c *conn, id string, missing error) (found bool, err error) {
	if !notFound(missing) {
		return false, nil
	}
	var all api.Jobs
	for _, state := range []string{"alive", "ended"} {
		var page api.Jobs
		if _, err := fetch(ctx, c, "/jobs", url.Values{"array": {id}, "state": {state}, "limit": {"1000"}}, &page); err != nil {
			return false, err
		}
		all.Jobs = append(all.Jobs, page.Jobs...)
	}
	if len(all.Jobs) == 0 {
		return false, nil
	}
	slices.SortFunc(all.Jobs, func(a, b api.Job) int { return int(a.Number) - int(b.Number) })
	if f.output == "json" {
		return true, s.printJSON(all)
	}
	counts := map[string]int{}
	var order []string
	for i := range all.Jobs {
		w := all.Jobs[i].State
		if counts[w]++; counts[w] == 1 {
			order = append(order, w)
		}
	}
	for i, w := range order {
		order[i] = fmt.Sprintf("%d %s", counts[w], w)
	}
	if err := s.print("Array %s of %s: %s\n\n", id, plural(len(all.Jobs), "job"), strings.Join(order, ", ")); err != nil {
		return true, err
	}
	return true, s.showList(mixedList(all.Jobs, s.wall()))
}

// jobText says all about a job.
func (s *State) jobText(j *api.Job, clock wallClock) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", s.paint(styleBold, fmt.Sprintf("Job %s (%s)", j.ID, unprintable(j.Name))), s.stateSentence(j, clock))
	p := facts{}
	if w := j.Waiting; w != nil {
		p.add("why", "%s", clock.local(w.Why))
		if w.Rank > 0 {
			p.add("rank", "%s of %s", ordinal(w.Rank), grouped(int64(w.Of)))
		}
		if w.Promised != nil && w.P50 != nil {
			p.add("expected", "%s", clock.starts(&api.Waiting{P50: w.P50, P90: w.P90, Few: w.Few}))
		}
		if w.Futures > 0 && w.P50 == nil && w.Promised == nil {
			p.add("starts", "in too few of %d simulated futures to say when", w.Futures)
		}
	}
	if len(j.Holds) > 0 {
		p.add("held", "%s%s", strings.Join(j.Holds, ", "), pick(j.HeldBy == "", "", " (by "+j.HeldBy+")"))
	}
	p.add("asks for", "%s", needsText(j))
	p.add("of", "%s, team %s%s", unprintable(j.User), unprintable(j.Team), pick(j.Kind == "" || j.Kind == "unknown", "", ", "+j.Kind))
	p.add("submitted", "%s", clock.when(j.Submitted))
	if j.Started != nil {
		p.add("started", "%s, after a wait of %s", clock.when(*j.Started), spanOf(j.Started.Sub(j.Submitted)))
	}
	if j.Ended != nil {
		p.add("ended", "%s", clock.when(*j.Ended))
	}
	p.add("really", "%s", realText(j.Real, clock))
	p.add("nodes", "%s", strings.Join(j.Nodes, " "))
	p.add("had", "%s GPU-hours%s", trimNumber(j.GPUHours, 3), pick(j.Stops == 0, "", fmt.Sprintf(", stopped %s", times(j.Stops))))
	var labels []string
	for k, v := range j.Labels {
		labels = append(labels, unprintable(k+"="+v))
	}
	slices.Sort(labels)
	p.add("labels", "%s", strings.Join(labels, " "))
	p.add("command", "%s", unprintable(j.Command))
	b.WriteString(p.text())
	if len(j.Runs) > 0 {
		b.WriteString("\n" + runList(j.Runs, clock).text(s.Stdout.width(), s.colored(s.Stdout)))
	}
	return b.String()
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return grouped(int64(n)) + " times"
}

// needsText is what a job asks for, and how it may be interrupted.
func needsText(j *api.Job) string {
	text := j.Need
	if j.EstimateSeconds > 0 {
		text += " for about " + secondsText(j.EstimateSeconds)
	}
	if j.LimitSeconds > 0 {
		text += ", ended after " + secondsText(j.LimitSeconds)
	}
	if m := j.MinRuntimeSeconds; m != nil && *m == 0 {
		text += "; unallocated: it may be stopped at any time"
	} else if m != nil {
		text += "; each start is safe for " + secondsText(*m)
	}
	if j.Priority != 0 {
		text += fmt.Sprintf("; priority %d", j.Priority)
	}
	return text
}

// stateSentence says where a job stands.
func (s *State) stateSentence(j *api.Job, clock wallClock) string {
	word := s.paint(stateStyle(j.State), j.State)
	switch j.State {
	case "waiting", "clearing":
		text := "is " + word
		if w := j.Waiting; w != nil {
			if start := clock.starts(w); start != "" {
				text += ", expected to start " + pick(w.Promised != nil, "as "+start, start)
			}
		}
		return text + "."
	case "running":
		text := "is " + word
		if j.Running != nil {
			text += " for " + spanOf(clock.now.Sub(*j.Running))
		}
		return text + clock.safeText(j) + "."
	case "stopping":
		text := "is " + word
		if j.LeavesBy != nil {
			text += ", and leaves by " + clock.text(*j.LeavesBy)
		}
		return text + pick(j.Text == "", ".", ": "+clock.local(unprintable(j.Text)))
	case "held", "blocked", "starting", "parked", "refused", "completed", "cancelled":
	default:
		text := "ended: " + word
		if j.Exit != nil && *j.Exit != 0 {
			text += fmt.Sprintf(", exit code %d", *j.Exit)
		}
		return text + pick(j.Text == "" || strings.HasPrefix(j.Text, "exit code"), "", " ("+unprintable(j.Text)+")") + "."
	}
	text := "is " + word
	if j.By != "" {
		text += " by " + j.By
	}
	if j.Text != "" && j.State != "completed" {
		text += ": " + clock.local(unprintable(j.Text))
	}
	return strings.TrimSuffix(text, ".") + "."
}

// runList is the runs of a job.
func runList(runs []api.JobRun, clock wallClock) *list {
	l := &list{columns: []column{{title: "RUN", right: true}, {title: "STARTED"}, {title: "LASTED"}, {title: "NODES", rest: true}, {title: "GPUS", right: true}, {title: "END"},
		{title: "EXIT", right: true}, {title: "LOST"}, {title: "WHY", rest: true}}}
	for i := range runs {
		r := &runs[i]
		started, lasted, end, exit, lost := "", "", r.End, "", ""
		if r.Started != nil {
			started = clock.when(*r.Started)
			if r.Ended != nil {
				lasted = spanOf(r.Ended.Sub(*r.Started))
			}
		}
		if r.Exit != nil && r.Started != nil {
			exit = fmt.Sprint(*r.Exit)
		}
		if r.LostSeconds > 0 {
			lost = secondsText(r.LostSeconds)
		}
		why := r.Why
		if r.StopWhy != "" {
			why = r.StopWhy
		}
		l.add(cell{fmt.Sprint(r.Attempt), ""}, cell{started, ""}, cell{lasted, ""}, cell{strings.Join(r.Nodes, " "), ""}, cell{fmt.Sprint(r.GPUs), ""}, cell{end, stateStyle(end)},
			cell{exit, ""}, cell{lost, ""}, cell{clock.local(why), styleFaint})
	}
	return l
}
