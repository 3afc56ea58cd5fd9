package slurmhist

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/workload"
)

// Event is a time in which a node was not to be had.
type Event struct {
	Node string
	// From and To in Unix milliseconds; To is [workload.Never] while it lasts.
	From, To workload.Time
	// Down: what ran there was lost; else it was drained.
	Down bool
}

const eventsWanted = "the text of sacctmgr -P show event"

// AddEvents reads sacctmgr -P show event. Times without a zone are of loc.
func (s *Site) AddEvents(file string, data []byte, loc *time.Location) error {
	return table(file, data, []string{"NodeName", "TimeStart", "TimeEnd", "State"}, eventsWanted, func(line int, get func(string) string) error {
		node := get("NodeName")
		if node == "" {
			return nil // the cluster registered
		}
		from, err := clock(get("TimeStart"), loc)
		if err != nil {
			return bad(file, line, "a time such as 2026-11-30T12:03:23", "TimeStart %q", get("TimeStart"))
		}
		to := workload.Never
		if v := get("TimeEnd"); v != "Unknown" && v != "" && v != "None" {
			if to, err = clock(v, loc); err != nil {
				return bad(file, line, "a time such as 2026-11-30T12:03:23, or Unknown", "TimeEnd %q", v)
			}
		}
		names, err := slurm.Hosts(node)
		if err != nil {
			return bad(file, line, "names of nodes", "%s", err)
		}
		state := strings.ToUpper(get("State"))
		for _, n := range names {
			s.Events = append(s.Events, Event{Node: n, From: from, To: to, Down: strings.Contains(state, "DOWN") || strings.Contains(state, "FAIL") && !strings.Contains(state, "FAILING")})
		}
		return nil
	})
}

func clock(s string, loc *time.Location) (workload.Time, error) {
	if loc == nil {
		loc = time.UTC
	}
	t, err := time.ParseInLocation("2006-01-02T15:04:05", s, loc)
	if err != nil {
		return 0, err
	}
	return t.UnixMilli(), nil
}

// Outages says what became of the events of nodes.
type Outages struct {
	Used int `json:"used"`
	// Outside lie before or behind the history; Unknown are of nodes that the cluster does not
	// have.
	Outside int `json:"outside"`
	Unknown int `json:"of_other_nodes"`
	// Open had no end.
	Open int `json:"open"`
}

// outages makes outages of the cluster of events. Those of one node that touch become one. from
// and to bound the history, on the clock that begins at epoch; nodes are those of the cluster by
// the name that Slurm has for them.
func outages(events []Event, nodes map[string][]int32, spec *cluster.Spec, epoch, from, to workload.Time) Outages {
	var o Outages
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(b2i(a.Down), b2i(b.Down)), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	for i := 0; i < len(events); {
		e := events[i]
		for i++; i < len(events) && events[i].Node == e.Node && events[i].Down == e.Down && events[i].From <= e.To; i++ {
			e.To = max(e.To, events[i].To)
		}
		at := nodes[e.Node]
		begin, end := max(e.From-epoch, from), e.To
		if end != workload.Never {
			end = max(end, e.From+workload.Second) - epoch // what ran was lost, however short it was
		}
		switch {
		case len(at) == 0:
			o.Unknown++
			continue
		case begin > to || end <= begin:
			o.Outside++
			continue
		}
		o.Used++
		if end == workload.Never {
			o.Open++
		}
		gone, back := "drain", "resume"
		if e.Down {
			gone, back = "down", "up"
		}
		for _, n := range at {
			name := spec.Nodes[n].Name
			spec.Outages = append(spec.Outages, cluster.Outage{At: begin, Node: name, Change: gone})
			if end != workload.Never {
				spec.Outages = append(spec.Outages, cluster.Outage{At: end, Node: name, Change: back})
			}
		}
	}
	slices.SortStableFunc(spec.Outages, func(a, b cluster.Outage) int { return cmp.Compare(a.At, b.At) })
	return o
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
