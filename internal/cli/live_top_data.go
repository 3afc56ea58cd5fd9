package cli

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/api"
)

// topData is all that top shows. Its JSON is what top --output json prints.
type topData struct {
	Status  api.Status `json:"status"`
	Nodes   []api.Node `json:"nodes"`
	Running []api.Job  `json:"running"`
	Waiting []api.Job  `json:"waiting"`
	Teams   []topTeam  `json:"teams"`
	// More: there are other waiting jobs.
	More bool `json:"more,omitempty"`

	at time.Time
}

// topTeam is what a team has and wants.
type topTeam struct {
	Name string `json:"name"`
	// Share of everything that its account is owed; 0 = there is no such account.
	Share float64 `json:"share,omitempty"`
	// Used is what its account had in the window of the policy, as a part of its share of that; nil
	// where it is not known.
	Used *float64 `json:"used_of_share,omitempty"`
	// GPUs it has, of them unallocated ones, and GPUs that its jobs wait for.
	GPUs        int32 `json:"gpus"`
	Unallocated int32 `json:"unallocated,omitempty"`
	WaitingGPUs int32 `json:"waiting_gpus"`
	Jobs        int   `json:"jobs"`
	Waiting     int   `json:"waiting_jobs"`

	// letter stands for it in the picture, color is its place in the palette.
	letter rune
	color  int
}

// topQueue is how many waiting jobs are asked for.
const topQueue = 200

// readTop asks for all of it.
func readTop(ctx context.Context, c *conn, now time.Time) (*topData, error) {
	d := &topData{at: now}
	if _, err := fetch(ctx, c, "/status", nil, &d.Status); err != nil {
		return nil, err
	}
	var nodes api.Nodes
	if _, err := fetch(ctx, c, "/nodes", nil, &nodes); err != nil {
		return nil, err
	}
	d.Nodes = nodes.Nodes
	f := queueFlags{limit: topQueue}
	q, err := f.read(ctx, c, &d.Status)
	if err != nil {
		return nil, err
	}
	d.Running, d.Waiting, d.More = slices.Concat([]api.Job{}, q.running), slices.Concat([]api.Job{}, q.line, q.aside), q.more
	if len(q.running) >= topQueue { // the picture needs all
		d.Running = d.Running[:0]
		if _, err := pages(ctx, c, url.Values{}, runningStates, 1<<20, &d.Running); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(d.Running, func(a, b api.Job) int { return cmp.Compare(safeUntil(&a), safeUntil(&b)) })
	b, err := inForce(ctx, c)
	if err != nil && !notFound(err) {
		return nil, err
	}
	var had api.Accounts
	if b != nil {
		if _, err := fetch(ctx, c, "/accounts", nil, &had); err != nil {
			return nil, err
		}
	}
	d.addTeams(b, had.Accounts)
	return d, nil
}

// addTeams adds up what teams have. b is nil under policies that share by no budgets.
func (d *topData) addTeams(b *budgets, had []api.Account) {
	at := map[string]int{}
	team := func(name string) *topTeam {
		i, ok := at[name]
		if !ok {
			i = len(d.Teams)
			at[name] = i
			d.Teams = append(d.Teams, topTeam{Name: name})
		}
		return &d.Teams[i]
	}
	if b != nil {
		for i := range b.tree.Nodes {
			n := &b.tree.Nodes[i]
			if i > 0 && n.Leaf() && !n.Person || slices.ContainsFunc(n.Children, func(k int32) bool { return b.tree.Nodes[k].Person }) {
				num, den := b.tree.ProductShare(int32(i))
				t := team(n.Name)
				t.Share, t.Used = float64(num)/float64(den), usedOf(had, n.Path)
			}
		}
	}
	for i := range d.Running {
		j := &d.Running[i]
		t := team(j.Team)
		t.GPUs += j.GPUs
		t.Jobs++
		if j.Unallocated {
			t.Unallocated += j.GPUs
		}
	}
	for i := range d.Waiting {
		if j := &d.Waiting[i]; slices.Contains(lineStates, j.State) {
			t := team(j.Team)
			t.WaitingGPUs += j.GPUs
			t.Waiting++
		}
	}
	slices.SortFunc(d.Teams, func(a, b topTeam) int { return cmp.Compare(a.Name, b.Name) })
	letters(d.Teams)
}

// usedOf is what an account had of its share, in all pools.
func usedOf(had []api.Account, path string) *float64 {
	used, fair := 0.0, 0.0
	for i := range had {
		for k := range had[i].Levels {
			if l := &had[i].Levels[k]; l.Account == path {
				used, fair = used+l.Charged+l.Outstanding, fair+l.Fair
			}
		}
	}
	if fair == 0 {
		return nil
	}
	part := used / fair
	return &part
}

// letters gives each team a letter, of its name where one is free, and a colour.
func letters(teams []topTeam) {
	used := map[rune]bool{}
	for i := range teams {
		t := &teams[i]
		t.color, t.letter = i, '#'
		for _, r := range strings.ToUpper(t.Name) + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" {
			if !used[r] && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
				used[r], t.letter = true, r
				break
			}
		}
	}
}
