package auth

import (
	"slices"
	"strings"
	"testing"
)

func TestCanSubmit(t *testing.T) {
	f := newFixture(t, nil)
	ann := &Identity{User: "gus", Roles: []Grant{{Role: User}}}
	if err := f.CanSubmit(ann, "gus", "whatever"); err != nil {
		t.Error("without budgets any team will do:", err)
	}
	f.tree = tree(t, "name: lab\nchildren: [{name: a, share: 1}]")
	if err := f.CanSubmit(ann, "gus", "whatever"); err != nil {
		t.Error("budgets that name nobody:", err)
	}
	if _, any := f.Teams("gus"); !any {
		t.Error("any team")
	}
	f.tree = tree(t, labYAML)
	for _, c := range []struct {
		as         *Identity
		user, team string
		want       string
	}{
		{ann, "gus", "alignment", ""}, {ann, "gus", "vision", ""}, {ann, "gus", "/vision", ""}, {ann, "gus", "language/alignment", ""},
		{ann, "gus", "pretraining", ""}, // by its account for guests
		{ann, "gus", "", "a team: name one"},
		{ann, "gus", "unknown", "gus may not submit for team unknown: that takes a team of the budgets, and unknown is none; gus may name pretraining, guests, alignment, vision"},
		{ann, "gus", "visoin", "visoin is none; did you mean vision? gus may name"},
		{&Identity{User: "zoe", Roles: []Grant{{Role: User}}}, "zoe", "", ""}, // guests take anybody
		{ann, "eve", "pretraining", "submit for somebody else"},
		{&Identity{User: "ida", Roles: []Grant{{Role: User}}}, "ida", "alignment", "lists ida"},
		{&Identity{User: "olga", Roles: []Grant{{Role: Operator}}}, "eve", "pretraining", ""},
		{&Identity{User: "olga", Roles: []Grant{{Role: Operator}}}, "eve", "vision", "lists eve"},
		{&Identity{User: "vic", Roles: []Grant{{Role: Viewer}}}, "vic", "pretraining", "role user"},
	} {
		err := f.CanSubmit(c.as, c.user, c.team)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s, team %q: %v", c.as.User, c.user, c.team, err)
		}
	}
	if err := CanClaim(f.tree, SubmitOpen, "ida", "alignment"); err != nil {
		t.Error(err)
	}
	if paths, any := f.Teams("gus"); any || !slices.Equal(paths, []string{"language/pretraining", "language/pretraining/guests", "language/alignment", "vision"}) {
		t.Error(paths, any)
	}
	if o := f.Job("eve", "pretraining"); o.Owner != "eve" || o.Account != "language/pretraining/eve" {
		t.Errorf("%+v", o)
	}
	if o := f.Job("eve", "vision"); o.Account != "" {
		t.Errorf("%+v", o)
	}
}

// TestNoTeamTakesThem holds that whoever may submit for no team is told whom to ask.
func TestNoTeamTakesThem(t *testing.T) {
	closed := tree(t, "name: lab\nmanagers: [dora]\nchildren: [{name: a, share: 1, users: [ana], managers: [ben]}, {name: b, share: 1, users: [bo]}]")
	for _, team := range []string{"", "zoe", "a"} {
		err := CanClaim(closed, SubmitListed, "zoe", team)
		if want := "zoe may not submit for any team: that takes an account in the budgets that lists zoe, or that lists nobody: ask an operator, or a manager of the budgets (dora, ben), to put zoe into one of the teams a, b"; err == nil || err.Error() != want {
			t.Errorf("team %q: %v", team, err)
		}
	}
}
