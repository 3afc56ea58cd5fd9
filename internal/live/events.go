package live

import (
	"cmp"
	"slices"
	"sync"

	"github.com/escala-sched/escala/fact"
)

// Event tells that something changed; what it is now is to be asked for.
type Event struct {
	// ID grows with each event, and from one start of the daemon to the next: one from before a
	// restart is never mistaken for one of now.
	ID int64 `json:"-"`
	// Type is job, node, budgets or policy.
	Type string `json:"type"`
	// Job number of a job's event, with its ID, user, team and phase.
	Job  int32  `json:"-"`
	Name string `json:"id,omitempty"`
	User string `json:"user,omitempty"`
	Team string `json:"team,omitempty"`
	// State of the job, or of the node.
	State string `json:"state,omitempty"`
	Node  string `json:"node,omitempty"`
	At    int64  `json:"at"`
}

const (
	// remembered is how many events a listener that comes back can catch up on.
	remembered = 8192
	// patience is how many a listener may be behind before it is told to begin anew.
	patience = 1024
)

// Events hands changes to whoever listens. A listener that is too slow loses its place and
// nobody waits for it.
type Events struct {
	mu     sync.Mutex
	last   int64
	recent []Event
	subs   map[*Listener]struct{}
}

// Listener is one that listens.
type Listener struct {
	// C has the events, and is closed when the listener was too slow.
	C chan Event
	// Begin is the ID of the last event before it listened.
	Begin  int64
	events *Events
}

// eventsOf is how many events one writer of the journal may tell: its epoch is above these bits.
const eventsOf = 1 << 40

// NewEvents returns a hub that nobody listens to, of the writer with that epoch.
func NewEvents(epoch int64) *Events {
	return &Events{subs: map[*Listener]struct{}{}, last: epoch * eventsOf}
}

// Listen begins behind the event with that ID, 0 = with what comes now. missed tells that
// events in between are forgotten, or were before a restart.
func (e *Events) Listen(after int64) (l *Listener, catchUp []Event, missed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l = &Listener{C: make(chan Event, patience), Begin: e.last, events: e}
	e.subs[l] = struct{}{}
	if after <= 0 || after == e.last {
		return l, nil, false
	}
	// IDs have no gaps: what comes behind one is remembered from its successor on.
	i, found := slices.BinarySearchFunc(e.recent, after+1, func(x Event, id int64) int { return cmp.Compare(x.ID, id) })
	if !found {
		return l, nil, true
	}
	return l, slices.Clone(e.recent[i:]), false
}

// Close ends a listener.
func (l *Listener) Close() {
	l.events.mu.Lock()
	defer l.events.mu.Unlock()
	delete(l.events.subs, l)
}

// Listeners is how many listen now.
func (e *Events) Listeners() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.subs)
}

func (e *Events) emit(list []Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range list {
		e.last++
		list[i].ID = e.last
	}
	e.recent = append(e.recent, list...)
	if n := len(e.recent) - remembered; n > remembered/4 {
		e.recent = slices.Delete(e.recent, 0, n)
	}
	for l := range e.subs {
		for _, x := range list {
			select {
			case l.C <- x:
				continue
			default:
			}
			close(l.C)
			delete(e.subs, l)
			break
		}
	}
}

// publish tells what an instant changed.
func (e *Events) publish(d *Daemon, t *tx) {
	at := d.clock.wall(t.now).UnixMilli()
	slices.Sort(t.changed)
	var list []Event
	for _, n := range slices.Compact(t.changed) {
		if j := d.book.jobs[n]; j != nil {
			list = append(list, Event{Type: "job", Job: n, Name: j.Spec.ID, User: j.Spec.User, Team: j.Spec.Team, State: j.Fate(), At: at})
		}
	}
	slices.Sort(t.nodes)
	for _, n := range slices.Compact(t.nodes) {
		x := &d.book.nodes[n]
		state := "up"
		switch {
		case x.Down:
			state = "down"
		case x.Drained:
			state = "drained"
		}
		list = append(list, Event{Type: "node", Node: d.cfg.World.Cluster().Nodes[n].Name, State: state, At: at})
	}
	for i := range t.facts {
		if t.facts[i].Kind == fact.BudgetsChanged {
			list = append(list, Event{Type: "budgets", At: at})
		}
	}
	if t.policy != nil {
		list = append(list, Event{Type: "policy", At: at})
	}
	if len(list) > 0 {
		e.emit(list)
	}
}
