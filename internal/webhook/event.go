package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/workload"
)

// entryLine is a line of the journal that may be an event.
type entryLine struct {
	batch int64
	line  int
	T     workload.Time `json:"t"`
	Fact  string        `json:"fact"`
	Do    string        `json:"do"`
	Job   int32         `json:"job"`
	Try   int32         `json:"try"`
}

// marks are what lines hold that may be events.
var marks = [][]byte{[]byte(`"fact":"started"`), []byte(`"fact":"stopped"`), []byte(`"fact":"finished"`), []byte(`"fact":"cancelled"`), []byte(`"do":"refuse"`)}

// linesOf returns the lines of a batch that may be events. Nothing of the batch is kept.
func linesOf(b *store.Batch) ([]entryLine, error) {
	var out []entryLine
	n := 0
	for line := range bytes.Lines(b.Body) {
		n++
		head := line[:min(len(line), 64)] // time and word stand first
		if !slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(head, m) }) {
			continue
		}
		x := entryLine{batch: b.Seq, line: n}
		if err := json.Unmarshal(line, &x); err != nil {
			return nil, fmt.Errorf("line %d of batch %d: %w", n, b.Seq, err)
		}
		out = append(out, x)
	}
	return out, nil
}

// Event is a CloudEvent.
type Event struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Subject     string    `json:"subject"`
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"`
	Data        Data      `json:"data"`
}

// Data is what an event tells of a job.
type Data struct {
	Job     string   `json:"job"`
	Name    string   `json:"name"`
	User    string   `json:"user"`
	Team    string   `json:"team"`
	Attempt int32    `json:"attempt,omitempty"`
	GPUs    int32    `json:"gpus"`
	Nodes   []string `json:"nodes,omitempty"`
	// Submitted, Started and Ended: of the run for started and preempted, of the job for finished.
	Submitted time.Time  `json:"submitted"`
	Started   *time.Time `json:"started,omitempty"`
	Ended     *time.Time `json:"ended,omitempty"`
	// Cause of preempted, Outcome and Exit of finished.
	Cause   string `json:"cause,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Exit    *int32 `json:"exit,omitempty"`
	// LostSeconds of the run have to be done again.
	LostSeconds float64           `json:"lost_seconds,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// prefix of the types of events.
const prefix = "dev.escala.job."

// labelled are what the labels begin with that events carry: what ties a job to an experiment.
var labelled = []string{"mlflow.", "wandb.", "experiment"}

// site knows what events say of the cluster.
type site struct {
	source string
	nodes  []string
	wall   func(workload.Time) time.Time
}

// eventOf makes the event of a line, nil where it is none. The type is without its prefix.
func (s *site) eventOf(x *entryLine, j *live.Job) (kind string, e *Event) {
	ended := !j.Phase.Alive() && j.Ended == x.T
	r := runOf(j, x.Try)
	switch {
	case x.Fact == fact.JobStarted.String() && r != nil:
		kind = Started
	case ended:
		kind = Finished
		if r == nil {
			r = j.Run()
		}
	case x.Fact == fact.JobStopped.String() && r != nil:
		kind = Preempted
	default: // withdrawn while it runs: its end is to come
		return "", nil
	}
	spec := j.Spec
	d := Data{Job: spec.ID, Name: j.Name(), User: spec.User, Team: spec.Team, GPUs: spec.Need.TotalGPUs(), Submitted: s.wall(spec.Submit), Labels: labelsOf(spec.Labels)}
	if r != nil {
		d.Attempt, d.Nodes, d.Started = r.Attempt, s.places(r), s.time(r.Up)
		d.GPUs = max(r.Count, d.GPUs)
	}
	switch kind {
	case Preempted:
		d.Ended, d.Cause, d.LostSeconds = s.time(r.Left), r.Cause.String(), float64(r.Lost)/1000
	case Finished:
		d.Started, d.Ended, d.Outcome = s.time(j.FirstStart()), s.time(j.Ended), j.Fate()
		if r != nil {
			d.Exit, d.LostSeconds = &r.Exit, float64(r.Lost)/1000
		}
	}
	return kind, &Event{SpecVersion: "1.0", ID: fmt.Sprintf("%d:%d", x.batch, x.line), Source: s.source, Type: prefix + kind, Subject: spec.ID,
		Time: s.wall(x.T), ContentType: "application/json", Data: d}
}

// runOf is the run of an attempt, nil if there is none.
func runOf(j *live.Job, attempt int32) *live.JobRun {
	for i := range j.Runs {
		if j.Runs[i].Attempt == attempt {
			return &j.Runs[i]
		}
	}
	return nil
}

func (s *site) time(t workload.Time) *time.Time {
	if t == workload.Unknown || t == workload.Never {
		return nil
	}
	w := s.wall(t)
	return &w
}

func (s *site) places(r *live.JobRun) (out []string) {
	for i := range r.Place {
		if n := int(r.Place[i].Node); n >= 0 && n < len(s.nodes) && !slices.Contains(out, s.nodes[n]) {
			out = append(out, s.nodes[n])
		}
	}
	return out
}

func labelsOf(all map[string]string) map[string]string {
	var out map[string]string
	for k, v := range all {
		if slices.ContainsFunc(labelled, func(p string) bool { return strings.HasPrefix(k, p) }) {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}
