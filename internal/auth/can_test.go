package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The whole table, spelled out: what each may do to a job of eve's that is charged to
// language/pretraining, and to budgets and credits below it.
func TestCan(t *testing.T) {
	job := Object{Owner: "eve", Account: "language/pretraining/eve", Paths: []string{"language/pretraining"}}
	who := map[string]*Identity{
		"nobody":   {User: "eve"},
		"viewer":   {User: "vic", Roles: []Grant{{Role: Viewer}}},
		"owner":    {User: "eve", Roles: []Grant{{Role: User}}},
		"looker":   {User: "eve", Roles: []Grant{{Role: Viewer}}},
		"user":     {User: "ida", Roles: []Grant{{Role: User}}},
		"above":    {User: "ana", Roles: []Grant{{Role: User}, {Manager, "language"}}},
		"itself":   {User: "pia", Roles: []Grant{{Manager, "language/pretraining"}}},
		"below":    {User: "bob", Roles: []Grant{{Manager, "language/pretraining/eve"}}},
		"beside":   {User: "leo", Roles: []Grant{{Manager, "language/pre"}, {Manager, "vision"}}},
		"top":      {User: "dora", Roles: []Grant{{Manager, "/"}}},
		"operator": {User: "olga", Roles: []Grant{{Role: Operator}}},
		"admin":    {User: "adam", Roles: []Grant{{Role: Admin}}},
	}
	const readers, users, ops = "viewer looker owner user above itself below beside top operator admin", "owner user above itself below beside top operator admin", "operator admin"
	const over = "owner above itself below top operator admin"
	for a, may := range map[Action]string{
		ReadCluster: readers, ReadJobPublic: readers, Login: readers,
		ReadJobPrivate: "owner looker " + ops,
		Submit:         "owner " + ops, Checkpointed: "owner " + ops,
		Cancel: over, Hold: over, Release: over, Requeue: over,
		WhatIf:     users,
		SetBudgets: "above itself top " + ops,
		GiveCredit: "above itself top " + ops,
		Drain:      ops, Resume: ops, HoldOperator: ops, ReleaseOperator: ops, SetPolicy: ops, ExportJournal: ops, Configure: ops,
		ManageTokens: "admin",
		actions:      "", 255: "",
	} {
		for name, id := range who {
			err := Can(id, a, job)
			if want := slices.Contains(strings.Fields(may), name); (err == nil) != want {
				t.Errorf("%s, %s: %v", a, name, err)
			}
			var f *Forbidden
			if err != nil && (!errors.As(err, &f) || f.Want == "" || f.Action != a || Status(err) != 403) {
				t.Errorf("%s, %s: %#v", a, name, err)
			}
		}
		if Can(nil, a, job) == nil {
			t.Errorf("%s: nobody at all may", a)
		}
	}
	for _, a := range Actions() {
		if a.String() == "" || a.Words() == "" {
			t.Errorf("action %d has no words", a)
		}
	}
}

func TestForbiddenSaysWhatIsNeeded(t *testing.T) {
	id := &Identity{User: "ben", Roles: []Grant{{Role: User}}}
	for _, c := range []struct {
		a    Action
		o    Object
		want string
	}{
		{Cancel, Object{Owner: "ann", Account: "language/alignment"}, "ben may not cancel this job: that takes its owner ann (with at least the role user) or a manager of language/alignment or an operator"},
		{Cancel, Object{Owner: "ann"}, "ben may not cancel this job: that takes its owner ann (with at least the role user) or an operator"},
		{SetBudgets, Object{Paths: []string{"", "vision"}}, "ben may not change these budgets: that takes an operator"},
		{SetBudgets, Object{Paths: []string{"language", "vision"}}, "ben may not change these budgets: that takes a manager of language, vision or an operator"},
		{GiveCredit, Object{Account: "language"}, "ben may not credit this account: that takes a manager of / or an operator"},
		{ManageTokens, Object{}, "ben may not manage tokens: that takes an admin"},
	} {
		if err := Can(id, c.a, c.o); err == nil || err.Error() != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

func TestEmptyOwnerIsNobody(t *testing.T) {
	if Can(&Identity{Roles: []Grant{{Role: User}}}, Cancel, Object{}) == nil {
		t.Error("who has no name owns what has no owner")
	}
}

var operatorActions = []Action{Drain, Resume, HoldOperator, ReleaseOperator, SetPolicy, ExportJournal, Configure, ManageTokens}

// Nobody below an operator ever passes for what is the operators', whatever is asked about.
func TestOnlyOperatorsOperate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom([]string{"", "/", "a", "a/b", "a/b/c", "b", "ab"})
		grant := rapid.Custom(func(t *rapid.T) Grant {
			return Grant{rapid.SampledFrom([]Role{Nobody, Viewer, User, Manager}).Draw(t, "role"), path.Draw(t, "path")}
		})
		id := &Identity{User: rapid.SampledFrom([]string{"", "ann", "root"}).Draw(t, "user"), UID: rapid.IntRange(-1, 2).Draw(t, "uid"), Roles: rapid.SliceOf(grant).Draw(t, "roles")}
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			a := rapid.SampledFrom(Actions()).Draw(t, "action")
			o := Object{Owner: rapid.SampledFrom([]string{"", "ann", "root", "bob"}).Draw(t, "owner"), Account: path.Draw(t, "account"), Paths: rapid.SliceOf(path).Draw(t, "paths")}
			err := Can(id, a, o)
			if err != nil {
				continue
			}
			if slices.Contains(operatorActions, a) {
				t.Fatalf("%v may %s", id.Roles, a)
			}
			if a == ReadJobPrivate && o.Owner != id.User {
				t.Fatalf("%v reads what is private of %q", id.Roles, o.Owner)
			}
			if a == Submit && o.Owner != id.User {
				t.Fatalf("%v submits for %q", id.Roles, o.Owner)
			}
			if a == SetBudgets && slices.Contains(o.Paths, "") {
				t.Fatalf("%v changes what is above the root", id.Roles)
			}
		}
	})
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		top, path string
		want      bool
	}{
		{"/", "/", true}, {"/", "a/b", true}, {"/", "", false}, {"", "", false}, {"", "a", false},
		{"a", "a", true}, {"a", "a/b", true}, {"a", "ab", false}, {"a/b", "a", false}, {"a", "/", false},
	} {
		if covers(c.top, c.path) != c.want {
			t.Errorf("covers(%q, %q)", c.top, c.path)
		}
	}
	if got := fmt.Sprint(above("/"), "|", above("a"), "|", above("a/b"), "|", above("")); got != "|/|a|" {
		t.Error(got)
	}
}
