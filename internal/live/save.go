package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// saved is what a segment's snapshot keeps of the book: all but what the engine's own
// snapshot has.
type saved struct {
	// HoursAt is the time of Hours, which may be after the snapshot's last line.
	HoursAt workload.Time `json:"hours_at,omitempty"`

	Next      int32         `json:"next"`
	Jobs      []savedJob    `json:"jobs"`
	Nodes     []Node        `json:"nodes"`
	PolicyBy  string        `json:"policy_by,omitempty"`
	BudgetsBy string        `json:"budgets_by,omitempty"`
	Failed    []savedFailed `json:"failed,omitempty"`
	Windows   []Window      `json:"windows,omitempty"`
	// Reals go on under another scheduler, of jobs that have ended here.
	Reals map[int32]Real `json:"reals,omitempty"`
	// Hours are the rows of the hour that is not over.
	Hours []store.HourRow `json:"hours,omitempty"`
}

type savedFailed struct {
	Node int32         `json:"node"`
	At   workload.Time `json:"at"`
	User string        `json:"user"`
}

// savedJob is a job that is alive, or one that ended with all that is known of it.
type savedJob struct {
	Job
	Spec *workload.Job `json:",omitempty"`
}

// save returns what a snapshot keeps of the book. The caller is the loop.
func (d *Daemon) save() saved {
	b := d.book
	s := saved{Next: b.next, Nodes: b.nodes, PolicyBy: d.policyBy, BudgetsBy: b.budgetsBy, Reals: b.reals, Windows: b.windows, Hours: d.hours.present(d.clock.last), Jobs: make([]savedJob, 0, len(b.alive)-b.gone)}
	for _, n := range b.alive {
		if j := b.jobs[n]; j != nil && j.Phase.Alive() {
			s.Jobs = append(s.Jobs, savedJob{Job: *j})
			s.Jobs[len(s.Jobs)-1].Job.Spec = nil
		}
	}
	for n := range int32(len(b.nodes)) {
		for _, f := range d.follow.failed[n] {
			s.Failed = append(s.Failed, savedFailed{n, f.at, f.user})
		}
	}
	s.HoursAt = d.clock.last
	return s
}

// load fills a book from a snapshot; what jobs declare comes from the engine's.
func (b *Book) load(s *saved, e *engine.Engine) error {
	if len(s.Nodes) != len(b.nodes) {
		return fmt.Errorf("the snapshot knows %d nodes, the cluster has %d", len(s.Nodes), len(b.nodes))
	}
	maps.Copy(b.reals, s.Reals)
	b.next, b.nodes, b.budgets, b.budgetsBy = s.Next, s.Nodes, e.Budgets(), s.BudgetsBy
	b.windows = s.Windows
	for i := range s.Jobs {
		j := s.Jobs[i].Job
		if j.Spec = e.Job(j.Number); j.Spec == nil {
			return fmt.Errorf("the snapshot knows job %d, its engine does not", j.Number)
		}
		b.enter(&j)
		if r := j.Run(); r != nil && r.Left == workload.Unknown {
			b.user(&j).Running++
		}
	}
	return nil
}

// endedRow is what the store keeps of a job that came to its end.
func (d *Daemon) endedRow(j *Job) store.EndedRow {
	s := savedJob{Job: *j, Spec: j.Spec}
	s.Job.Spec = nil
	body, _ := json.Marshal(&s)
	start := j.FirstStart()
	return store.EndedRow{Number: j.Number, ID: j.Spec.ID, User: j.Spec.User, Team: j.Spec.Team, Name: j.Name(), State: j.Fate(),
		Submitted: j.Spec.Submit, Started: start, Ended: j.Ended, GPUMilliMs: j.GPUTime(j.Ended), Body: body}
}

// fromRow is the job of such a row.
func fromRow(r *store.EndedRow) (*Job, error) {
	var s savedJob
	if err := json.Unmarshal(r.Body, &s); err != nil {
		return nil, fmt.Errorf("what the store keeps of job %s: %w", r.ID, err)
	}
	j := s.Job
	j.Spec = s.Spec
	return &j, nil
}

func unixMilli(ms int64) time.Time { return time.UnixMilli(ms) }
