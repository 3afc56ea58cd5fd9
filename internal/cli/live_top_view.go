package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"github.com/escala-sched/escala/internal/api"
)

// staleAfter is the age from which on it is said how old the data is.
const staleAfter = 5 * time.Second

// teamColors are told apart on dark and on light grounds.
var teamColors = []string{"#4C8BF5", "#2FA36B", "#D9822B", "#B44FC1", "#C94F4F", "#2A9D9D", "#9A8B1F", "#7A6FF0", "#D05C93", "#6B8E23"}

// topPainter paints where there is colour.
type topPainter bool

func (p topPainter) style(s lipgloss.Style, text string) string {
	if !p || text == "" {
		return text
	}
	return s.Render(text)
}

func (p topPainter) team(t *topTeam, text string) string {
	return p.style(lipgloss.NewStyle().Foreground(lipgloss.Color(teamColors[t.color%len(teamColors)])), text)
}

func (p topPainter) bold(text string) string  { return p.style(lipgloss.NewStyle().Bold(true), text) }
func (p topPainter) faint(text string) string { return p.style(lipgloss.NewStyle().Faint(true), text) }
func (p topPainter) alarm(text string) string {
	return p.style(lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Red), text)
}

// view is the whole screen; without a height all of it.
func (m *topModel) view(clock wallClock, colored bool) string {
	p := topPainter(colored)
	if m.data == nil {
		return "asking the scheduler ...\n"
	}
	if m.detailID != "" {
		return m.viewDetail(p)
	}
	lines := append(m.head(p, clock), m.picture(p)...)
	foot := m.foot(p)
	room := 0
	if m.height > 0 {
		room = max(m.height-len(lines)-len(foot), 4)
	}
	lines = append(lines, m.panes(p, clock, room)...)
	if m.height > 0 {
		for len(lines) < m.height-len(foot) {
			lines = append(lines, "")
		}
		lines = lines[:min(len(lines), max(m.height-len(foot), 0))]
	}
	return strings.Join(append(lines, foot...), "\n")
}

// head is how things stand, and how many GPUs are used.
func (m *topModel) head(p topPainter, clock wallClock) []string {
	t := &m.data.Status
	state := "ready"
	switch {
	case !t.Ready:
		state = p.alarm("NOT READY: " + t.Trouble)
	case t.Shadow:
		state = "shadow: nothing is done"
	}
	left := fmt.Sprintf("%s  %s  policy %s", p.bold("escala"), state, t.Policy)
	right := clock.now.In(clock.loc).Format("15:04:05")
	if age := clock.now.Sub(m.data.at); age >= staleAfter {
		right = p.alarm(fmt.Sprintf("data is %s old", spanOf(age)))
	}
	lines := []string{left + strings.Repeat(" ", max(m.width-lipgloss.Width(left)-lipgloss.Width(right), 2)) + right}
	counts := fmt.Sprintf(" %s of %s, %d running, %s waiting", trimNumber(t.GPUsUsed, 1), plural(int(t.GPUs), "GPU"), t.Running, grouped(int64(t.Waiting)))
	if t.WaitingGPUs > 0 {
		counts += " for " + pluralGPUs(t.WaitingGPUs)
	}
	return append(lines, p.bar(max(m.width-utf8.RuneCountInString(counts)-2, 8), t)+counts)
}

// bar shows how much is used, of what is there.
func (p topPainter) bar(width int, t *api.Status) string {
	part := func(v float64) int {
		if t.GPUs == 0 {
			return 0
		}
		return min(int(v/float64(t.GPUs)*float64(width)+0.5), width)
	}
	used, out := part(t.GPUsUsed), width-part(t.GPUsAvailable)
	out = min(out, width-used)
	return "[" + p.style(lipgloss.NewStyle().Foreground(lipgloss.Green), strings.Repeat("#", used)) + strings.Repeat(".", width-used-out) + p.faint(strings.Repeat("x", out)) + "]"
}

// picture has a cell for each GPU, by nodes.
func (m *topModel) picture(p topPainter) []string {
	const most = 6
	teams := map[string]*topTeam{}
	for i := range m.data.Teams {
		teams[m.data.Teams[i].Name] = &m.data.Teams[i]
	}
	name, cells := 0, 0
	for i := range m.data.Nodes {
		name, cells = max(name, utf8.RuneCountInString(m.data.Nodes[i].Name)), max(cells, int(m.data.Nodes[i].GPUs))
	}
	name = min(name, 16)
	cells = min(cells, max(m.width-name-1, 1))
	across := max((m.width+2)/(name+cells+3), 1)
	held := m.held()
	var lines []string
	for i := 0; i < len(m.data.Nodes); i += across {
		if len(lines) == most {
			lines = append(lines, p.faint(fmt.Sprintf("and %s", plural(len(m.data.Nodes)-i, "more node"))))
			break
		}
		var row []string
		for k := i; k < min(i+across, len(m.data.Nodes)); k++ {
			n := &m.data.Nodes[k]
			row = append(row, pad(cut(n.Name, name), name)+" "+nodeCells(p, n, held[n.Name], teams, cells))
		}
		lines = append(lines, strings.TrimRight(strings.Join(row, "  "), " "))
	}
	return lines
}

