package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
)

// Groups of states of jobs that are alive.
var (
	runningStates = []string{"running", "starting", "stopping"}
	lineStates    = []string{"waiting", "clearing"}
	asideStates   = []string{"held", "blocked", "parked"}
	endedStates   = []string{"completed", "failed", "cancelled", "timeout", "node-fail", "preempted", "refused"}
)

// queueFlags are the options of escala queue.
type queueFlags struct {
	liveFlags
	user, team string
	me, all    bool
	left       bool
	states     []string
	limit      int
}

func queueCommand(s *State) *cobra.Command {
	f := &queueFlags{}
	c := &cobra.Command{
		Use:     "queue",
		GroupID: groupLive,
		Short:   "List what runs and what waits: rank, estimated start, why",
		Long: `Lists running jobs, then waiting ones in the order in which they are next, then those that
are held or wait for others. A start is the time by which half of the simulated futures
have it, and the one by which nine of ten do.`,
		Example: `  escala queue
  escala queue --me
  escala queue --state waiting --team vision --all
  escala queue --left`,
		Args: noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error { return f.run(ctx, s, c) }),
	}
	fl := c.Flags()
	fl.StringVar(&f.user, "user", "", "jobs of this `user` alone")
	fl.BoolVar(&f.me, "me", false, "my jobs alone")
	fl.StringVar(&f.team, "team", "", "jobs of this `team` alone")
	fl.StringSliceVar(&f.states, "state", nil, "jobs in these `states` alone: "+strings.Join(slices.Concat(runningStates, lineStates, asideStates), ", "))
	fl.IntVar(&f.limit, "limit", 50, "at most so many of each kind")
	fl.BoolVarP(&f.all, "all", "a", false, "all of them")
	fl.BoolVar(&f.left, "left", false, "instead: jobs that are left to the cluster's own scheduler, and why")
	f.add(c)
	_ = c.RegisterFlagCompletionFunc("state", words(slices.Concat(runningStates, lineStates, asideStates)...))
	_ = c.RegisterFlagCompletionFunc("team", f.completeTeams(s))
	return c
}

func (f *queueFlags) run(ctx context.Context, s *State, c *conn) error {
	if f.me {
		f.user = s.me()
	}
	for _, w := range f.states {
		if !slices.Contains(slices.Concat(runningStates, lineStates, asideStates), w) {
			return badUsage("escala history --state "+w+" for jobs that ended", "--state %s: want one of %s", w, strings.Join(slices.Concat(runningStates, lineStates, asideStates), ", "))
		}
	}
	if f.limit < 1 {
		return badUsage("--limit 50", "--limit %d: want 1 or more", f.limit)
	}
	if f.left {
		return f.runLeft(ctx, s, c)
	}
	var status api.Status
	if _, err := fetch(ctx, c, "/status", nil, &status); err != nil {
		return err
	}
	q, err := f.read(ctx, c, &status)
	if err != nil {
		return err
	}
	if f.output == "json" {
		body, err := json.Marshal(api.Jobs{Jobs: q.all(), AsOf: q.asOf})
		if err != nil {
			return err
		}
		return s.printRaw(body)
	}
	if err := s.print("%s\n", headLine(&status)); err != nil {
		return err
	}
	if status.Trouble != "" {
		s.say("Warning: %s\n", status.Trouble)
	}
	if len(q.all()) == 0 {
		return nil
	}
	if err := s.print("\n"); err != nil {
		return err
	}
	if err := s.showList(queueList(q.all(), s.wall())); err != nil {
		return err
	}
	if q.more {
		s.say("There are more: escala queue --all\n")
	}
	return nil
}

// queueView is what runs and waits.
type queueView struct {
	running, line, aside []api.Job
	more                 bool
	asOf                 *time.Time
}

func (q *queueView) all() []api.Job { return slices.Concat([]api.Job{}, q.running, q.line, q.aside) }

// read asks for the jobs that the options choose.
func (f *queueFlags) read(ctx context.Context, c *conn, status *api.Status) (*queueView, error) {
	q := &queueView{}
	limit := f.limit
	if f.all {
		limit = 1 << 30
	}
	who := url.Values{}
	if f.user != "" {
		who.Set("user", f.user)
	}
	if f.team != "" {
		who.Set("team", f.team)
	}
	wanted := func(group []string) []string {
		if len(f.states) == 0 {
			return group
		}
		return slices.DeleteFunc(slices.Clone(group), func(w string) bool { return !slices.Contains(f.states, w) })
	}
	for _, g := range []struct {
		states []string
		to     *[]api.Job
	}{{wanted(runningStates), &q.running}, {wanted(asideStates), &q.aside}} {
		if len(g.states) == 0 {
			continue
		}
		more, err := pages(ctx, c, who, g.states, limit, g.to)
		if err != nil {
			return nil, err
		}
		q.more = q.more || more
	}
	states := wanted(lineStates)
	if len(states) == 0 {
		return q, nil
	}
	if err := q.readLine(ctx, c, who, limit); err != nil {
		return nil, err
	}
	// What came in a moment ago has no rank yet.
	if len(q.line) < limit && status.Waiting <= 1000 {
		var fresh []api.Job
		if _, err := pages(ctx, c, who, lineStates, limit, &fresh); err != nil {
			return nil, err
		}
		for i := range fresh {
			if !slices.ContainsFunc(q.line, func(j api.Job) bool { return j.ID == fresh[i].ID }) {
				q.line = append(q.line, fresh[i])
			}
		}
	}
	q.line = slices.DeleteFunc(q.line, func(j api.Job) bool { return !slices.Contains(states, j.State) })
	return q, nil
}

