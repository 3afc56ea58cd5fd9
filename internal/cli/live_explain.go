package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/api"
)

// liveExplanation is what explain says of a job of a live scheduler.
type liveExplanation struct {
	Job json.RawMessage `json:"job"`
	// Ahead are the nearest in line before it, the next before it last; Running is what runs,
	// what may be stopped first before the others.
	Ahead   []api.Job `json:"ahead,omitempty"`
	Running []api.Job `json:"running,omitempty"`
}

// nearest is how many of those ahead are shown.
const nearest = 8

// explainLive asks a daemon where a job stands, and why.
func (s *State) explainLive(ctx context.Context, c *conn, id, output string) error {
	j, x, err := askedAbout(ctx, c, id)
	switch {
	case err != nil:
		return err
	case output == "json":
		return s.printJSON(x)
	}
	return s.print("%s", s.explanationText(j, x, s.wall()))
}

// aboutJob is all about a job: what it is, where it stands and why.
func (s *State) aboutJob(ctx context.Context, c *conn, id string) (string, error) {
	j, x, err := askedAbout(ctx, c, id)
	if err != nil {
		return "", err
	}
	return s.jobText(j, s.wall()) + "\n" + s.explanationText(j, x, s.wall()), nil
}

// askedAbout asks for what is known of where a job stands.
func askedAbout(ctx context.Context, c *conn, id string) (*api.Job, *liveExplanation, error) {
	var j api.Job
	x := &liveExplanation{}
	var err error
	if x.Job, err = fetch(ctx, c, "/jobs/"+url.PathEscape(id), nil, &j); err != nil {
		return nil, nil, err
	}
	if w := j.Waiting; w != nil && w.Rank > 0 {
		if x.Ahead, err = ahead(ctx, c, w.Rank); err != nil {
			return nil, nil, err
		}
		if _, err := pages(ctx, c, url.Values{}, runningStates, 1000, &x.Running); err != nil {
			return nil, nil, err
		}
		slices.SortStableFunc(x.Running, func(a, b api.Job) int { return cmp.Compare(safeUntil(&a), safeUntil(&b)) })
	}
	return &j, x, nil
}

// ahead are the nearest in line before a rank.
func ahead(ctx context.Context, c *conn, rank int) ([]api.Job, error) {
	from := max(rank-1-nearest, 0)
	if rank-1 == from {
		return nil, nil
	}
	var page api.Jobs
	_, err := fetch(ctx, c, "/queue", url.Values{"offset": {strconv.Itoa(from)}, "limit": {strconv.Itoa(rank - 1 - from)}}, &page)
	return slices.DeleteFunc(page.Jobs, func(j api.Job) bool { return j.Waiting == nil || j.Waiting.Rank >= rank }), err
}

// safeUntil sorts what runs by when it may be stopped.
func safeUntil(j *api.Job) int64 {
	if j.Unallocated || j.Protected == nil {
		return 0
	}
	return j.Protected.UnixMilli()
}

func (s *State) explanationText(j *api.Job, x *liveExplanation, clock wallClock) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", s.paint(styleBold, fmt.Sprintf("Job %s (%s)", j.ID, unprintable(j.Name))), s.stateSentence(j, clock))
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("It asks for %s. It belongs to %s and is charged to %s.", needsText(j), unprintable(j.User), unprintable(j.Team))
	if w := j.Waiting; w != nil {
		explainWaiting(j, w, clock, say)
	}
	if r := lastRun(j); r != nil && j.Waiting == nil && !over(j) {
		say("Why it runs: %s", clock.local(r.Why))
	}
	for i := range j.Runs {
		if r := &j.Runs[i]; r.StopWhy != "" {
			say("Run %d: %s", r.Attempt, clock.local(r.StopWhy))
		}
	}
	if len(x.Ahead) > 0 {
		l := &list{columns: []column{{title: "RANK", right: true}, {title: "JOB"}, {title: "NAME", rest: true}, {title: "TEAM"}, {title: "GPUS", right: true}, {title: "STARTS"}, {title: "WHY", wide: 90, rest: true}}}
		for i := range x.Ahead {
			a := &x.Ahead[i]
			l.add(cell{strconv.Itoa(a.Waiting.Rank), ""}, cell{a.ID, styleBold}, cell{unprintable(a.Name), ""}, cell{unprintable(a.Team), ""}, cell{fmt.Sprint(a.GPUs), ""},
				cell{clock.starts(a.Waiting), ""}, cell{clock.whyText(a), styleFaint})
		}
		say("\n%s\n%s", s.paint(styleBold, "Before it, the nearest:"), strings.TrimRight(l.text(s.Stdout.width(), s.colored(s.Stdout)), "\n"))
	}
	if len(x.Running) > 0 {
		say("\n%s\n%s", s.paint(styleBold, "What runs, the first to be stopped for others first:"), strings.TrimRight(s.runningText(x.Running, clock), "\n"))
	}
	return b.String()
}

