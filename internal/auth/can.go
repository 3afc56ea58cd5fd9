package auth

import (
	"fmt"
	"slices"
	"strings"
)

// rule says who may do something.
type rule struct {
	word, words string
	// any is the least role that may do it to everything, own to what is one's own; Nobody = own
	// makes no difference.
	any, own Role
	// where are the accounts of the budgets all of which a manager must manage to do it; nil =
	// managers may do no more than others.
	where func(*Object) []string
}

// rules is the table of who may do what.
var rules = [actions]rule{
	ReadCluster:     {"read-cluster", "read how the cluster stands", Viewer, Nobody, nil},
	ReadJobPublic:   {"read-job", "read jobs", Viewer, Nobody, nil},
	ReadJobPrivate:  {"read-job-private", "read the command line and the log of this job", Operator, Viewer, nil},
	Submit:          {"submit", "submit for somebody else", Operator, User, nil},
	Cancel:          {"cancel", "cancel this job", Operator, User, ofAccount},
	Hold:            {"hold", "hold this job", Operator, User, ofAccount},
	Release:         {"release", "release this job", Operator, User, ofAccount},
	HoldOperator:    {"hold-operator", "hold jobs in the operators' name", Operator, Nobody, nil},
	ReleaseOperator: {"release-operator", "release what an operator holds", Operator, Nobody, nil},
	Requeue:         {"requeue", "have this job queued again", Operator, User, ofAccount},
	Checkpointed:    {"checkpointed", "say that this job has saved its state", Operator, User, nil},
	Observe:         {"observe", "say what another scheduler did with jobs", Operator, Nobody, nil},
	WhatIf:          {"what-if", "ask what other rules would do", User, Nobody, nil},
	Drain:           {"drain", "drain nodes", Operator, Nobody, nil},
	Resume:          {"resume", "resume nodes", Operator, Nobody, nil},
	SetBudgets:      {"set-budgets", "change these budgets", Operator, Nobody, ofPaths},
	GiveCredit:      {"credit", "credit this account", Operator, Nobody, aboveAccount},
	SetPolicy:       {"set-policy", "change the policy", Operator, Nobody, nil},
	ExportJournal:   {"export-journal", "read the journal", Operator, Nobody, nil},
	Configure:       {"configure", "change how the daemon runs", Operator, Nobody, nil},
	ManageTokens:    {"tokens", "manage tokens", Admin, Nobody, nil},
	Login:           {"login", "make a login link", Viewer, Nobody, nil},
}

func ofAccount(o *Object) []string { return []string{o.Account} }
func ofPaths(o *Object) []string   { return o.Paths }

// aboveAccount: what an account has is decided above it.
func aboveAccount(o *Object) []string { return []string{above(o.Account)} }

// Can decides: nil, or a [Forbidden] that says what would be needed.
func Can(id *Identity, a Action, o Object) error {
	if a >= actions {
		return &Forbidden{Action: a, User: id.name(), Want: "an action that exists"}
	}
	r := &rules[a]
	role := id.Role()
	switch {
	case role == Nobody:
	case role >= r.any:
		return nil
	case r.own != Nobody && role >= r.own && o.Owner != "" && o.Owner == id.User:
		return nil
	case r.where != nil && id.managesAll(r.where(&o)):
		return nil
	}
	return &Forbidden{Action: a, User: id.name(), Want: r.want(&o)}
}

func (id *Identity) name() string {
	if id == nil {
		return ""
	}
	return id.User
}

// managesAll tells whether all of the accounts lie where the identity is a manager. Of no accounts
// at all it is enough to be a manager of some.
func (id *Identity) managesAll(paths []string) bool {
	if !slices.ContainsFunc(id.Roles, func(g Grant) bool { return g.Role == Manager && g.Path != "" }) {
		return false
	}
	for _, p := range paths {
		if !id.Manages(p) {
			return false
		}
	}
	return true
}

// want says who may, in words.
func (r *rule) want(o *Object) string {
	var who []string
	if r.own != Nobody {
		switch {
		case o.Owner == "":
			who = append(who, "its owner")
		case r.own > Viewer:
			who = append(who, fmt.Sprintf("its owner %s (with at least the role %s)", o.Owner, r.own))
		default:
			who = append(who, "its owner "+o.Owner)
		}
	}
	if r.where != nil {
		switch paths := r.where(o); {
		case slices.Contains(paths, ""): // above the root, or of no account
		case len(paths) == 0:
			who = append(who, "a manager")
		default:
			const few = 5
			more := ""
			if len(paths) > few {
				more = fmt.Sprintf(" and %d more", len(paths)-few)
				paths = paths[:few]
			}
			who = append(who, "a manager of "+strings.Join(paths, ", ")+more)
		}
	}
	who = append(who, article(r.any)+" "+r.any.String())
	return strings.Join(who, " or ")
}
