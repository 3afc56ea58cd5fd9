package live

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// Submission is a job, or an array of jobs, that somebody wants to run.
type Submission struct {
	// Job is what each of them declares, without ID and submission time.
	Job workload.Job
	// Indices of an array; empty = a single job. Throttle is how many of them may run at
	// once, 0 = all.
	Indices  []int32
	Throttle int
	// Hold: it waits for its owner's release. Begin is when it may start at the earliest.
	Hold  bool
	Begin time.Time
	// Payload is what the world needs to run it; it is kept in the spool.
	Payload []byte
	// Key makes a submission that is sent twice one; By is who sent it.
	Key, By string
}

// Submitted is what became of a submission.
type Submitted struct {
	// ID of the job, or of the array. Jobs are the IDs of all, First the number of the first.
	ID    string
	Jobs  []string
	First int32
	// Again: the same key was used before; nothing new was submitted.
	Again bool
}

// keyFor is how long an idempotency key holds.
const keyFor = 24 * workload.Hour

// keyed is what a key was used for.
type keyed struct {
	At    int64  `json:"at"`
	Sum   string `json:"sum"`
	First int32  `json:"first"`
	Count int    `json:"count"`
}

// Submit queues jobs. It returns once they are on disk.
func (d *Daemon) Submit(ctx context.Context, s *Submission) (*Submitted, error) {
	list, err := d.SubmitAll(ctx, []*Submission{s})
	if err != nil {
		return nil, err
	}
	return list[0].Done, list[0].Err
}

// Outcome is what became of one of several submissions.
type Outcome struct {
	Done *Submitted
	Err  error
}

// SubmitAll queues several submissions at one instant; each succeeds or fails by itself.
func (d *Daemon) SubmitAll(ctx context.Context, list []*Submission) ([]Outcome, error) {
	if _, ok := d.from(); ok {
		return nil, &Conflict{"jobs come from the cluster's own scheduler here: submit them there, with sbatch"}
	}
	for _, s := range list {
		if err := d.recall(ctx, s); err != nil {
			return nil, err
		}
	}
	return change(ctx, d, func(t *tx) ([]Outcome, error) {
		out := make([]Outcome, len(list))
		for i, s := range list {
			out[i].Done, out[i].Err = t.submit(s)
		}
		return out, nil
	})
}

// recall settles dependencies on jobs that ended so long ago that only the store knows them.
func (d *Daemon) recall(ctx context.Context, s *Submission) error {
	var left []workload.Dependency
	for i, a := range s.Job.After {
		d.book.mu.RLock()
		_, known := d.book.byID[a.Job]
		d.book.mu.RUnlock()
		if !known {
			row, err := d.cfg.Store.EndedByID(ctx, a.Job)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if err == nil {
				o, ok := workload.ParseOutcome(row.State)
				if !ok || !holds(a.When, o) {
					return &Invalid{Field: "after", Msg: fmt.Sprintf("job %s ended %s, so that it can never start", a.Job, row.State)}
				}
				if left == nil {
					left = slices.Clone(s.Job.After[:i])
				}
				continue
			}
		}
		if left != nil {
			left = append(left, a)
		}
	}
	if left != nil {
		s.Job.After = left
	}
	return nil
}

// holds tells whether the end of a job satisfies a dependency on it.
func holds(when workload.Condition, o workload.Outcome) bool {
	switch when {
	case workload.AfterOK:
		return o == workload.OutcomeCompleted
	case workload.AfterNotOK:
		return o != workload.OutcomeCompleted
	}
	return true
}

// Invalid is a request that cannot be: which field, and what would be right.
type Invalid struct{ Field, Msg string }

func (e *Invalid) Error() string { return e.Field + ": " + e.Msg }

// Busy is a request beyond a limit.
type Busy struct{ Msg string }

func (e *Busy) Error() string { return e.Msg }

