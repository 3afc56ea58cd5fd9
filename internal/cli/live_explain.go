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
	// Explanation is what the scheduler says of it.
	Explanation api.Explanation `json:"explanation"`
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
	case notFound(err) && output != "json":
		if why := leftAlone(ctx, c, id); why != "" {
			return s.print("%s\n", why)
		}
		return err
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
	if _, err := fetch(ctx, c, "/jobs/"+url.PathEscape(id)+"/explain", nil, &x.Explanation); err != nil {
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
	for _, line := range x.Explanation.Lines {
		say("%s", clock.local(unprintable(line)))
	}
	if e := &x.Explanation; j.Waiting != nil && e.Free > 0 {
		say("%s free where it may run%s.", pick(e.Free == 1, "1 GPU is", fmt.Sprintf("%d GPUs are", e.Free)), pick(e.Want > 0 && e.Block < e.Want && e.Free >= e.Need, fmt.Sprintf(", in places of which the largest takes %d of the %d that it needs together", e.Block, e.Want), ""))
	}
	for i := range j.Runs {
		if r := &j.Runs[i]; r.StopWhy != "" {
			say("Run %d: %s", r.Attempt, clock.local(r.StopWhy))
		}
	}
	for i := range x.Explanation.Accounts {
		a := &x.Explanation.Accounts[i]
		say("\n%s\n%s", s.paint(styleBold, fmt.Sprintf("Its accounts%s, in GPU-hours of the window; siblings go by usage / share, the smaller first:", pick(a.Pool == "", "", " in pool "+a.Pool))),
			strings.TrimRight(accountList(a.Levels).text(s.Stdout.width(), s.colored(s.Stdout)), "\n"))
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