func lastRun(j *api.Job) *api.JobRun {
	if len(j.Runs) == 0 {
		return nil
	}
	return &j.Runs[len(j.Runs)-1]
}

// explainWaiting says why a job waits, and until when.
func explainWaiting(j *api.Job, w *api.Waiting, clock wallClock, say func(string, ...any)) {
	say("%s", clock.local(w.Why))
	if w.Rank == 1 {
		say("It is the next of %s in line.", plural(w.Of, "job"))
	} else if w.Rank > 1 {
		say("It is %s of %s in line: %s before it.", ordinal(w.Rank), plural(w.Of, "job"), pick(w.Rank == 2, "1 goes", grouped(int64(w.Rank-1))+" go"))
	}
	if w.Promised != nil {
		say("It has a reservation: it starts at %s at the latest if estimates hold.", clock.text(*w.Promised))
	}
	switch {
	case w.Futures == 0:
	case w.P50 == nil:
		say("In fewer than half of %d simulated futures it starts at all within the time looked at.", w.Futures)
	case w.P90 == nil:
		say("In half of %d simulated futures it has started by %s, in nine of ten not within the time looked at.", w.Futures, clock.text(*w.P50))
	default:
		say("In half of %d simulated futures it has started by %s (%s), in nine of ten by %s.", w.Futures, clock.text(*w.P50), clock.soon(*w.P50), clock.text(*w.P90))
	}
	if j.Stops > 0 {
		say("It was stopped %s and queued again.", times(j.Stops))
	}
}

// runningText lists what runs by when it may be stopped.
func (s *State) runningText(running []api.Job, clock wallClock) string {
	const most = 12
	l := &list{columns: []column{{title: "JOB"}, {title: "NAME", rest: true}, {title: "TEAM"}, {title: "GPUS", right: true}, {title: "SAFE"}, {title: "SINCE", wide: 70}, {title: "EXPECTED TO RUN", wide: 90}}}
	for i := range running[:min(most, len(running))] {
		r := &running[i]
		safe, since, expected := "no", "", ""
		switch {
		case r.Unallocated:
			safe = "no: unallocated"
		case r.Protected != nil && r.Protected.After(clock.now):
			safe = "for " + spanOf(r.Protected.Sub(clock.now))
		}
		if r.Running != nil {
			since = clock.when(*r.Running)
			if left := time.Duration(r.EstimateSeconds)*time.Second - clock.now.Sub(*r.Running); r.EstimateSeconds > 0 {
				expected = pick(left > 0, "another "+spanOf(max(left, 0)), "less than it has")
			}
		}
		l.add(cell{r.ID, styleBold}, cell{unprintable(r.Name), ""}, cell{unprintable(r.Team), ""}, cell{fmt.Sprint(r.GPUs), ""}, cell{safe, ""}, cell{since, ""}, cell{expected, ""})
	}
	text := l.text(s.Stdout.width(), s.colored(s.Stdout))
	if n := len(running) - most; n > 0 {
		text += fmt.Sprintf("and %d more\n", n)
	}
	return text
}