// submit queues a submission at this instant.
func (t *tx) submit(s *Submission) (*Submitted, error) {
	b := t.d.book
	sum := ""
	if s.Key != "" {
		sum = s.sum()
		if k, ok := b.keys[keyOf(s)]; ok && k.At+keyFor > t.now {
			if k.Sum != sum {
				return nil, &Conflict{Msg: "the idempotency key was used for another submission"}
			}
			return s.done(k.First, true), nil
		}
	}
	j := &s.Job
	if err := t.check(s); err != nil {
		return nil, err
	}
	if err := t.never(j); err != nil {
		return nil, err
	}
	n := max(len(s.Indices), 1)
	if l := t.d.cfg.Limits; l.UserAlive > 0 {
		if u := b.users[j.User]; n > l.UserAlive || u != nil && u.Alive+n > l.UserAlive {
			return nil, &Busy{fmt.Sprintf("user %s may have %s that %s at once", j.User, many(l.UserAlive, "job"), pick(l.UserAlive == 1, "waits or runs", "wait or run"))}
		}
	}
	if l := t.d.cfg.Limits.Alive; l > 0 && len(b.alive)-b.gone+n > l {
		return nil, &Busy{fmt.Sprintf("no more than %s may wait and run at once", many(l, "job"))}
	}
	if err := t.account(j); err != nil {
		return nil, err
	}
	out := s.done(b.next, false)
	for i := range n {
		if err := t.submitOne(s, out.Jobs[i]); err != nil {
			return nil, err // the engine takes any job that passed the check
		}
	}
	if s.Key != "" {
		k := keyed{t.now, sum, out.First, n}
		b.key(keyOf(s), k)
		body, _ := json.Marshal(k)
		t.rows.Keys = append(t.rows.Keys, store.KeyRow{Key: keyOf(s), At: t.now, Body: body})
	}
	return out, nil
}

// submitOne queues one job of a submission.
func (t *tx) submitOne(s *Submission, id string) error {
	b := t.d.book
	j := s.Job
	j.ID, j.Submit = id, t.now
	if s.Throttle > 0 || !s.Begin.IsZero() {
		if j.Labels = maps.Clone(j.Labels); j.Labels == nil {
			j.Labels = map[string]string{}
		}
		if s.Throttle > 0 {
			j.Labels[LabelThrottle] = strconv.Itoa(s.Throttle)
		}
		if !s.Begin.IsZero() {
			j.Labels[LabelBegin] = strconv.FormatInt(s.Begin.UnixMilli(), 10)
		}
	}
	n := b.next
	if err := t.fact(fact.Fact{Kind: fact.JobSubmitted, Job: n, Node: -1, Submitted: &j, By: t.other(s.By, j.User)}); err != nil {
		return err
	}
	t.keep(n, s.Payload)
	w := &t.d.follow
	if t.d.engine.StateOf(n) == "blocked" {
		w.blocked[n] = true
		b.move(b.jobs[n], Blocked)
		t.d.seen(n, t.now)
	}
	hold := func(h fact.HoldBy, by string) {
		_ = t.fact(fact.Fact{Kind: fact.JobHeld, Job: n, Node: -1, Hold: h, By: by})
	}
	if !w.throttles.admits(b.jobs[n]) {
		hold(fact.HoldThrottle, "")
	}
	if s.Hold {
		hold(fact.HoldOwner, s.By)
	}
	if at := t.d.clock.of(s.Begin); !s.Begin.IsZero() && at > t.now {
		hold(fact.HoldBegin, "")
		w.alarm(at, n, fact.HoldBegin)
	}
	w.throttles.file(b.jobs[n])
	return nil
}

// other is who did something, where that is not the owner.
func (t *tx) other(by, owner string) string {
	if by == owner {
		return ""
	}
	return by
}

// done names the jobs of a submission by the number of the first.
func (s *Submission) done(first int32, again bool) *Submitted {
	id := strconv.Itoa(int(first) + 1)
	out := &Submitted{ID: id, First: first, Again: again, Jobs: []string{id}}
	if len(s.Indices) > 0 {
		out.Jobs = make([]string, len(s.Indices))
		for i, k := range s.Indices {
			out.Jobs[i] = id + "_" + strconv.Itoa(int(k))
		}
	}
	return out
}

// keyOf is the key of a submission, which holds for its sender alone.
func keyOf(s *Submission) string {
	h := sha256.Sum256([]byte(s.By + "\x00" + s.Key))
	return hex.EncodeToString(h[:16])
}

// sum tells submissions apart.
func (s *Submission) sum() string {
	c := *s
	c.Key = ""
	body, _ := json.Marshal(&c)
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:16])
}

