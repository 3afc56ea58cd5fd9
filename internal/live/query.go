package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// Filter chooses jobs; what is empty chooses all.
type Filter struct {
	// Phases, or, for ended jobs, the word that says how they ended.
	States     []string
	User, Team string
	// Array is the ID of an array, whose jobs are chosen.
	Array string
}

// Takes tells whether a job is chosen.
func (f *Filter) Takes(j *Job) bool {
	if f.User != "" && j.Spec.User != f.User || f.Team != "" && j.Spec.Team != f.Team {
		return false
	}
	if f.Array != "" {
		if a, _, ok := ArrayOf(j.Spec.ID); !ok || a != f.Array {
			return false
		}
	}
	return len(f.States) == 0 || slices.Contains(f.States, j.Fate()) || j.Phase.Alive() && slices.Contains(f.States, "alive") ||
		!j.Phase.Alive() && slices.Contains(f.States, "ended")
}

// copied is a job that nobody changes any more.
func copied(j *Job) Job {
	out := *j
	out.Runs = slices.Clone(j.Runs)
	return out
}

// Job finds a job by ID, in the store if it ended long ago. [NotFound].
func (d *Daemon) Job(ctx context.Context, id string) (Job, error) {
	d.book.mu.RLock()
	if n, ok := d.book.byID[id]; ok {
		defer d.book.mu.RUnlock()
		return copied(d.book.jobs[n]), nil
	}
	d.book.mu.RUnlock()
	row, err := d.cfg.Store.EndedByID(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Job{}, &NotFound{"job " + id}
	case err != nil:
		return Job{}, err
	}
	j, err := fromRow(&row)
	if err != nil {
		return Job{}, err
	}
	return *j, nil
}

// One is Job for those who may have meant an array, or an element of one: [IsArray], [NoElement].
func (d *Daemon) One(ctx context.Context, id string) (Job, error) {
	j, err := d.Job(ctx, id)
	var missing *NotFound
	if !errors.As(err, &missing) {
		return j, err
	}
	if array, _, ok := ArrayOf(id); ok {
		if all, err := d.elements(ctx, array); err != nil || len(all) > 0 {
			return j, cmp.Or(err, error(&NoElement{Array: array, ID: id, First: first(all), Last: last(all), N: len(all)}))
		}
		return j, missing
	}
	all, other := d.elements(ctx, id)
	if other != nil {
		return j, other
	}
	if len(all) > 0 {
		return j, &IsArray{ID: id, N: len(all), First: first(all)}
	}
	return j, missing
}

func first(ids []string) string { return ids[0] }
func last(ids []string) string  { return ids[len(ids)-1] }

// elements are the IDs of an array's jobs that are known, in their order.
func (d *Daemon) elements(ctx context.Context, array string) ([]string, error) {
	known := map[string]int32{}
	f := Filter{Array: array}
	b := d.book
	b.mu.RLock()
	for _, list := range [][]int32{b.alive, b.ended} {
		for _, n := range list {
			if j := b.jobs[n]; j != nil && f.Takes(j) {
				known[j.Spec.ID] = n
			}
		}
	}
	b.mu.RUnlock()
	for cursor := ""; ; {
		jobs, next, err := d.Past(ctx, f, cursor, 1000)
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			known[jobs[i].Spec.ID] = jobs[i].Number
		}
		if cursor = next; next == "" {
			break
		}
	}
	return slices.SortedFunc(maps.Keys(known), func(a, b string) int { return cmp.Compare(known[a], known[b]) }), nil
}

// IsArray says that an ID is that of an array of N jobs.
type IsArray struct {
	ID    string
	N     int
	First string
}

func (e *IsArray) Error() string {
	return fmt.Sprintf("job %s is an array of %d: name an element, such as %s", e.ID, e.N, e.First)
}

// NoElement says that an array has no job of that ID.
type NoElement struct {
	Array, ID, First, Last string
	N                      int
}

func (e *NoElement) Error() string {
	if e.N == 1 {
		return fmt.Sprintf("there is no job %s: the one element of array %s is %s", e.ID, e.Array, e.First)
	}
	return fmt.Sprintf("there is no job %s: array %s has %d elements, %s to %s", e.ID, e.Array, e.N, e.First, e.Last)
}

