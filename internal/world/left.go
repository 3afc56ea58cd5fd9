package world

import "time"

// Chooser is a world that decides of some jobs of a cluster only, and can tell which ones it leaves to the cluster's own
// scheduler.
type Chooser interface {
	// LeftAlone is as of the last look. It is not to be written to.
	LeftAlone() *Left
}

// Left is what is left to the cluster's own scheduler.
type Left struct {
	At time.Time
	// Jobs in the order in which they were submitted, Nodes in that of their names.
	Jobs  []LeftJob
	Nodes []LeftNode
}

// LeftJob is a job that is left to the cluster's own scheduler.
type LeftJob struct {
	ID, User, Account, Partition string
	// Running it is, or it waits.
	Running bool
	// GPUs that it asks for, as far as is known; Nodes that it has.
	GPUs  int64
	Nodes []string
	// Since when it runs, or was submitted.
	Since time.Time
	// Why, to follow "it".
	Why string
}

// LeftNode is a node that is none of the cluster's here.
type LeftNode struct{ Name, Why string }
