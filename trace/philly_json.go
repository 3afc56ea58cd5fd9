package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/escala-sched/escala/workload"
)

// phillyJSONFormat is the original cluster_job_log of the Philly trace: a JSON
// array of jobs with every scheduling attempt.
var phillyJSONFormat = Format{
	Name:  "philly-json",
	Title: "Philly (Microsoft, ATC'19), original cluster_job_log",
	Detect: func(head []byte, name string) bool {
		head = bytes.TrimSpace(head)
		return len(head) > 0 && head[0] == '[' && bytes.Contains(head, []byte(`"attempts"`)) &&
			bytes.Contains(head, []byte(`"submitted_time"`))
	},
	Read: readPhillyJSON,
}

type phillyJob struct {
	Status    string          `json:"status"`
	VC        string          `json:"vc"`
	JobID     string          `json:"jobid"`
	Attempts  []phillyAttempt `json:"attempts"`
	Submitted string          `json:"submitted_time"`
	User      string          `json:"user"`
}

type phillyAttempt struct {
	Start  string `json:"start_time"`
	End    string `json:"end_time"`
	Detail []struct {
		IP   string   `json:"ip"`
		GPUs []string `json:"gpus"`
	} `json:"detail"`
}

func readPhillyJSON(in *Input) (*workload.Workload, error) {
	d := json.NewDecoder(bytes.NewReader(in.Data))
	lines := lineCounter{data: in.Data, line: 1}
	if tok, err := d.Token(); err != nil || tok != json.Delim('[') {
		return nil, in.fail(1, "not a JSON array", "cluster_job_log: [{\"status\":..., \"attempts\":[...]}, ...]")
	}
	b := newBuilder(in)
	b.calendar = true
	b.w.Licence = phillyLicence
	for d.More() {
		var j phillyJob
		err := d.Decode(&j)
		line := lines.at(d.InputOffset())
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong):
			b.w.Rows++
			b.drop(line, "field of the wrong JSON type")
			continue
		case err != nil:
			return nil, in.fail(line, "broken JSON: "+err.Error(), "a complete array of jobs")
		}
		b.w.Rows++
		b.addPhilly(line, &j)
	}
	if _, err := d.Token(); err != nil {
		return nil, in.fail(lines.at(d.InputOffset()), "the JSON array does not end", "a complete file")
	}
	b.note("A job runs as long as all its recorded attempts together, on the GPUs of its largest attempt; the failed attempts inside a job are not told apart.")
	b.note(in.zoneNote() + phillyZone)
	return b.finish()
}

// addPhilly turns the attempts of a job into one run.
func (b *builder) addPhilly(line int, p *phillyJob) {
	loc := b.in.location()
	outcome, _ := endState(p.Status)
	submit, ok := parseClock(p.Submitted, loc)
	switch {
	case !ok:
		b.drop(line, causeSubmit)
		return
	case len(p.Attempts) == 0 && outcome == workload.OutcomeCancelled:
		b.drop(line, causeCancelled)
		return
	case len(p.Attempts) == 0:
		b.drop(line, causeNoStart)
		return
	}
	a := actual(0, outcome)
	gpus := 0
	for i := range p.Attempts {
		at := &p.Attempts[i]
		start, okStart := parseClock(at.Start, loc)
		end, okEnd := parseClock(at.End, loc)
		switch {
		case !okStart && noTime(at.Start):
			b.drop(line, "an attempt without a start")
			return
		case !okEnd && noTime(at.End) && i == len(p.Attempts)-1:
			b.drop(line, causeRunning)
			return
		case !okEnd && noTime(at.End):
			b.drop(line, "an attempt without an end")
			return
		case !okStart || !okEnd || end < start:
			b.drop(line, "an attempt with unreadable times")
			return
		}
		a.Duration += end - start
		if a.Start == workload.Unknown || start < a.Start {
			a.Start = start
		}
		a.End = max(a.End, end)
		n := 0
		for k := range at.Detail {
			n += len(at.Detail[k].GPUs)
		}
		gpus = max(gpus, n)
	}
	vc := b.text(p.VC)
	b.add(line, workload.Job{
		ID: strings.Clone(p.JobID), User: b.text(p.User), Team: vc, Partition: vc, Submit: submit,
		Need: workload.Need{GPUs: int32(gpus)},
	}, a)
}

// lineCounter finds the line of an offset; offsets only grow.
type lineCounter struct {
	data []byte
	pos  int64
	line int
}

func (c *lineCounter) at(offset int64) int {
	offset = min(max(offset, c.pos), int64(len(c.data)))
	c.line += bytes.Count(c.data[c.pos:offset], []byte("\n"))
	c.pos = offset
	return c.line
}