// held are the teams that have the GPUs of each node, GPU by GPU.
func (m *topModel) held() map[string][]string {
	out := map[string][]string{}
	// By number, so that a job keeps its cells as long as those before it run.
	running := slices.SortedFunc(slices.Values(m.data.Running), func(a, b api.Job) int { return cmp.Compare(a.Number, b.Number) })
	for i := range running {
		j := &running[i]
		if len(j.Nodes) == 0 {
			continue
		}
		each := max(int(j.GPUs)/len(j.Nodes), 1)
		for _, n := range j.Nodes {
			for range each {
				out[n] = append(out[n], j.Team)
			}
		}
	}
	return out
}

// nodeCells is a node's GPUs: a letter for each that is used.
func nodeCells(p topPainter, n *api.Node, teams []string, by map[string]*topTeam, width int) string {
	var b strings.Builder
	empty := map[string]string{"down": "x", "drained": "-", "draining": "-"}[n.State]
	if empty == "" {
		empty = "."
	}
	for g := range min(int(n.GPUs), width) {
		if g < len(teams) && by[teams[g]] != nil {
			t := by[teams[g]]
			b.WriteString(p.team(t, string(t.letter)))
		} else {
			b.WriteString(p.faint(empty))
		}
	}
	return b.String() + strings.Repeat(" ", max(width-int(n.GPUs), 0))
}

// panes are what runs, what waits and who has how much. The one that keys are for gets the room
// that the others leave.
func (m *topModel) panes(p topPainter, clock wallClock, room int) []string {
	size := [topPanes]int{}
	for i := range size {
		size[i] = m.count(topPane(i))
	}
	if room > 0 {
		const frame = 3 // an empty line, a title, a header
		left := room - int(topPanes)*frame
		if left < int(topPanes) {
			size = [topPanes]int{}
			size[m.pane] = min(m.count(m.pane), max(room-frame, 1))
			for i := range size {
				if topPane(i) != m.pane {
					size[i] = -1
				}
			}
		} else {
			size = shareRoom(size, m.pane, left)
		}
	}
	var lines []string
	for i, n := range size {
		if n < 0 {
			continue
		}
		lines = append(lines, "")
		lines = append(lines, m.viewPane(p, clock, topPane(i), n)...)
	}
	return lines
}

// shareRoom gives each pane what it needs, as long as there is enough; else the chosen one has
// the most.
func shareRoom(want [topPanes]int, chosen topPane, room int) (out [topPanes]int) {
	least := max(room/6, 1)
	for i := range want {
		out[i] = min(want[i], least)
		room -= out[i]
	}
	order := []topPane{chosen, paneQueue, paneRunning, paneTeams}
	for _, i := range order {
		more := min(want[i]-out[i], max(room, 0))
		out[i] += more
		room -= more
	}
	return out
}

// viewPane is a pane with so many lines.
func (m *topModel) viewPane(p topPainter, clock wallClock, pane topPane, n int) []string {
	title := fmt.Sprintf("%s (%d)", paneNames[pane], m.count(pane))
	if pane == paneQueue && m.data.More {
		title = fmt.Sprintf("%s (first %d)", paneNames[pane], m.count(pane))
	}
	if m.filter != "" && pane != paneTeams {
		title += " with " + strconv.Quote(m.filter)
	}
	if pane == m.pane && m.height > 0 {
		title = "> " + title
	}
	lines := []string{p.bold(title)}
	first := 0
	if at := m.cursor[pane]; at >= n {
		first = at - n + 1
	}
	var l *list
	switch pane {
	case paneRunning:
		l = topRunning(window(m.jobs(pane), first, n), clock)
	case paneQueue:
		l = topWaiting(window(m.jobs(pane), first, n), clock)
	case paneTeams:
		l = m.topTeams(window(m.data.Teams, first, n))
	}
	if len(l.rows) == 0 {
		return append(lines, p.faint("  none"))
	}
	// The colours of states are few enough to be left out: the cursor is what is to be seen.
	for i, line := range strings.Split(strings.TrimRight(l.text(m.width-2, false), "\n"), "\n") {
		switch {
		case i == 0:
			line = p.faint("  " + line)
		case pane == m.pane && m.height > 0 && first+i-1 == m.cursor[pane]:
			if line = "> " + line; p {
				line = p.style(lipgloss.NewStyle().Reverse(true), pad(line, m.width))
			}
		default:
			line = "  " + line
		}
		lines = append(lines, line)
	}
	return lines
}

func window[T any](all []T, first, n int) []T {
	first = min(first, len(all))
	return all[first:min(first+max(n, 0), len(all))]
}

