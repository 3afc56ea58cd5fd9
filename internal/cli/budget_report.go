package cli

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// budgetReport is what the budget commands print as JSON.
type budgetReport struct {
	Name   string   `json:"name"`
	SHA256 string   `json:"sha256"`
	Levels []string `json:"levels,omitempty"`
	Pools  []string `json:"pools,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	// Accounts in the order of the file, each before those below it.
	Accounts []budgetAccount `json:"accounts"`
	// Jobs and what they ask for, with a workload.
	Jobs      int               `json:"jobs,omitempty"`
	GPUHours  float64           `json:"gpuHours,omitempty"`
	Unmatched []unmatchedReport `json:"unmatched,omitempty"`
	area      int64
}

type budgetAccount struct {
	Path     string   `json:"path"`
	Name     string   `json:"name"`
	Depth    int32    `json:"depth"`
	Level    string   `json:"level,omitempty"`
	Person   bool     `json:"person,omitempty"`
	Reported bool     `json:"reported,omitempty"`
	Managers []string `json:"managers,omitempty"`
	Users    []string `json:"users,omitempty"`
	// Its only share; nil in a tree with pools, whose shares are Pools.
	*shareReport
	Pools  []shareReport `json:"pools,omitempty"`
	Budget *hardReport   `json:"budget,omitempty"`
	Jobs   int           `json:"jobs,omitempty"`
	// GPUHours that the jobs take if each runs once.
	GPUHours float64 `json:"gpuHours,omitempty"`
	// area is GPUHours in milli-GPU x ms; the sum of a long log exceeds 64 bits only
	// beyond 2.5 billion GPU-hours.
	area   int64
	shares []shareReport // in the order of the pools
}

type hardReport struct {
	GPUHours         float64 `json:"gpuHours"`
	Per              string  `json:"per"`
	CarryOverPercent int64   `json:"carryOverPercent"`
	OnExhaustion     string  `json:"onExhaustion"`
}

type unmatchedReport struct {
	Team      string `json:"team"`
	Jobs      int    `json:"jobs"`
	Why       string `json:"why"`
	FirstJob  string `json:"firstJob"`
	FirstUser string `json:"firstUser"`
}

func newBudgetReport(t *budget.Tree) *budgetReport {
	r := &budgetReport{Name: t.Name, SHA256: t.Hash, Levels: t.Levels, Pools: t.Pools, Notes: t.Notes, Accounts: make([]budgetAccount, len(t.Nodes))}
	for i := range t.Nodes {
		n, a := &t.Nodes[i], &r.Accounts[i]
		*a = budgetAccount{Path: n.Path, Name: n.Name, Depth: n.Depth, Person: n.Person, Managers: n.Managers, Users: n.Users, shares: sharesOf(t, int32(i))}
		if len(t.Pools) > 0 {
			a.Pools = a.shares
		} else {
			a.shareReport = &a.shares[0]
		}
		if len(t.Levels) > 0 {
			a.Level = t.Levels[n.Depth]
		}
		if h := n.Budget; h != nil {
			a.Budget = &hardReport{GPUHours: gpuHoursOf(h.GPUTime), Per: h.Per.String(), CarryOverPercent: h.CarryOver, OnExhaustion: h.OnExhaustion.String()}
		}
	}
	for _, i := range t.Reported {
		r.Accounts[i].Reported = true
	}
	return r
}

func gpuHoursOf(area int64) float64 { return float64(area) / float64(budget.GPUHour) }

// count adds what the jobs of a workload ask for.
func (r *budgetReport) count(t *budget.Tree, w *workload.Workload) {
	for i := range w.Jobs {
		j := &w.Jobs[i]
		area := j.Need.TotalMilli() * w.Actual[i].Duration
		r.Jobs++
		r.area += area
		leaf, ok := t.Leaf(j.Team, j.User)
		if !ok {
			continue
		}
		for n := leaf; n >= 0; n = t.Nodes[n].Parent {
			r.Accounts[n].Jobs++
			r.Accounts[n].area += area
		}
	}
	r.GPUHours = gpuHoursOf(r.area)
	for i := range r.Accounts {
		r.Accounts[i].GPUHours = gpuHoursOf(r.Accounts[i].area)
	}
	for _, u := range t.CheckWorkload(w) {
		r.Unmatched = append(r.Unmatched, unmatchedReport{Team: u.Team, Jobs: u.Jobs, Why: u.Why, FirstJob: u.First, FirstUser: u.User})
	}
}

// unmatched is the number of jobs without an account.
func (r *budgetReport) unmatched() int { return r.Jobs - r.Accounts[0].Jobs }

// table is the tree for people.
func (r *budgetReport) table(t *budget.Tree, counted bool) *table {
	out := &table{header: []string{"ACCOUNT", "SHARE", "OF LEVEL"}}
	if len(t.Pools) == 0 {
		out.header = append(out.header, "OF ALL")
	}
	for _, pool := range t.Pools {
		out.header = append(out.header, "OF "+pool)
	}
	out.header = append(out.header, "BUDGET")
	before := len(out.header)
	if counted {
		out.header = append(out.header, "JOBS", "GPU-HOURS", "OF ASKED")
	}
	out.header = append(out.header, "MANAGERS", "USERS")
	for i := range r.Accounts {
		a := &r.Accounts[i]
		cells := []string{strings.Repeat("  ", int(a.Depth)) + a.Name, "", ""}
		if i > 0 {
			cells[1] = alike(a.shares, func(s *shareReport) string { return yamlx.Decimal(s.Share) })
			cells[2] = alike(a.shares, func(s *shareReport) string { return percent(s.ShareOfLevel) })
		}
		for k := range a.shares {
			cells = append(cells, percent(a.shares[k].ShareOfAll))
		}
		cells = append(cells, hardText(a.Budget))
		if counted {
			cells = append(cells, r.asked(a.Jobs, a.GPUHours)...)
		}
		users := a.Users
		if a.Person {
			users = nil // its name says it
		}
		out.add(append(cells, few(a.Managers), few(users))...)
	}
	if n := r.unmatched(); counted && n > 0 {
		cells := append(make([]string, before), r.asked(n, gpuHoursOf(r.area-r.Accounts[0].area))...)
		cells[0] = "(no account)"
		out.add(append(cells, "", "")...)
	}
	return out
}

func (r *budgetReport) asked(jobs int, gpuHours float64) []string {
	part := 0.0
	if r.GPUHours > 0 {
		part = gpuHours / r.GPUHours
	}
	return []string{grouped(int64(jobs)), hours(gpuHours), percent(part)}
}

func percent(part float64) string { return trimNumber(part*100, 2) + " %" }

func hardText(h *hardReport) string {
	if h == nil {
		return ""
	}
	text := fmt.Sprintf("%s GPU-h a %s, %s", hours(h.GPUHours), h.Per, h.OnExhaustion)
	if h.CarryOverPercent > 0 {
		text += fmt.Sprintf(", %d %% carried over", h.CarryOverPercent)
	}
	return text
}

// few lists the first names and counts the rest.
func few(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