// Members are the numbers of an array's jobs that are alive, or that of a single job. [NotFound]; [Conflict]
// where all of an array has ended.
func (d *Daemon) Members(ctx context.Context, id string) ([]int32, error) {
	d.book.mu.RLock()
	if n, ok := d.book.byID[id]; ok {
		d.book.mu.RUnlock()
		return []int32{n}, nil
	}
	var out []int32
	f := Filter{Array: id}
	for _, n := range d.book.alive {
		if j := d.book.jobs[n]; j != nil && j.Phase.Alive() && f.Takes(j) {
			out = append(out, n)
		}
	}
	d.book.mu.RUnlock()
	if len(out) > 0 {
		return out, nil
	}
	j, err := d.One(ctx, id)
	var array *IsArray
	if errors.As(err, &array) {
		return nil, &Conflict{fmt.Sprintf("array %s is over: its %s ended", id, pick(array.N == 1, "one job has", fmt.Sprintf("%d jobs have", array.N)))}
	}
	if err != nil {
		return nil, err
	}
	return []int32{j.Number}, nil
}

// Alive lists jobs that wait or run, by number, from behind a number on. more tells that there
// are others.
func (d *Daemon) Alive(f Filter, after int32, limit int) (out []Job, more bool) {
	b := d.book
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := b.alive
	if f.User != "" {
		if list = nil; b.users[f.User] != nil {
			list = b.users[f.User].jobs
		}
	}
	i := sort.Search(len(list), func(i int) bool { return list[i] > after })
	for ; i < len(list); i++ {
		j := b.jobs[list[i]]
		if j == nil || !j.Phase.Alive() || !f.Takes(j) {
			continue
		}
		if len(out) == limit {
			return out, true
		}
		out = append(out, copied(j))
	}
	return out, false
}

// Some returns jobs by number, those that are not known any more left out.
func (d *Daemon) Some(numbers []int32) []Job {
	d.book.mu.RLock()
	defer d.book.mu.RUnlock()
	out := make([]Job, 0, len(numbers))
	for _, n := range numbers {
		if j := d.book.jobs[n]; j != nil {
			out = append(out, copied(j))
		}
	}
	return out
}

// Past lists jobs that ended, the last first. next is the cursor of the page behind.
func (d *Daemon) Past(ctx context.Context, f Filter, after string, limit int) (out []Job, next string, err error) {
	q := store.EndedFilter{User: f.User, Team: f.Team}
	if len(f.States) == 1 && f.States[0] != "ended" {
		q.State = f.States[0]
	}
	if f.Array != "" {
		q.IDPrefix = f.Array + "_"
	}
	rows, next, err := d.cfg.Store.Ended(ctx, q, after, limit)
	if err != nil {
		return nil, "", err
	}
	for i := range rows {
		j, err := fromRow(&rows[i])
		if err != nil {
			return nil, "", err
		}
		out = append(out, *j)
	}
	return out, next, nil
}

// Nodes are the nodes as they stand, in the order of the cluster.
func (d *Daemon) Nodes() []Node {
	d.book.mu.RLock()
	defer d.book.mu.RUnlock()
	out := slices.Clone(d.book.nodes)
	for i := range out {
		out[i].Runs = slices.Clone(out[i].Runs)
	}
	return out
}

// Counts are the numbers of jobs by phase, and the GPUs in use, in milli-GPU.
type Counts struct {
	Waiting, Running, Held, Blocked        int
	Installed, Available, Used, WaitingGPU int64
	Down, Drained                          int
	Now                                    workload.Time
}

// Counts counts.
func (d *Daemon) Counts() Counts {
	b := d.book
	b.mu.RLock()
	defer b.mu.RUnlock()
	g := d.engine.Gauge()
	c := Counts{Waiting: b.counts[Waiting] + b.counts[Clearing], Running: b.counts[Starting] + b.counts[Running] + b.counts[Stopping], Held: b.counts[Held], Blocked: b.counts[Blocked],
		Installed: g.Installed, Available: g.Available, Used: g.Assigned, WaitingGPU: g.WaitingMilli, Now: b.now}
	for i := range b.nodes {
		if b.nodes[i].Down {
			c.Down++
		}
		if b.nodes[i].Drained {
			c.Drained++
		}
	}
	return c
}

// Store is where the journal is kept.
func (d *Daemon) Store() store.Store { return d.cfg.Store }

// Head is where the journal ends on disk.
func (d *Daemon) Head(context.Context) (store.Head, error) { return *d.headNow.Load(), nil }
