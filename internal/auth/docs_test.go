package auth

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table of docs/security.md is that of the code.
func TestDocumentedTable(t *testing.T) {
	body, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(body)
	seen := map[string]bool{}
	for line := range strings.Lines(doc) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 9 {
			continue
		}
		for _, word := range strings.Split(cells[2], ",") {
			word = strings.Trim(strings.TrimSpace(word), "`")
			for _, a := range Actions() {
				if a.String() != word {
					continue
				}
				seen[word] = true
				for i, role := range []Role{Viewer, User, Manager, Operator, Admin} {
					g := Grant{Role: role}
					if role == Manager {
						g.Path = "x"
					}
					id := &Identity{User: "me", Roles: []Grant{g}}
					any := Can(id, a, Object{Owner: "you", Account: "y", Paths: []string{"y"}}) == nil
					own := Can(id, a, Object{Owner: "me", Account: "y", Paths: []string{"y"}}) == nil
					below := Can(id, a, Object{Owner: "you", Account: "x/y", Paths: []string{"x"}}) == nil
					cell := strings.TrimSpace(cells[3+i])
					want := ""
					switch {
					case any && word == "submit":
						want = "for anybody"
					case any:
						want = "yes"
					case own && word == "submit":
						want = "for oneself"
					case own && below:
						want = "own, and those charged below"
					case own:
						want = "own"
					case below && word == "credit":
						want = "accounts below"
					case below:
						want = "below"
					}
					if cell != want {
						t.Errorf("%s, %s: the document says %q, the code %q", word, role, cell, want)
					}
				}
			}
		}
	}
	for _, a := range Actions() {
		if !seen[a.String()] {
			t.Errorf("%s is not in the document", a)
		}
	}
	for _, want := range []string{
		fmt.Sprintf("%d hours without use", int(sessionIdle.Hours())), fmt.Sprintf("after %d days", int(sessionMost.Hours()/24)), fmt.Sprintf("(%d hours if", int(sessionMostIssuer.Hours())),
		fmt.Sprintf("for %d seconds, and begins", int(codeFor.Seconds())), "with\n  60 seconds for clocks",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document does not say %q", want)
		}
	}
}
