package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/report"
)

func (s *Server) explainRoutes() {
	huma.Register(s.api, op(http.MethodGet, "/jobs/{id}/explain", "explain-job", "Where a job stands, and what its start turns on"), s.explain)
	huma.Register(s.api, op(http.MethodGet, "/accounts", "list-accounts", "The accounts of the budgets, with what they had"), s.accounts)
}

type explainOut struct{ Body api.Explanation }

func (s *Server) explain(ctx context.Context, in *idIn) (*explainOut, error) {
	j, err := s.d.One(ctx, in.ID)
	if err != nil {
		return nil, s.problem(err)
	}
	x, ok, err := s.d.Explain(ctx, j.Number)
	if err != nil {
		return nil, s.problem(err)
	}
	out := api.Explanation{Job: j.Spec.ID, State: j.Fate(), AsOf: s.d.Now().UTC()}
	if !ok || !j.Phase.Alive() {
		out.Lines = s.past(&j)
		return &explainOut{out}, nil
	}
	out.AsOf = s.d.Wall(x.At)
	out.Rank, out.Of, out.Need, out.Free, out.Block, out.Want, out.Stops = x.Rank, x.Waiting, x.Need, x.Free, x.Block, x.Want, x.Stops
	out.Ahead = s.ids(x.Ahead)
	for _, p := range x.Protections {
		for _, id := range s.ids([]int32{p.Job}) {
			out.Protections = append(out.Protections, api.Protection{Job: id, Until: s.d.Wall(p.Until), GPUs: p.GPUs})
		}
	}
	if x.Account != nil {
		for _, a := range append([]*engine.Account{x.Account}, x.Elsewhere...) {
			out.Accounts = append(out.Accounts, s.account(a))
		}
	}
	out.Lines = s.present(&j, &x)
	return &explainOut{out}, nil
}

// present says in sentences where a job stands that is alive.
func (s *Server) present(j *live.Job, x *engine.Explanation) []string {
	var out []string
	switch {
	case x.Waits && x.Rank > 0:
		out = append(out, fmt.Sprintf("It waits, %s of %d in line.", ordinal(x.Rank), x.Waiting), s.why(j, x))
	case x.Waits:
		out = append(out, s.why(j, x))
	}
	if r := j.Run(); r != nil && !x.Waits {
		out = append(out, "It runs. "+report.Sentence(r.Why, s.names()))
		switch {
		case j.Phase == live.Stopping:
			out = append(out, "It was told to stop. "+s.stopWhy(r))
		case x.Unallocated:
			out = append(out, "It runs unallocated: charged to nobody, and to be stopped whenever allocated work needs its GPUs.")
		case x.Protected > 0 && x.Protected > s.now():
			out = append(out, fmt.Sprintf("Until %s it cannot be stopped for others.", s.names().Time(x.Protected)))
		case x.Protected > 0:
			out = append(out, fmt.Sprintf("Its protection ended at %s: it may be stopped for work of accounts that had less for their share.", s.names().Time(x.Protected)))
		}
	}
	if x.Fill && x.Waits {
		out = append(out, "It waits unallocated: charged to nobody, after all work that is charged.")
	}
	if x.Account != nil && x.Account.Leaf >= 0 && !x.Fill {
		out = append(out, "Its account "+x.Account.Tree.Nodes[x.Account.Leaf].Path+" "+standing(x.Account.Standing)+".")
	}
	if x.Promised > 0 {
		out = append(out, fmt.Sprintf("It is promised a start at %s at the latest.", s.names().Time(x.Promised)))
	}
	if q := s.d.LastView().Of(j.Number); q != nil && q.Futures > 1 && s.at(q.P50) != nil && s.at(q.P90) != nil {
		if q.Few {
			out = append(out, "Few jobs have ended here yet, so that the times below are rough.")
		}
		out = append(out, fmt.Sprintf("In half of %d futures it has started by %s, in nine of ten by %s.", q.Futures, s.names().Time(q.P50), s.names().Time(q.P90)))
	}
	if x.Stops > 0 {
		out = append(out, "It was stopped for others "+often(x.Stops)+"; each time its next protection gets longer.")
	}
	return out
}

// often says how many times.
func often(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// why says why a job waits.
func (s *Server) why(j *live.Job, x *engine.Explanation) string {
	if j.Phase == live.Waiting {
		if closed := (&rooms{s: s}).closed(j); closed != "" {
			return closed
		}
	}
	return report.Sentence(x.Why, s.names())
}

// past says how a job came to its end.
func (s *Server) past(j *live.Job) []string {
	if j.Phase == live.Refused {
		return []string{report.Sentence(j.Refused, s.names())}
	}
	line := fmt.Sprintf("It ended %s at %s", j.Fate(), s.names().Time(j.Ended))
	if r := j.Run(); r != nil {
		line += fmt.Sprintf(", after %d of its runs, with exit code %d", len(j.Runs), j.Exit)
	}
	out := []string{line + "."}
	if j.EndedBy != "" {
		out = append(out, "It was cancelled by "+j.EndedBy+".")
	}
	if j.Text != "" {
		out = append(out, j.Text)
	}
	return out
}

func standing(s budget.Standing) string {
	switch s {
	case budget.Entitled:
		return "had less than its share, so its work goes first"
	case budget.Spent:
		return "took as much of its idle time back as it may, so its work goes last"
	}
	return "had its share or more, so accounts below theirs go before it"
}

func ordinal(n int) string {
	end := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return fmt.Sprint(n) + end
}

func (s *Server) account(a *engine.Account) api.Account {
	out := api.Account{Pool: a.Pool, AsOf: s.d.Wall(a.At), Levels: []api.Level{}}
	if a.Leaf >= 0 {
		out.Leaf, out.Standing = a.Tree.Nodes[a.Leaf].Path, a.Standing.String()
	}
	for i := range a.Levels {
		l := &a.Levels[i]
		n := &a.Tree.Nodes[l.Node]
		num, den := a.Tree.ProductShare(l.Node)
		x := api.Level{Account: n.Path, Depth: n.Depth, Charged: hours(l.Charged), Outstanding: hours(l.Outstanding), Unallocated: hours(l.Filled), Fair: hours(l.Fair)}
		if den > 0 {
			x.Share = float64(num) / float64(den)
		}
		if l.Of > 0 {
			x.Place, x.Of = l.Place, l.Of
		}
		out.Levels = append(out.Levels, x)
	}
	return out
}

type accountsOut struct{ Body api.Accounts }

func (s *Server) accounts(ctx context.Context, _ *struct{}) (*accountsOut, error) {
	list, err := s.d.Accounts(ctx)
	if err != nil {
		return nil, s.problem(err)
	}
	out := &accountsOut{api.Accounts{Accounts: []api.Account{}}}
	for _, a := range list {
		out.Body.Accounts = append(out.Body.Accounts, s.account(a))
	}
	return out, nil
}
