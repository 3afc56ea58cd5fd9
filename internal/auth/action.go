package auth

// Action is something that somebody wants to do.
type Action uint8

// Actions. What [Object] has to say for each is in brackets.
const (
	// ReadCluster reads status, nodes, budgets, policy, metrics.
	ReadCluster Action = iota
	// ReadJobPublic reads a job without what is private of it.
	ReadJobPublic
	// ReadJobPrivate reads command line, environment and log of a job (Owner).
	ReadJobPrivate
	// Submit queues a job (Owner = whom it is for).
	Submit
	// Cancel withdraws a job (Owner, Account).
	Cancel
	// Hold and Release are the owner's hold (Owner, Account).
	Hold
	Release
	// HoldOperator and ReleaseOperator are the hold that only operators take back.
	HoldOperator
	ReleaseOperator
	// Requeue stops a run and has the job wait again (Owner, Account).
	Requeue
	// Checkpointed tells that a run has saved its state (Owner).
	Checkpointed
	// Observe tells what another scheduler did with a job.
	Observe
	// WhatIf asks what another policy or budget would do.
	WhatIf
	// Drain and Resume take nodes out of use and back.
	Drain
	Resume
	// SetBudgets changes the budgets (Paths = ChangedPaths of both trees).
	SetBudgets
	// GiveCredit gives or takes GPU-hours of an account's hard budget (Account).
	GiveCredit
	// SetPolicy changes the policy.
	SetPolicy
	// ExportJournal reads everything that ever happened, by name.
	ExportJournal
	// Configure changes how the daemon runs: log level, profiles, shutting down.
	Configure
	// ManageTokens lists, makes and revokes tokens.
	ManageTokens
	// Login makes a one-time link for oneself.
	Login
	actions
)

// String is the word of an action, for logs and the audit.
func (a Action) String() string {
	if a < actions {
		return rules[a].word
	}
	return "unknown"
}

// Words are what comes after "may not".
func (a Action) Words() string {
	if a < actions {
		return rules[a].words
	}
	return "do this"
}

// Actions lists all of them.
func Actions() []Action {
	list := make([]Action, actions)
	for i := range list {
		list[i] = Action(i)
	}
	return list
}

// Object is what an action is done to.
type Object struct {
	// Owner is the user whose job it is.
	Owner string
	// Account is the path of the account that a job is charged to, or that is credited.
	Account string
	// Paths are the accounts that have to agree to a change of the budgets: [ChangedPaths].
	Paths []string
}