// check says what is wrong with a submission.
func (t *tx) check(s *Submission) error {
	j := &s.Job
	switch {
	case j.User == "":
		return &Invalid{"user", "nobody is named"}
	case j.Need.Tasks < 0 || j.Need.GPUs < 0 || j.Need.CPU < 0 || j.Need.Memory < 0:
		return &Invalid{"need", "a size is negative"}
	case j.Estimate < 0 || j.Limit < 0 || j.Contract.MinRuntime < 0 || j.Contract.Grace < 0 || j.Contract.CheckpointInterval < 0 || j.Contract.RestartCost < 0:
		return &Invalid{"time", "a length of time is negative"}
	case s.Throttle < 0:
		return &Invalid{"array", "the number of jobs at once is negative"}
	}
	if err := j.Need.Check(); err != nil {
		return &Invalid{"need", err.Error()}
	}
	j.After = t.members(j.After)
	for _, a := range j.After {
		n, ok := t.d.book.byID[a.Job]
		if !ok {
			return &Invalid{"after", fmt.Sprintf("there is no job %s", a.Job)}
		}
		on := t.d.book.jobs[n]
		if on.Phase == Refused || on.Phase == Ended && !holds(a.When, on.Outcome) {
			return &Invalid{"after", fmt.Sprintf("job %s ended %s, so that it can never start", a.Job, on.Fate())}
		}
	}
	j.After = slices.DeleteFunc(slices.Clone(j.After), func(a workload.Dependency) bool {
		return t.d.book.jobs[t.d.book.byID[a.Job]].Phase == Ended
	})
	if len(j.After) == 0 {
		j.After = nil
	}
	return nil
}

// Fate is how a job ended, in a word.
func (j *Job) Fate() string {
	if j.Phase == Ended {
		return j.Outcome.String()
	}
	return j.Phase.String()
}

// equalName is the name of the budgets that hold until somebody sets others: every team that
// has ever asked for something has an equal share.
const equalName = "equal"

// account gives a team that comes for the first time its equal share, as long as nobody has
// set budgets.
func (t *tx) account(j *workload.Job) error {
	tree := t.d.book.budgets
	if tree == nil || t.d.header.Policy.Sharing == nil || t.d.book.budgetsBy != "" || tree.Name != equalName {
		return nil
	}
	if _, ok := tree.Leaf(j.Team, j.User); ok {
		return nil
	}
	teams := append(teamsOf(tree), j.Team)
	return t.fact(fact.Fact{Kind: fact.BudgetsChanged, Job: -1, Node: -1, Budgets: budget.Equal(equalName, teams), Epoch: t.d.clock.epoch})
}

// EqualShares tells whether nobody has set budgets: each team that comes has an equal share.
func (d *Daemon) EqualShares() bool {
	d.book.mu.RLock()
	defer d.book.mu.RUnlock()
	return d.book.budgets != nil && d.book.budgetsBy == "" && d.book.budgets.Name == equalName
}

// teamsOf lists the leaves of budgets that were made by account.
func teamsOf(tree *budget.Tree) []string {
	var out []string
	for i := range tree.Nodes {
		if n := &tree.Nodes[i]; i > 0 && len(n.Children) == 0 {
			if team, ok := budget.TeamOf(n.Name); ok {
				out = append(out, team)
			}
		}
	}
	return out
}

// members puts the jobs of an array that are known for the array's ID: what waits for an array waits for
// all of it.
func (t *tx) members(after []workload.Dependency) []workload.Dependency {
	b := t.d.book
	var out []workload.Dependency
	for i, a := range after {
		var jobs []workload.Dependency
		if _, known := b.byID[a.Job]; !known {
			for _, list := range [][]int32{b.alive, b.ended} {
				for _, n := range list {
					j := b.jobs[n]
					if j == nil {
						continue
					}
					if of, _, ok := ArrayOf(j.Spec.ID); ok && of == a.Job {
						jobs = append(jobs, workload.Dependency{Job: j.Spec.ID, When: a.When})
					}
				}
			}
		}
		switch {
		case len(jobs) > 0:
			if out == nil {
				out = slices.Clone(after[:i])
			}
			out = append(out, jobs...)
		case out != nil:
			out = append(out, a)
		}
	}
	if out == nil {
		return after
	}
	slices.SortFunc(out, func(a, b workload.Dependency) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.When, b.When))
	})
	return slices.Compact(out)
}
