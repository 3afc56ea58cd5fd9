package scenario_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/scenario"
	"github.com/escala-sched/escala/internal/horizontest"
	"github.com/escala-sched/escala/workload"
)

// TestRoundTrip: what is written is read again unchanged, and written the same.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := horizontest.Draw(t, rapid.SampledFrom([]horizontest.Size{horizontest.Small, horizontest.Wide}).Draw(t, "size"))
		p.StepLength = rapid.Int64Range(1, 7*workload.Day).Draw(t, "length")
		p.StartHour = rapid.IntRange(0, 23).Draw(t, "hour")
		if rapid.Bool().Draw(t, "named") {
			p.Nodes = []horizon.Node{{Name: "n \"1\"", First: 0, Count: p.GPUs}}
		}
		for i := range p.Jobs {
			p.Jobs[i].Kind = workload.Kind(rapid.IntRange(0, 5).Draw(t, "kind"))
			p.Jobs[i].Late = rapid.IntRange(0, 1000).Draw(t, "late")
		}
		var b bytes.Buffer
		if err := scenario.Write(&b, p); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		q, err := scenario.Read(&b)
		if q == nil {
			t.Fatalf("%v\n%s", err, text)
		}
		q.Reading = p.Reading
		if err := q.Check(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(p, q, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("read again (+):\n%s", d)
		}
		if err := scenario.Write(&b, q); err != nil || b.String() != text {
			t.Fatalf("%v; written again:\n%s\nat first:\n%s", err, &b, text)
		}
	})
}

// TestForm: a scenario as it is written, with every key.
func TestForm(t *testing.T) {
	want := `{"name":"night","gpus":8,"steps":2,"step_hours":0.5,"start_hour":20,"decay":0.97,"types":[0,0,0,0,1,1,1,1],
 "nodes": [
  {"name":"a","first":0,"count":4},
  {"name":"b","first":4,"count":4}],
 "closed": [
  {"name":"repair","first":6,"count":2,"from":1,"to":2},
  {"first":3,"count":1,"from":0,"to":2,"absent":true}],
 "jobs": [
  {"id":"tune","kind":"training","gpus":3,"slots":4,"align":4,"steps":3,"priority":5,"release":0,"deadline":4,"late":0.5,"types":[0,1]},
  {"id":"embed","kind":"batch","gpus":1,"steps":2,"priority":2,"release":0,"running":{"offset":0,"elapsed":1},"min_steps":2,"restart":1},
  {"id":"there","gpus":2,"steps":2,"priority":2,"release":0,"running":{"offset":1,"elapsed":0,"foreign":true}}],
 "rt": [
  {"id":"chat","min":[1,1],"demand":[2,1],"max":[2,2],"swap_cap":2,"used":1,"penalty":20,"current":[5,4],"types":[1]}]}
`
	p, err := scenario.Read(strings.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := scenario.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("written (+):\n%s", d)
	}
}

// TestDefaults: of keys that are absent.
func TestDefaults(t *testing.T) {
	p, err := scenario.Read(strings.NewReader(`{"gpus": 1, "steps": 1, "jobs": [{"id": "a", "gpus": 1, "steps": 1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &horizon.Problem{GPUs: 1, Steps: 1, StepLength: workload.Hour, Decay: 1, Jobs: []horizon.Job{{ID: "a", GPUs: 1, Steps: 1}}}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("read (+):\n%s", d)
	}
}

// TestErrors: what is wrong, in which line or with whom, and what would be right.
func TestErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", `line 1: the file is empty; want one JSON object`},
		{"{\n \"gpus\": 1,\n", `line 3: the file ends before the scenario does`},
		{"[]", `line 1: the scenario: array; want an object`},
		{"{\n \"gpus\": 1,\n}", `line 3: invalid character '}' looking for beginning of object key string`},
		{"{\n \"gpus\": \"8\",\n \"steps\": 1}", `line 2: gpus: string; want a whole number`},
		{"{\n \"gpus\": 1,\n \"steps\": 1.5}", `line 3: steps: number 1.5; want a whole number`},
		{"{\n \"jobs\": [\n  {\"gpus\": 99999999999999999999}]}", `line 3: jobs.gpus: number 99999999999999999999; want a whole number`},
		{"{\n \"decay\": true}", `line 2: decay: bool; want a number`},
		{"{\n \"name\": 1}", `line 2: name: number; want a text`},
		{"{\n \"jobs\": {}}", `line 2: jobs: object; want a list`},
		{"{\n \"jobs\": [1]}", `line 2: jobs: number; want an object`},
		{"{\n \"closed\": [{\"absent\": 1}]}", `line 2: closed.absent: number; want true or false`},
		{"{\"gpus\": 1, \"steps\": 1, \"jobs\": [\n {\"id\": \"a\", \"gpus\": 1},\n {\"gpu\": 1}]\n}",
			`line 3: unknown key "gpu"; want one of id, kind, gpus, slots, align, steps, priority, release, running, deadline, late, min_steps, restart, types`},
		{"{\"rt\": [\n {\"gpus\": 1}]\n}", `line 2: unknown key "gpus"; want one of id, min, demand, max, swap_cap, used, penalty, current, types`},
		{"{\"jobs\": [{\"running\":\n {\"ofset\": 1}}]\n}", `line 2: unknown key "ofset"; want one of offset, elapsed, foreign`},
		{"{\n \"reading\": {}}", `line 2: unknown key "reading"; want one of name, family, notes, seed, gpus, steps, step_hours, start_hour, start_minute, decay, types, nodes, closed, jobs, rt`},
		{"{\"gpus\": 1, \"steps\": 1}\n{}", `line 2: something follows the scenario; a file holds one object`},
		{`{"gpus": 1, "steps": 1, "step_hours": 0}`, `step_hours: 0; a step lasts longer than nothing and up to a week, 168`},
		{`{"gpus": 1, "steps": 1, "step_hours": 169}`, `step_hours: 169; a step lasts longer than nothing and up to a week, 168`},
		{`{"gpus": 1, "steps": 1, "decay": 0}`, `decay: 0; a step is worth more than 0 and at most 1 of the one before`},
		{`{"gpus": 1, "steps": 1, "start_hour": 24}`, `start hour: 24; it is an hour of the day, 0 to 23`},
		{`{"gpus": 1, "steps": 1, "jobs": [{"id": "a", "kind": "tuning"}]}`, `jobs[0] "a": kind: "tuning"; it is training, batch or quantization`},
		{`{"gpus": 1, "steps": 1, "jobs": [{"id": "a", "late": 50}]}`, `jobs[0] "a": late: 50; what a late job is worth lies between 0 and 1`},
		{`{"gpus": 1, "steps": 1, "jobs": [{"id": "a", "types": [64]}]}`, `jobs[0] "a": types: 64; types are numbered 0 to 63`},
		{`{"gpus": 1, "steps": 1, "rt": [{"id": "a", "types": [-1]}]}`, `rt[0] "a": types: -1; types are numbered 0 to 63`},
		{`{"gpus": 1, "steps": 1, "jobs": [{"id": "a", "gpus": 2, "steps": 1}]}`, `jobs[0] "a": gpus: a block of 2 does not fit the 1 GPUs there are`},
		{`{}`, `gpus: 0; a horizon has 1 to 65536 GPUs`},
		{`null`, `gpus: 0; a horizon has 1 to 65536 GPUs`},
	} {
		_, err := scenario.Read(strings.NewReader(tc.text))
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s\n got %v\nwant %s", tc.text, err, tc.want)
		}
	}
}