// readLine asks for the jobs in line, by rank.
func (q *queueView) readLine(ctx context.Context, c *conn, who url.Values, limit int) error {
	query := url.Values{"user": who["user"], "team": who["team"]}
	for offset := 0; ; {
		query.Set("limit", strconv.Itoa(min(limit-len(q.line)+1, 1000)))
		query.Set("offset", strconv.Itoa(offset))
		var page api.Jobs
		if _, err := fetch(ctx, c, "/queue", query, &page); err != nil {
			return err
		}
		q.asOf = page.AsOf
		for i := range page.Jobs {
			if len(q.line) == limit {
				q.more = true
				return nil
			}
			q.line = append(q.line, page.Jobs[i])
		}
		if len(page.Jobs) < 1000 {
			return nil
		}
		offset = page.Jobs[len(page.Jobs)-1].Waiting.Rank
	}
}

// pages asks for jobs that are alive, page by page. more tells that there are others.
func pages(ctx context.Context, c *conn, who url.Values, states []string, limit int, to *[]api.Job) (more bool, err error) {
	query := url.Values{"user": who["user"], "team": who["team"], "array": who["array"], "state": {strings.Join(states, ",")}}
	for {
		query.Set("limit", strconv.Itoa(min(limit-len(*to), 1000)))
		var page api.Jobs
		if _, err := fetch(ctx, c, "/jobs", query, &page); err != nil {
			return false, err
		}
		*to = append(*to, page.Jobs...)
		if page.Next == "" || len(*to) >= limit {
			return page.Next != "", nil
		}
		query.Set("cursor", page.Next)
	}
}

// headLine says how things stand.
func headLine(t *api.Status) string {
	text := fmt.Sprintf("%s of %s used", trimNumber(t.GPUsUsed, 2), plural(int(t.GPUs), "GPU"))
	if t.GPUsAvailable < float64(t.GPUs) {
		text += fmt.Sprintf(" (%s available)", trimNumber(t.GPUsAvailable, 2))
	}
	text += fmt.Sprintf(", %s running; %s waiting", plural(t.Running, "job"), grouped(int64(t.Waiting)))
	if t.WaitingGPUs > 0 {
		text += " for " + pluralGPUs(t.WaitingGPUs)
	}
	if t.Held > 0 {
		text += fmt.Sprintf(", %s held or blocked", grouped(int64(t.Held)))
	}
	text += "; policy " + t.Policy
	if t.Shadow {
		text += "; shadow: nothing is done"
	}
	if !t.Ready {
		text += "; NOT READY"
	}
	return text
}

// queueList is what runs and waits for people.
func queueList(jobs []api.Job, clock wallClock) *list {
	l := &list{columns: []column{{title: "RANK", right: true}, {title: "JOB"}, {title: "NAME", rest: true}, {title: "USER"}, {title: "TEAM", wide: 90}, {title: "GPUS", right: true},
		{title: "NEED", wide: 170}, {title: "STATE"}, {title: "STARTED, OR STARTS", rest: true}, {title: "NODES", wide: 140, rest: true}, {title: "WHY", wide: 100, rest: true}}}
	for i := range jobs {
		j := &jobs[i]
		rank, style := "", styleNone
		if j.Waiting != nil && j.Waiting.Rank > 0 {
			rank = strconv.Itoa(j.Waiting.Rank)
		}
		if j.Unallocated {
			style = styleFaint
		}
		l.add(cell{rank, styleNone}, cell{j.ID, styleBold}, cell{unprintable(j.Name), style}, cell{unprintable(j.User), styleNone}, cell{unprintable(j.Team), styleNone},
			cell{strconv.Itoa(int(j.GPUs)), styleNone}, cell{j.Need, styleNone}, cell{j.State, stateStyle(j.State)}, cell{clock.startText(j), styleNone},
			cell{strings.Join(j.Nodes, " "), styleNone}, cell{clock.whyText(j), styleFaint})
	}
	return l
}

// startText is when a job started and until when it is safe, or when it will start.
func (c wallClock) startText(j *api.Job) string {
	switch {
	case j.State == "starting":
		return "now"
	case j.Running != nil && j.State == "stopping" && j.LeavesBy != nil:
		return "leaves by " + c.text(*j.LeavesBy)
	case j.Running != nil && j.State != "waiting":
		return c.when(*j.Running) + c.safeText(j)
	}
	return c.starts(j.Waiting)
}

// safeText says until when a run is safe, after a comma.
func (c wallClock) safeText(j *api.Job) string {
	switch {
	case j.Unallocated:
		return ", unallocated"
	case j.Protected != nil && j.Protected.After(c.now):
		return ", safe for " + spanOf(j.Protected.Sub(c.now))
	}
	return ""
}

// whyText is why a job waits, or is stopped.
func (c wallClock) whyText(j *api.Job) string {
	switch {
	case j.Waiting != nil:
		return c.local(j.Waiting.Why)
	case j.State == "stopping" || j.State == "running":
		return c.local(unprintable(j.Text))
	}
	return ""
}
