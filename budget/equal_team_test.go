package budget

import (
	"testing"

	"pgregory.net/rapid"
)

// The account of a team tells which team it is of.
func TestTeamOfEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		team := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"vision", "(no team)", "a/b", "50%", "%28x", " x "})).Draw(t, "team")
		got, ok := TeamOf(Equal("equal", []string{team}).Nodes[1].Name)
		if ok != (team != "") || ok && got != team {
			t.Fatalf("%q became %q, %v", team, got, ok)
		}
	})
}