func topRunning(jobs []api.Job, clock wallClock) *list {
	l := &list{columns: []column{{title: "JOB"}, {title: "NAME", rest: true}, {title: "USER"}, {title: "TEAM"}, {title: "GPUS", right: true}, {title: "STATE", wide: 90}, {title: "SINCE"},
		{title: "SAFE"}, {title: "EXPECTED", wide: 100}, {title: "NODES", wide: 110, rest: true}}}
	for i := range jobs {
		j := &jobs[i]
		since, safe, expected := "", "no", ""
		switch {
		case j.State == "stopping" && j.LeavesBy != nil:
			safe = "leaves by " + clock.text(*j.LeavesBy)
		case j.Unallocated:
			safe = "unallocated"
		case j.Protected != nil && j.Protected.After(clock.now):
			safe = "for " + spanOf(j.Protected.Sub(clock.now))
		}
		if j.Running != nil {
			since = clock.when(*j.Running)
			if j.EstimateSeconds > 0 {
				left := time.Duration(j.EstimateSeconds)*time.Second - clock.now.Sub(*j.Running)
				expected = pick(left > 0, "another "+spanOf(max(left, 0)), "overdue")
			}
		}
		l.add(cell{j.ID, ""}, cell{unprintable(j.Name), ""}, cell{unprintable(j.User), ""}, cell{unprintable(j.Team), ""}, cell{strconv.Itoa(int(j.GPUs)), ""}, cell{j.State, ""}, cell{since, ""},
			cell{safe, ""}, cell{expected, ""}, cell{strings.Join(j.Nodes, " "), ""})
	}
	return l
}

func topWaiting(jobs []api.Job, clock wallClock) *list {
	l := &list{columns: []column{{title: "RANK", right: true}, {title: "JOB"}, {title: "NAME", rest: true}, {title: "USER"}, {title: "TEAM"}, {title: "GPUS", right: true}, {title: "STATE", wide: 90}, {title: "STARTS"}, {title: "WHY", wide: 100, rest: true}}}
	for i := range jobs {
		j := &jobs[i]
		rank, starts := "", clock.starts(j.Waiting)
		if j.Waiting != nil && j.Waiting.Rank > 0 {
			rank = strconv.Itoa(j.Waiting.Rank)
		} else if starts == "" {
			starts = j.State
		}
		l.add(cell{rank, ""}, cell{j.ID, ""}, cell{unprintable(j.Name), ""}, cell{unprintable(j.User), ""}, cell{unprintable(j.Team), ""}, cell{strconv.Itoa(int(j.GPUs)), ""}, cell{j.State, ""}, cell{starts, ""}, cell{clock.whyText(j), ""})
	}
	return l
}

func (m *topModel) topTeams(teams []topTeam) *list {
	l := &list{columns: []column{{title: ""}, {title: "TEAM", rest: true}, {title: "SHARE", right: true}, {title: "USED OF IT", right: true}, {title: "HAS NOW", right: true}, {title: "GPUS", right: true}, {title: "UNALLOCATED", right: true, wide: 90}, {title: "RUNNING", right: true}, {title: "WAITING", right: true}, {title: "FOR GPUS", right: true}}}
	for i := range teams {
		t := &teams[i]
		share, used, has := "", "", ""
		if t.Used != nil {
			used = fmt.Sprintf("%.0f %%", *t.Used*100)
		}
		if t.Share > 0 {
			share = fmt.Sprintf("%.0f %%", t.Share*100)
		}
		if m.data.Status.GPUs > 0 {
			has = fmt.Sprintf("%.0f %%", float64(t.GPUs)*100/float64(m.data.Status.GPUs))
		}
		number := func(n int) cell { return cell{pick(n == 0, "-", strconv.Itoa(n)), ""} }
		l.add(cell{string(t.letter), ""}, cell{unprintable(t.Name), ""}, cell{share, ""}, cell{used, ""}, cell{has, ""}, number(int(t.GPUs)), number(int(t.Unallocated)), number(t.Jobs), number(t.Waiting), number(int(t.WaitingGPUs)))
	}
	return l
}

// viewDetail is all about a job.
func (m *topModel) viewDetail(p topPainter) string {
	text := m.detail
	if text == "" {
		text = "asking about job " + m.detailID + " ..."
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	lines = lines[min(m.scroll, len(lines)-1):]
	if m.height > 0 {
		lines = lines[:min(len(lines), max(m.height-1, 1))]
		for len(lines) < m.height-1 {
			lines = append(lines, "")
		}
	}
	return strings.Join(append(lines, p.faint("esc back   up, down scroll")), "\n")
}

// foot is what keys do, or what is asked.
func (m *topModel) foot(p topPainter) []string {
	switch {
	case m.height == 0:
		return nil
	case m.asking != nil:
		return []string{p.alarm(fmt.Sprintf("Cancel job %s (%s) of %s? y cancels it, any other key does not", m.asking.ID, unprintable(m.asking.Name), unprintable(m.asking.User)))}
	case m.typing:
		return []string{"/" + m.filter + "_"}
	case m.note != "":
		return []string{cut(unprintable(m.note), m.width)}
	}
	return []string{p.faint(cut("tab next   up, down choose   enter details   c cancel   / filter   q quit", m.width))}
}
