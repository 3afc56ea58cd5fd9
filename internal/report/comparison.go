package report

import (
	"fmt"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/workload"
)

// Comparison is what was compared, and what came of it.
type Comparison struct {
	// Title of the page; "" = made from the workload's name.
	Title string
	// Workload and Cluster are required. Their hashes, licences, dropped rows and
	// notes stand in the head of every rendering.
	Workload *workload.Workload
	Cluster  *cluster.Spec
	// Attribution is how the workload's authors ask to be named, "" = not asked.
	Attribution string
	// Assumptions taken beyond the workload's notes: checkpoints, restart cost,
	// failures, prices, watts and the like.
	Assumptions []Assumption
	// Version of escala, and the command line.
	Version, Command string
	// Budgets that policies are judged by, nil = none; Unbudgeted are the jobs of the
	// workload that no account takes.
	Budgets    *budget.Tree
	Unbudgeted []Unbudgeted
	// Policies in the order of the report; differences are to the first.
	Policies []Policy
	// Check says how near a replay of what was recorded comes to it, nil where nothing was.
	Check *Check
}

// Assumption is one thing that was taken as given.
type Assumption struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Source says where the value comes from ("flag", "default", a citation).
	Source string `json:"source,omitempty"`
}

// Unbudgeted are jobs of a team that no account takes, for one reason.
type Unbudgeted struct {
	Jobs int    `json:"jobs"`
	Team string `json:"team"`
	Why  string `json:"why"`
	// First is the ID of the first of them.
	First string `json:"first"`
}

// Text names them in a line.
func (u *Unbudgeted) Text() string {
	jobs := count(float64(u.Jobs)) + " jobs"
	if u.Jobs == 1 {
		jobs = "1 job"
	}
	return fmt.Sprintf("%s of team %q: %s (first: %s)", jobs, u.Team, u.Why, u.First)
}

// Policy is one policy's run.
type Policy struct {
	Name string
	// Description is one sentence, Source the paper or system it is from.
	Description, Source string
	// Text of the policy file and its SHA-256 (hex).
	Text, Hash string
	// Estimates names the error model of the estimates with its seed.
	Estimates string
	// Notes are assumptions that this run took.
	Notes   []string
	Metrics metrics.Metrics
	// Series and Runs feed the pictures; nil = no picture.
	Series   *metrics.Series
	Runs     *metrics.Runs
	Accounts *metrics.AccountSeries
	Services *metrics.ServiceSeries
}

// title returns the title in use.
func (c *Comparison) title() string {
	switch {
	case c.Title != "":
		return c.Title
	case len(c.Policies) == 1:
		return c.Workload.Name + " under " + c.Policies[0].Name
	}
	return c.Workload.Name + ": " + count(float64(len(c.Policies))) + " policies compared"
}
