package fact

import (
	"errors"
	"fmt"
	"slices"

	"github.com/escala-sched/escala/workload"
)

// Window is a time for which nodes are kept: for maintenance, where nobody may run on them, or
// for some teams and users.
type Window struct {
	// ID names the window; no two have the same at once.
	ID string
	// Nodes ascend.
	Nodes       []int32
	From, Until workload.Time
	// Teams and Users may run there, whoever is in one of both; nobody where both are empty.
	Teams, Users []string
}

// Maintenance tells whether nobody may run there.
func (w *Window) Maintenance() bool { return len(w.Teams)+len(w.Users) == 0 }

// Allows tells whether a team's or user's work may run there.
func (w *Window) Allows(team, user string) bool {
	return slices.Contains(w.Teams, team) || slices.Contains(w.Users, user)
}

// Check holds that a window means something on a cluster of so many nodes.
func (w *Window) Check(nodes int) error {
	switch {
	case w.ID == "":
		return errors.New("a window has an id")
	case len(w.Nodes) == 0:
		return errors.New("a window has nodes")
	case w.Until <= w.From:
		return errors.New("a window ends after it begins")
	}
	for i, n := range w.Nodes {
		if n < 0 || int(n) >= nodes {
			return fmt.Errorf("a window on node %d, but there are %d nodes", n, nodes)
		}
		if i > 0 && n <= w.Nodes[i-1] {
			return errors.New("the nodes of a window ascend, each once")
		}
	}
	return nil
}
