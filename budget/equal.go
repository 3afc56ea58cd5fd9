package budget

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/escala-sched/escala/internal/yamlx"
)

// noTeam is the account of jobs that name no team, in trees that have one of that name.
const noTeam = "(no team)"

// Equal returns the tree of an organisation that shares equally: one leaf a team,
// in the order given, each once. It is a file as any other: its YAML reads as the
// same tree.
//
// A team may be called anything, since workloads do: jobs of a team whose name no
// account can have ('/' in it, say) belong to the account that [Tree.Find] finds for
// it, jobs without a team to the one called "(no team)". Without teams that is the only one.
func Equal(name string, teams []string) *Tree {
	if name == "" {
		name = "teams"
	}
	if len(teams) == 0 {
		teams = []string{""}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "name: %s\nchildren:\n", yamlx.Quote(accountName(name)))
	seen := make(map[string]bool, len(teams))
	for _, team := range teams {
		if !seen[team] {
			seen[team] = true
			fmt.Fprintf(&b, "  - {name: %s, share: 1}\n", yamlx.Quote(accountName(team)))
		}
	}
	t, err := Parse(name, b.Bytes())
	if err != nil {
		panic(err) // every name was made one that a file takes
	}
	return t
}

// accountName is the name of an account for a team of any name, another for each:
// what an account's name cannot have is written as %2F, byte by byte.
func accountName(team string) string {
	switch {
	case team == "":
		return noTeam
	case team == noTeam:
		return "%28" + team[1:]
	case plainName(team):
		return team
	}
	var b strings.Builder
	for i := 0; i < len(team); {
		r, n := utf8.DecodeRuneInString(team[i:])
		outer := (i == 0 || i+n == len(team)) && unicode.IsSpace(r)
		if outer || !nameRune(r) || r == utf8.RuneError || escape(team[i:]) {
			for _, c := range []byte(team[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(team[i : i+n])
		}
		i += n
	}
	return b.String()
}

// plainName tells the usual names, which are accounts' names as they are.
func plainName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '/' || c == '%' {
			return false
		}
	}
	return true
}

func nameRune(r rune) bool { return r != '/' && strconv.IsPrint(r) }

// escape tells whether a text begins as an escaped byte does.
func escape(s string) bool {
	hex := func(c byte) bool { return c-'0' <= 9 || c|32 >= 'a' && c|32 <= 'f' }
	return len(s) >= 3 && s[0] == '%' && hex(s[1]) && hex(s[2])
}

// TeamOf is the team for which an account of [Equal] has that name; ok is false for the account of work
// without a team.
func TeamOf(account string) (team string, ok bool) {
	if account == noTeam {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(account); i++ {
		if escape(account[i:]) {
			if c, err := strconv.ParseUint(account[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(account[i])
	}
	return b.String(), true
}
