package cli

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/escala-sched/escala/internal/api"
)

// topModel is what top shows, and what of it is chosen. It knows nothing of terminals: it
// takes keys and gives text.
type topModel struct {
	width, height int
	data          *topData
	// pane is the part that keys are for, cursor the chosen line of each.
	pane   topPane
	cursor [topPanes]int
	// filter is what jobs must have; typing: it is being written.
	filter string
	typing bool
	// detail is all about a job, detailID which; scroll is how far down it is read.
	detail, detailID string
	scroll           int
	// asking is the job that may be cancelled.
	asking *api.Job
	// note is said until the next key.
	note string
}

type topPane int

const (
	paneRunning topPane = iota
	paneQueue
	paneTeams
	topPanes
)

var paneNames = [topPanes]string{"Running", "Queue", "Teams"}

// topDo is what a key asks to be done outside of the model.
type topDo int

const (
	topNothing topDo = iota
	topQuit
	// topOpen asks for all about a job, topCancel cancels it.
	topOpen
	topCancel
)

// key takes a key, by its name. job is what the deed is about.
func (m *topModel) key(name string) (do topDo, job string) {
	m.note = ""
	switch {
	case name == "ctrl+c":
		return topQuit, ""
	case m.typing:
		m.typed(name)
		return topNothing, ""
	case m.asking != nil:
		j := m.asking
		m.asking = nil
		if name == "y" {
			return topCancel, j.ID
		}
		m.note = "Not cancelled."
		return topNothing, ""
	case m.detailID != "":
		m.reading(name)
		return topNothing, ""
	}
	switch name {
	case "q":
		return topQuit, ""
	case "tab", "right", "l":
		m.pane = (m.pane + 1) % topPanes
	case "shift+tab", "left", "h":
		m.pane = (m.pane + topPanes - 1) % topPanes
	case "/":
		m.typing = true
	case "esc":
		m.filter = ""
	case "enter":
		if j := m.chosen(); j != nil {
			m.detail, m.detailID, m.scroll = "", j.ID, 0
			return topOpen, j.ID
		}
	case "c":
		m.asking = m.chosen()
	default:
		m.move(name)
	}
	return topNothing, ""
}

// move moves the cursor.
func (m *topModel) move(name string) {
	at := &m.cursor[m.pane]
	const page = 10
	switch name {
	case "up", "k":
		*at--
	case "down", "j":
		*at++
	case "pgup":
		*at -= page
	case "pgdown":
		*at += page
	case "home", "g":
		*at = 0
	case "end", "G":
		*at = m.count(m.pane) - 1
	}
	m.keep()
}

// keep keeps the cursors on what there is.
func (m *topModel) keep() {
	for p := range m.cursor {
		m.cursor[p] = max(min(m.cursor[p], m.count(topPane(p))-1), 0)
	}
}

// take takes new data. The cursors stay on their jobs, wherever these are now.
func (m *topModel) take(d *topData) {
	var on [topPanes]string
	for p := range on {
		if list := m.jobs(topPane(p)); m.cursor[p] < len(list) {
			on[p] = list[m.cursor[p]].ID
		}
	}
	m.data = d
	for p, id := range on {
		if i := slices.IndexFunc(m.jobs(topPane(p)), func(j api.Job) bool { return j.ID == id }); i >= 0 {
			m.cursor[p] = i
		}
	}
	m.keep()
}

// typed takes a key of the filter.
func (m *topModel) typed(name string) {
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "backspace":
		if _, n := utf8.DecodeLastRuneInString(m.filter); n > 0 {
			m.filter = m.filter[:len(m.filter)-n]
		}
	case "space":
		m.filter += " "
	default:
		if utf8.RuneCountInString(name) == 1 && len(m.filter) < 100 {
			m.filter += name
		}
	}
	m.keep()
}

// reading takes a key while all about a job is shown.
func (m *topModel) reading(name string) {
	switch name {
	case "q", "esc", "enter", "left":
		m.detail, m.detailID = "", ""
	case "up", "k":
		m.scroll--
	case "down", "j":
		m.scroll++
	case "pgup":
		m.scroll -= max(m.height-2, 1)
	case "pgdown", "space":
		m.scroll += max(m.height-2, 1)
	case "home", "g":
		m.scroll = 0
	}
	m.scroll = max(min(m.scroll, strings.Count(m.detail, "\n")), 0)
}

// jobs are those of a pane that the filter takes.
func (m *topModel) jobs(p topPane) []api.Job {
	if m.data == nil {
		return nil
	}
	all := m.data.Running
	switch p {
	case paneQueue:
		all = m.data.Waiting
	case paneTeams:
		return nil
	}
	if m.filter == "" {
		return all
	}
	var out []api.Job
	for i := range all {
		j := &all[i]
		text := strings.ToLower(strings.Join([]string{j.ID, j.Name, j.User, j.Team, j.State, strings.Join(j.Nodes, " ")}, " "))
		if strings.Contains(text, strings.ToLower(m.filter)) {
			out = append(out, *j)
		}
	}
	return out
}

func (m *topModel) count(p topPane) int {
	if p == paneTeams {
		if m.data == nil {
			return 0
		}
		return len(m.data.Teams)
	}
	return len(m.jobs(p))
}

// chosen is the job under the cursor, nil where there is none.
func (m *topModel) chosen() *api.Job {
	if list := m.jobs(m.pane); m.cursor[m.pane] < len(list) {
		return &list[m.cursor[m.pane]]
	}
	return nil
}
