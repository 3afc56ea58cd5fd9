package api

import "time"

// Left is what is left to the cluster's own scheduler.
type Left struct {
	AsOf *time.Time `json:"as_of,omitempty"`
	// Whys count the jobs by reason, most GPUs first.
	Whys  []LeftWhy  `json:"whys"`
	Jobs  []LeftJob  `json:"jobs" doc:"those that run, then those that wait, each in the order of their IDs"`
	More  int        `json:"more,omitempty" doc:"jobs that are not listed"`
	Nodes []LeftNode `json:"nodes"`
}

// LeftWhy is a reason for which jobs are left.
type LeftWhy struct {
	Why     string `json:"why" doc:"follows 'it'"`
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
	// GPUs of those that run.
	GPUs int64 `json:"gpus"`
}

// LeftJob is a job that is left to the cluster's own scheduler.
type LeftJob struct {
	ID        string     `json:"id"`
	User      string     `json:"user,omitempty"`
	Account   string     `json:"account,omitempty"`
	Partition string     `json:"partition,omitempty"`
	State     string     `json:"state" enum:"running,waiting"`
	GPUs      int64      `json:"gpus,omitempty"`
	Nodes     []string   `json:"nodes,omitempty"`
	Since     *time.Time `json:"since,omitempty" doc:"its start, or its submission"`
	Why       string     `json:"why" doc:"follows 'it'"`
}

// LeftNode is a node of the cluster that is not scheduled here.
type LeftNode struct {
	Name string `json:"name"`
	Why  string `json:"why" doc:"follows 'it'"`
}
