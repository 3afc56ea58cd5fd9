package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/escala-sched/escala/internal/api"
)

// runLeft lists what is left to the cluster's own scheduler.
func (f *queueFlags) runLeft(ctx context.Context, s *State, c *conn) error {
	if len(f.states) > 0 {
		return badUsage("escala queue --left", "--state chooses among jobs that are decided on here, --left lists the others")
	}
	q := url.Values{"limit": {strconv.Itoa(f.limit)}}
	if f.all {
		q.Set("limit", "10000")
	}
	if f.user != "" {
		q.Set("user", f.user)
	}
	if f.team != "" {
		q.Set("team", f.team)
	}
	var l api.Left
	raw, err := fetch(ctx, c, "/left", q, &l)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return s.printRaw(raw)
	}
	return s.printLeft(&l)
}

func (s *State) printLeft(l *api.Left) error {
	if len(l.Jobs) == 0 && len(l.Nodes) == 0 {
		return s.print("Nothing is left to another scheduler.\n")
	}
	running, waiting, gpus := 0, 0, int64(0)
	whys := &list{columns: []column{{title: "RUNNING", right: true}, {title: "GPUS", right: true}, {title: "WAITING", right: true}, {title: "WHY"}}}
	for _, w := range l.Whys {
		running, waiting, gpus = running+w.Running, waiting+w.Waiting, gpus+w.GPUs
		whys.add(cell{strconv.Itoa(w.Running), ""}, cell{strconv.FormatInt(w.GPUs, 10), ""}, cell{strconv.Itoa(w.Waiting), ""}, cell{"it " + unprintable(w.Why), ""})
	}
	if err := s.print("Left to the cluster's own scheduler: %s running on %s, %s waiting\n", plural(running, "job"), pluralGPUs(float64(gpus)), grouped(int64(waiting))); err != nil {
		return err
	}
	jobs := &list{columns: []column{{title: "JOB"}, {title: "USER"}, {title: "ACCOUNT", wide: 90}, {title: "PARTITION", wide: 100}, {title: "GPUS", right: true}, {title: "STATE"}, {title: "SINCE"},
		{title: "NODES", wide: 140, rest: true}, {title: "WHY", rest: true}}}
	clock := s.wall()
	for i := range l.Jobs {
		j := &l.Jobs[i]
		since := ""
		if j.Since != nil {
			since = clock.when(*j.Since)
		}
		jobs.add(cell{j.ID, styleBold}, cell{unprintable(j.User), ""}, cell{unprintable(j.Account), ""}, cell{unprintable(j.Partition), ""}, cell{strconv.FormatInt(j.GPUs, 10), ""},
			cell{j.State, stateStyle(j.State)}, cell{since, ""}, cell{unprintable(strings.Join(j.Nodes, " ")), ""}, cell{"it " + unprintable(j.Why), styleFaint})
	}
	nodes := &list{columns: []column{{title: "NODE"}, {title: "WHY", rest: true}}}
	for _, n := range l.Nodes {
		nodes.add(cell{unprintable(n.Name), ""}, cell{unprintable(n.Why), styleFaint})
	}
	for _, x := range []*list{whys, jobs, nodes} {
		if len(x.rows) == 0 {
			continue
		}
		if err := s.print("\n"); err != nil {
			return err
		}
		if err := s.showList(x); err != nil {
			return err
		}
	}
	if l.More > 0 {
		s.say("%s\n", fmt.Sprintf("And %s: escala queue --left --all", plural(l.More, "more job")))
	}
	return nil
}

// leftAlone says why the cluster's own scheduler has a job, "" where it has not.
func leftAlone(ctx context.Context, c *conn, id string) string {
	var l api.Left
	if _, err := fetch(ctx, c, "/left", url.Values{"limit": {"10000"}}, &l); err != nil {
		return ""
	}
	for i := range l.Jobs {
		if l.Jobs[i].ID == id {
			return "Job " + id + " is left to the cluster's own scheduler, since it " + unprintable(l.Jobs[i].Why) + "."
		}
	}
	return ""
}
