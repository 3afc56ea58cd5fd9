package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// unsure says what of a submission may be a slip: it is taken, and does something else than its owner
// may think.
func (s *Server) unsure(b *api.Submit, j *workload.Job, now time.Time) []string {
	var out []string
	for _, text := range []string{s.teamUnknown(b.Team, j), s.typeUnknown(j)} {
		if text != "" {
			out = append(out, text)
		}
	}
	if b.Begin != nil && b.Begin.Before(now.Add(-time.Second)) {
		out = append(out, fmt.Sprintf("the time before which it is not to start, %s, is past: it starts as soon as it can", utc(*b.Begin)))
	}
	if b.Deadline != nil && b.Deadline.Before(now) {
		out = append(out, fmt.Sprintf("its deadline, %s, is past", utc(*b.Deadline)))
	}
	return out
}

// utc writes a time as sentences have it.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// teamUnknown tells what becomes of work whose team no account of the budgets takes. named is the team
// that was asked for, "" where the user's own stands for it.
func (s *Server) teamUnknown(named string, j *workload.Job) string {
	tree, _, _ := s.d.Budgets()
	if tree == nil || s.d.Header().Policy.Sharing == nil {
		return ""
	}
	if _, ok := tree.Leaf(j.Team, j.User); ok {
		return ""
	}
	teams := slices.DeleteFunc(auth.TeamNames(tree), func(n string) bool { return strings.HasPrefix(n, "(") })
	if s.d.EqualShares() {
		if named == "" || len(teams) == 0 {
			return ""
		}
		if near := yamlx.Nearest(j.Team, teams); near != "" {
			return fmt.Sprintf("team %s is new; did you mean %s? As nobody has set budgets, it now has a share of its own, as large as each of the others'", j.Team, near)
		}
		return fmt.Sprintf("team %s is new: as nobody has set budgets, it now has a share of its own, as large as each of the others' (%s)", j.Team, few(teams))
	}
	what := "team " + j.Team + " is not in the budgets"
	if near := yamlx.Nearest(j.Team, teams); near != "" && named != "" {
		what += "; did you mean " + near + "?"
	} else if named == "" {
		what = "no team is named, and no account of the budgets is " + j.User + "'s: name one of " + few(teams) + "."
	} else {
		what += ", which have " + few(teams) + "."
	}
	return what + " No account takes it: it runs unallocated, after all work that one does"
}

// few writes the first of many.
func few(words []string) string {
	const most = 8
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", len(words)-most)
	}
	return strings.Join(words, ", ")
}

// typeUnknown tells of GPU types that no node declares: nodes that declare none serve any.
func (s *Server) typeUnknown(j *workload.Job) string {
	n := &j.Need
	if n.GPUTypes == "" || n.GPUs == 0 {
		return ""
	}
	spec := s.cfg.World.Cluster()
	untyped := 0
	for i := range spec.Nodes {
		x := &spec.Nodes[i]
		if x.GPUs == 0 {
			continue
		}
		switch {
		case x.GPUType == "":
			untyped++
		case n.AllowsType(x.GPUType):
			return ""
		}
	}
	types := strings.ReplaceAll(n.GPUTypes, "|", " or ")
	switch {
	case len(spec.Nodes) == 0:
		return fmt.Sprintf("the cluster declares no GPU types: whether a GPU is %s is not looked at", article(types))
	case untyped == 0:
		return "" // it is refused
	case untyped == 1:
		return fmt.Sprintf("no node declares GPUs of type %s: it may run on the node whose GPU type is not declared, which serves any type", types)
	}
	return fmt.Sprintf("no node declares GPUs of type %s: it may run on the %d nodes whose GPU type is not declared, which serve any type", types, untyped)
}

// article puts an indefinite article before a word.
func article(word string) string {
	if word != "" && strings.ContainsRune("AEIOaeio", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
