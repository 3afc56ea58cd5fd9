package trace

import "github.com/escala-sched/escala/workload"

// idSet finds doubled job IDs. Most logs number their jobs upwards; as long as
// they do, comparing with the last ID is proof enough, and a map of millions of
// strings is not needed.
type idSet struct {
	last string
	seen map[string]struct{}
}

// add tells whether id is new. jobs are those accepted so far.
func (s *idSet) add(jobs []workload.Job, id string) bool {
	if s.seen == nil {
		if len(jobs) == 0 || shortlexLess(s.last, id) {
			s.last = id
			return true
		}
		s.seen = make(map[string]struct{}, 2*len(jobs))
		for i := range jobs {
			s.seen[jobs[i].ID] = struct{}{}
		}
	}
	if _, dup := s.seen[id]; dup {
		return false
	}
	s.seen[id] = struct{}{}
	return true
}

// shortlexLess orders by length, then by bytes: "9" before "10", "a9" before "a10".
func shortlexLess(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// intern keeps one copy of each name. A workload has millions of jobs of a few
// hundred users, mostly the one just seen.
type intern struct {
	recent [64]string
	all    map[string]string
}

func (t *intern) get(s string) string {
	if s == "" {
		return ""
	}
	slot := (int(s[len(s)-1]) + 7*len(s) + 31*int(s[0])) & 63
	if t.recent[slot] == s {
		return t.recent[slot]
	}
	kept, ok := t.all[s]
	if !ok {
		if t.all == nil {
			t.all = map[string]string{}
		}
		kept = s
		t.all[s] = s
	}
	t.recent[slot] = kept
	return kept
}
