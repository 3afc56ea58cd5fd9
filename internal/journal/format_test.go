package journal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, spec := range []*cluster.Spec{lab(true), {Name: "pool:7", Count: 7, Hash: "abc"}, cluster.Uniform("200x4", 200, 4),
		{Name: "odd", Nodes: []cluster.Node{{Name: "a09", GPUs: 1}, {Name: "a10", GPUs: 1}, {Name: "b", GPUs: 2}, {Name: "b", GPUs: 2}, {Name: "c99999999999999999999", CPU: 5, Partitions: []string{"x", "y"}}}[:3]}} {
		want := &Header{Engine: "v1", Cluster: spec, Policy: shipped(t, "sjf@helios"), Until: 5,
			Workload: workload.Workload{Name: "w", Hash: "h", Source: "s", Format: "f", Licence: "l", Epoch: 0},
			Assume:   sim.Assumptions{Checkpoint: -1, RestartCost: 2, Grace: 3, StartLatency: 4}, Faults: sim.Faults{MTBF: 1, MTTR: 2, Seed: 1 << 63}, Forecast: sim.Forecast{Error: 0.1, Seed: 3}}
		line, err := AppendHeader(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, reader(t, line).Header(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want,+got):\n%s\n%s", spec.Name, diff, line)
		}
	}
}

func TestNodesAreGrouped(t *testing.T) {
	if n := len(toCluster(cluster.Uniform("2000x8", 2000, 8)).Nodes); n != 1 {
		t.Errorf("equal nodes with running numbers make %d groups", n)
	}
	for name, want := range map[string]string{"n9": "n10", "n09": "n10", "n99": "n100", "x": "", "": "", "7": "8"} {
		if got := nextName(name); got != want {
			t.Errorf("behind %q comes %q, want %q", name, got, want)
		}
	}
}

// everyFact and everyAction have each field in use.
func everyFact(j *workload.Job) []fact.Fact {
	return []fact.Fact{
		{Kind: fact.BudgetsChanged, At: -6, Job: -1, Node: -1, Budgets: someBudgets(), Epoch: workload.Unknown},
		{Kind: fact.JobSubmitted, At: -5, Job: 0, Node: -1, Submitted: j, Estimate: 9},
		{Kind: fact.NodeDown, Job: -1, Node: 2}, {Kind: fact.NodeUp, Job: -1, Node: 0},
		{Kind: fact.NodeDrained, Job: -1, Node: 1}, {Kind: fact.NodeResumed, Job: -1, Node: 1},
		{Kind: fact.JobStarted, At: 1, Attempt: 1, Node: -1},
		{Kind: fact.StartFailed, At: 1, Attempt: 2, Node: 3}, {Kind: fact.StartFailed, At: 1, Attempt: 2, Node: -1},
		{Kind: fact.JobCheckpointed, At: 2, Attempt: 3, Node: -1, Kept: 77},
		{Kind: fact.JobStopped, At: 3, Attempt: 4, Node: -1, Cause: fact.CauseDrain, Kept: 1, Lost: 2, Restart: 3},
		{Kind: fact.JobFinished, At: 4, Attempt: 5, Node: -1, Outcome: workload.OutcomeTimeout, Kept: 11, Restart: 12},
		{Kind: fact.JobFinished, At: 4, Attempt: 5, Node: -1, Outcome: workload.OutcomeFailed, Exit: 139, Text: "no \"space\" left"},
		{Kind: fact.JobCancelled, At: 5, Node: -1}, {Kind: fact.JobCancelled, At: 5, Node: -1, By: "ann", Text: "wrong data"},
		{Kind: fact.JobHeld, At: 5, Node: -1, Hold: fact.HoldOwner, By: "ann"}, {Kind: fact.JobReleased, At: 5, Node: -1, Hold: fact.HoldBegin},
		{Kind: fact.JobEdited, At: 5, Node: -1, Priority: -7, By: "ann"}, {Kind: fact.JobEdited, At: 5, Node: -1, Text: "its nice value was changed"},
		{Kind: fact.LostSight, At: 5, Attempt: 6, Node: -1}, {Kind: fact.Found, At: 5, Attempt: 6, Node: -1, Text: "its node answers again"},
		{Kind: fact.ClockStepped, At: 5, Job: -1, Node: -1, Kept: -3_600_000, Text: "wall clock"},
		{Kind: fact.JobObserved, At: 5, Node: -1, Since: -7, Until: workload.Unknown, Text: "gpu07"},
		{Kind: fact.JobObserved, At: 5, Node: -1, Since: 0, Until: 4, Outcome: workload.OutcomeFailed, Exit: 3, By: "slurm"},
		{Kind: fact.JobObserved, At: 5, Node: -1, Since: workload.Unknown, Until: 4, Outcome: workload.OutcomeCancelled},
		{Kind: fact.NodeDrained, At: 5, Job: -1, Node: 1, By: "root", Text: "a fan"},
		{Kind: fact.WindowSet, At: 5, Job: -1, Node: -1, By: "root", Text: "a pump", Window: &fact.Window{ID: "rack \"1\"", Nodes: []int32{0, 2}, From: -7, Until: 9}},
		{Kind: fact.WindowSet, At: 5, Job: -1, Node: -1, Window: &fact.Window{ID: "w", Nodes: []int32{1}, Until: 9, Teams: []string{"größe", ""}, Users: []string{"ann"}}},
		{Kind: fact.WindowLifted, At: 5, Job: -1, Node: -1, By: "root", Window: &fact.Window{ID: "w"}},
		{Kind: fact.DemandChanged, At: 5, Node: -1, Demand: 7}, {Kind: fact.DemandChanged, At: 5, Node: -1},
		{Kind: fact.SessionIdle, At: 5, Attempt: 6, Node: -1, Since: -3}, {Kind: fact.SessionActive, At: 5, Node: -1},
		{Kind: fact.PlanProposed, At: 5, Job: -1, Node: -1, Plan: &fact.Plan{Until: 9, Inputs: "e3b0", Solver: "search (\"größe\")", Objective: -1 << 63, Bound: 1<<63 - 1,
			Starts: []fact.PlannedStart{{At: -3, Place: []fact.Grant{cluster.WholeGrant(0, 0xf0), cluster.WholeGrant(1, 0xff)}}, {At: 7}, {At: 8, Place: []fact.Grant{{Node: 2, Milli: 500, GPUs: 1, Count: 1, CPU: 3}}}}}},
		{Kind: fact.PlanProposed, At: 5, Job: -1, Node: -1, Plan: &fact.Plan{}},
		{Kind: fact.BudgetsChanged, At: 5, Job: -1, Node: -1, Budgets: budget.Equal("größe", []string{"", "a/\xff", "\"x\""}), Epoch: -1},
	}
}

// someBudgets is a tree whose text leaves its name to the file.
func someBudgets() *budget.Tree {
	t, err := budget.Parse("x/the lab.v2.yml", []byte("# größe\r\nchildren:\r\n  - {name: \"\\u0041 b\", share: 1.5}\r\n"))
	if err != nil {
		panic(err)
	}
	return t
}

func everyAction() []fact.Action {
	return []fact.Action{
		{Do: fact.Start, At: 6, Attempt: 1, For: -1, Tasks: 3, Count: 12, Milli: 12000, Reason: fact.Reason{Code: fact.InOrder, For: -1},
			Place: []fact.Grant{cluster.WholeGrant(0, 0xff), {Node: 1, Milli: 250, GPUs: 4, Count: 1, CPU: 5, Memory: 6}, {Node: 2, Milli: 1000, CPU: 7}, {Node: 3, Milli: 1000, GPUs: 3, Count: 0}}},
		{Do: fact.Stop, At: 6, Attempt: 9, For: 0, Count: 2, Milli: 2000, Reason: fact.Reason{Code: fact.GaveWay, For: 0}},
		{Do: fact.Hold, At: 6, For: -1, Reason: fact.Reason{Code: fact.Leaving, For: -1, Have: 1, Want: 2, Block: 3, Until: 4}},
		{Do: fact.Start, At: 6, Attempt: 2, For: -1, Until: 77, Reason: fact.Reason{Code: fact.ProtectionEnds, For: 0, Until: 78}},
		{Do: fact.Start, At: 6, Attempt: 3, For: -1, Unallocated: true, Reason: fact.Reason{Code: fact.Fill, For: -1}},
		{Do: fact.Resize, At: 6, Attempt: 3, For: -1, Tasks: 2, Count: 2, Milli: 2000, Place: []fact.Grant{cluster.WholeGrant(1, 5)}, Reason: fact.Reason{Code: fact.FollowsDemand, For: -1, Have: 2, Want: 3}},
		{Do: fact.Resize, At: 6, Attempt: 3, For: -1, Reason: fact.Reason{Code: fact.PlannedLater, For: -1, Until: 90}},
		{Do: fact.Uncharge, At: 6, Attempt: 3, For: -1, Reason: fact.Reason{Code: fact.BudgetShort, For: -1}},
		{Do: fact.Start, At: 6, Attempt: 4, For: -1, Reason: fact.Reason{Code: fact.Proposed, For: -1}}, {Do: fact.Start, At: 6, Reason: fact.Reason{Code: fact.OffPlan, For: -1, Until: 5}},
		{Do: fact.Reserve, At: 6, For: -1, Until: 99}, {Do: fact.Stop, At: 6, Attempt: 9, For: -1, Until: 8, Reason: fact.Reason{Code: fact.InWindow, For: -1, Block: 3, Until: 9}}, {Do: fact.Release, At: 7, For: -1}, {Do: fact.Refuse, At: 8, For: -1},
	}
}

func TestLinesRoundTrip(t *testing.T) {
	job := &workload.Job{ID: "a\"\\\x01\tü\u2028", User: "u", Team: "t", Partition: "p", Kind: workload.KindRealtime, Submit: -5, Priority: -3, Estimate: 1, Limit: 2, Deadline: 3,
		Need:     workload.Need{Tasks: 2, GPUs: 1, Milli: 500, MinTasks: 1, MaxTasks: 2, PerNode: 1, CPU: 3, Memory: 4, GPUTypes: "A|B", Within: "rack", Nodes: "n1|n2"},
		Contract: workload.Contract{HasMinRuntime: true, CheckpointInterval: 1, CheckpointOnStop: true, NotResumable: true, RestartCost: 2, Grace: 3},
		After:    []workload.Dependency{{Job: "x"}, {Job: "y", When: workload.AfterNotOK}}, Speed: []workload.Speed{{GPUType: "A", Milli: 5}, {GPUType: "B", Milli: 6}},
		Labels: map[string]string{"k": "v", "k2": ""},
		Service: &workload.Service{Demand: workload.Curve{Start: -7, Step: 5, Values: []int32{0, 2, 9}, Repeat: true}, Min: workload.Curve{Step: 1, Values: []int32{0}},
			Max: workload.Curve{Start: 1, Step: 2, Values: []int32{10, 11}}, Swaps: 3, SwapEvery: 4, Penalty: 5}}
	var out bytes.Buffer
	w, err := NewWriter(&out, &Header{Cluster: lab(false), Policy: shipped(t, "fifo")})
	if err != nil {
		t.Fatal(err)
	}
	facts, actions := everyFact(job), everyAction()
	for i := range facts {
		facts[i].At = max(facts[i].At, int64(i/6))
		w.Fact(&facts[i])
	}
	for i := range actions {
		w.Action(&actions[i])
	}
	w.Instant(&sim.Gauge{At: 8})
	w.Instant(&sim.Gauge{At: 9})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := reader(t, out.Bytes())
	var gotF []fact.Fact
	var gotA []fact.Action
	timers := 0
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Fact != nil:
			gotF = append(gotF, *e.Fact)
		case e.Action != nil:
			a := *e.Action
			a.Place = append([]fact.Grant(nil), a.Place...)
			gotA = append(gotA, a)
		default:
			timers++
		}
	}
	if diff := cmp.Diff(facts, gotF, cmp.Comparer(sameBudgets)); diff != "" {
		t.Errorf("facts (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff(actions, gotA, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("actions (-want,+got):\n%s", diff)
	}
	if timers != 1 {
		t.Errorf("%d timer lines, want 1", timers)
	}
	if int64(bytes.Count(out.Bytes(), []byte("\n"))) != w.Lines() {
		t.Errorf("%d lines counted", w.Lines())
	}
}

func sameBudgets(a, b *budget.Tree) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Hash == b.Hash && bytes.Equal(a.YAML(), b.YAML()) && cmp.Equal(a.Nodes, b.Nodes, cmpopts.IgnoreUnexported(budget.Node{}))
}

// TestSpecIsAWorkloadLine holds that a submission's spec has the names and
// meanings of the workload format.
func TestSpecIsAWorkloadLine(t *testing.T) {
	for _, j := range withServices(someJobs(9, 100, true)).Jobs {
		j.After = nil
		line := string(appendJob(nil, &j))
		text := `{"escala":"workload","version":1}` + "\n" + strings.TrimSuffix(line, "}") + `,"actual":{"duration_ms":1}}` + "\n"
		w, err := trace.ReadBytes("w", []byte(text), trace.Options{Format: "escala"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(j, w.Jobs[0]); diff != "" {
			t.Errorf("%s (-want,+got):\n%s", line, diff)
		}
	}
}

// TestWordsAreComplete fails when package fact has a word more than the reader knows.
func TestWordsAreComplete(t *testing.T) {
	beyond := func(what string, n int, name func(uint8) string) {
		defer func() { _ = recover() }() // no name: that is as it should be
		t.Errorf("%s %q is not among the words of the format", what, name(uint8(n)))
	}
	beyond("fact", len(kindWords), func(n uint8) string { return fact.Kind(n).String() })
	beyond("action", len(doWords), func(n uint8) string { return fact.Do(n).String() })
	beyond("reason", len(codeWords), func(n uint8) string { return fact.Code(n).String() })
	beyond("cause", len(causeWords), func(n uint8) string { return fact.Cause(n).String() })
	beyond("outcome", len(outcomeWords), func(n uint8) string { return workload.Outcome(n).String() })
}

// head is a header of two nodes of four GPUs; job 0 is submitted in line 2.
func head(t testing.TB) string {
	line, err := AppendHeader(nil, &Header{Cluster: cluster.Uniform("2x4", 2, 4), Policy: shipped(t, "fifo"), Workload: workload.Workload{Epoch: workload.Unknown}})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + `{"t":10,"fact":"submitted","job":0,"spec":{"id":"a","submit_ms":10,"gpus":1}}` + "\n"
}

func TestErrorsSayWhereAndWhat(t *testing.T) {
	tests := map[string]struct{ line, want string }{
		"no JSON":         {`start`, "no JSON object"},
		"cut object":      {`{"t":10`, "no comma"},
		"two objects":     {`{"t":10,"fact":"timer"} {}`, "more text"},
		"no time":         {`{"fact":"timer"}`, `no field "t"`},
		"neither":         {`{"t":10}`, "either"},
		"both":            {`{"t":10,"fact":"timer","do":"start"}`, "either"},
		"unknown fact":    {`{"t":10,"fact":"begun","job":0}`, "node-down, node-up"},
		"unknown action":  {`{"t":10,"do":"kill","job":0}`, "one of start, stop"},
		"twice":           {`{"t":10,"t":10,"fact":"timer"}`, "twice"},
		"decimal":         {`{"t":10.5,"fact":"timer"}`, "whole number"},
		"too late":        {`{"t":9000000000000001,"fact":"timer"}`, "whole number"},
		"back":            {`{"t":9,"fact":"timer"}`, "time goes back"},
		"no job":          {`{"t":10,"fact":"started","try":1}`, `no field "job"`},
		"unknown job":     {`{"t":10,"fact":"started","job":1,"try":1}`, "no job of this number"},
		"unknown victim":  {`{"t":10,"do":"stop","job":0,"try":1,"for":7}`, "no job of this number"},
		"no attempt":      {`{"t":10,"fact":"started","job":0}`, `no field "try"`},
		"no such window":  {`{"t":10,"fact":"window-set","id":"w","nodes":[2],"from":1,"until":2}`, "there are 2 nodes"},
		"odd window":      {`{"t":10,"fact":"window-set","id":"w","nodes":[1,0],"from":1,"until":2}`, "ascend"},
		"empty window":    {`{"t":10,"fact":"window-set","id":"w","nodes":[1],"from":2,"until":2}`, "ends after"},
		"no nodes":        {`{"t":10,"fact":"window-set","id":"w","nodes":{},"from":1,"until":2}`, "a list of numbers"},
		"teams of a kind": {`{"t":10,"fact":"window-set","id":"w","nodes":[0],"from":1,"until":2,"teams":[1]}`, "a list of texts"},
		"window for ever": {`{"t":10,"fact":"window-set","id":"w","nodes":[0],"from":1}`, `no field "until"`},
		"nameless window": {`{"t":10,"fact":"window-lifted","id":""}`, "not empty"},
		"unknown node":    {`{"t":10,"fact":"node-down","node":2}`, "no node"},
		"node -1":         {`{"t":10,"fact":"node-down","node":-1}`, "no node"},
		"out of number":   {`{"t":10,"fact":"submitted","job":2,"spec":{"id":"b","submit_ms":1,"gpus":1}}`, "out of number"},
		"no spec":         {`{"t":10,"fact":"submitted","job":1}`, `no field "spec"`},
		"no id":           {`{"t":10,"fact":"submitted","job":1,"spec":{"submit_ms":1,"gpus":1}}`, "no id"},
		"bad need":        {`{"t":10,"fact":"submitted","job":1,"spec":{"id":"b","submit_ms":1}}`, "asks for nothing"},
		"bad kind":        {`{"t":10,"fact":"submitted","job":1,"spec":{"id":"b","submit_ms":1,"gpus":1,"kind":"x"}}`, "kind is"},
		"huge":            {`{"t":10,"fact":"submitted","job":1,"spec":{"id":"b","submit_ms":1,"gpus":2147483647,"tasks":2}}`, "too large"},
		"GPU beyond node": {`{"t":10,"do":"start","job":0,"try":1,"place":[[0,"10"]]}`, "does not have"},
		"node beyond":     {`{"t":10,"do":"start","job":0,"try":1,"place":[[2,"1"]]}`, "does not have"},
		"bad place":       {`{"t":10,"do":"start","job":0,"try":1,"place":[[0]]}`, "place is"},
		"long place":      {`{"t":10,"do":"start","job":0,"try":1,"place":[[0,"1",1000,0,0,1,1]]}`, "place is"},
		"no UTF-8":        {"{\"t\":10,\"fact\":\"timer\",\"x\":\"\xff\"}", "UTF-8"},
		"empty line":      {" ", "empty line"},
		"no budgets":      {`{"t":10,"fact":"budgets","name":"lab"}`, `no field "yaml"`},
		"bad budgets":     {`{"t":10,"fact":"budgets","name":"lab","yaml":"children: 1"}`, "lab.yaml:1:"},
		"yaml is no text": {`{"t":10,"fact":"budgets","yaml":{}}`, "yaml is"},
		"name is no text": {`{"t":10,"fact":"budgets","name":7,"yaml":"children: [{name: a, share: 1}]"}`, "name is"},
		"not idle since":  {`{"t":10,"fact":"session-idle","job":0,"try":1}`, `no field "since"`},
		"who is active":   {`{"t":10,"fact":"session-active"}`, `no field "job"`},
		"foreign session": {`{"t":10,"fact":"session-active","job":9}`, "no job of this number"},
		"no demand":       {`{"t":10,"fact":"demand","job":0}`, `no field "gpus"`},
		"demand below 0":  {`{"t":10,"fact":"demand","job":0,"gpus":-1}`, "negative"},
		"whose demand":    {`{"t":10,"fact":"demand","job":3,"gpus":1}`, "no job of this number"},
		"resize of none":  {`{"t":10,"do":"resize","try":1}`, `no field "job"`},
		"bad service":     {`{"t":10,"fact":"submitted","job":1,"spec":{"id":"b","submit_ms":1,"gpus":1,"service":{"demand":{"step_ms":0,"gpus":[1]}}}}`, "service is"},
		"endless curve":   {`{"t":10,"fact":"submitted","job":1,"spec":{"id":"b","submit_ms":1,"gpus":1,"service":{"demand":{"step_ms":9000000000000000,"gpus":[1,2]}}}}`, "service is"},
		"odd curve":       {`{"t":10,"fact":"submitted","job":1,"spec":{"id":"b","submit_ms":1,"gpus":1,"service":{"demand":{"step_ms":1,"gpus":[1.5]}}}}`, "service is"},
		"unalloc is 1":    {`{"t":10,"do":"start","job":0,"try":1,"unalloc":1}`, "true or false"},
		"plan for ever":   {`{"t":10,"fact":"plan"}`, `no field "until"`},
		"plan of others":  {`{"t":10,"fact":"plan","until":11,"starts":[[0,10],[1,10]]}`, "no job of this number"},
		"plan elsewhere":  {`{"t":10,"fact":"plan","until":11,"starts":[[0,10,[[1,"10"]]]]}`, "does not have"},
		"plan of nothing": {`{"t":10,"fact":"plan","until":11,"starts":[[0]]}`, "starts is"},
		"plan of more":    {`{"t":10,"fact":"plan","until":11,"starts":[[0,10,[[0,"1"]],1]]}`, "starts is"},
		"plan of a word":  {`{"t":10,"fact":"plan","until":11,"starts":"none"}`, "starts is"},
		"plan, no list":   {`{"t":10,"fact":"plan","until":11,"starts":[0,10]}`, "starts is"},
		"plan nowhere":    {`{"t":10,"fact":"plan","until":11,"starts":[[0,10,[]]]}`, "starts is"},
		"plan, late":      {`{"t":10,"fact":"plan","until":11,"starts":[[0,9000000000000001]]}`, "starts is"},
		"plan, half":      {`{"t":10,"fact":"plan","until":11,"objective":0.5}`, "whole number"},
		"plan of no text": {`{"t":10,"fact":"plan","until":11,"solver":1}`, "solver is"},
		"negative kept":   {`{"t":10,"fact":"finished","job":0,"try":1,"kept":-1}`, "negative"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := reader(t, []byte(head(t)+tc.line+"\n"))
			_, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Next()
			var bad *Error
			if !errors.As(err, &bad) || bad.Line != 3 || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "run.jsonl:3: ") || bad.Want == "" && name != "bad need" {
				t.Errorf("error %v; want line 3 and %q", err, tc.want)
			}
		})
	}
	r := reader(t, []byte(head(t)+`{"t":10,"fact":"timer"}`))
	_, _ = r.Next()
	if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), "middle of a line") {
		t.Errorf("a cut file gives %v", err)
	}
}

func TestHeaderErrors(t *testing.T) {
	good := head(t)
	for _, tc := range []struct{ from, to, want string }{
		{`{"escala":"journal"`, `[`, "no header"},
		{`"escala":"journal"`, `"escala":"workload"`, `holds "workload"`},
		{`"version":1`, `"version":2`, "version 2"},
		{`"count":2`, `"count":2000000`, "at most 1000000"},
		{`"gpus":4`, `"gpus":65`, "want 0..64"},
		{`blocking: strict`, `blocking: stric`, "did you mean strict"},
		{`{"name":"fifo"`, `{"name":"lifo"`, "both"},
		{`"grace_ms":0`, `"grace_ms":-5`, "length of time"},
	} {
		_, err := NewReader("run.jsonl", strings.NewReader(strings.Replace(good, tc.from, tc.to, 1)))
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "run.jsonl:1: ") {
			t.Errorf("%s gives %v; want line 1 and %q", tc.to, err, tc.want)
		}
	}
	if _, err := NewReader("run.jsonl", strings.NewReader("")); err == nil {
		t.Error("an empty file is a journal")
	}
}

func TestUnknownFieldsSurviveRewrite(t *testing.T) {
	text := strings.Replace(head(t), `"escala":"journal"`, `"later":{"a":[1,{"b":null}]},"escala":"journal"`, 1)
	text = strings.Replace(text, `"t":10`, `"t":10 , "new":"x\"y" `, 1) + `{"t":11,"fact":"timer","more":[true,-1.5e3]}` + "\n"
	var out bytes.Buffer
	same := func(e *Entry) ([]byte, error) { return e.Raw, nil }
	if err := Rewrite(reader(t, []byte(text)), &out, same); err != nil {
		t.Fatal(err)
	}
	if out.String() != text {
		t.Errorf("rewritten:\n%s\nwant:\n%s", &out, text)
	}
	out.Reset()
	noTimers := func(e *Entry) ([]byte, error) {
		if e.Line > 1 && e.Fact == nil && e.Action == nil {
			return nil, nil
		}
		return e.Raw, nil
	}
	if err := Rewrite(reader(t, []byte(text)), &out, noTimers); err != nil || strings.Contains(out.String(), "timer") || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%v:\n%s", err, &out)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorIsTold(t *testing.T) {
	w, err := NewWriter(fullDisk{}, &Header{Cluster: lab(false), Policy: shipped(t, "fifo")})
	if err != nil {
		t.Fatal(err)
	}
	for range 100_000 {
		w.Fact(&fact.Fact{Kind: fact.NodeUp})
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("Close returns %v", err)
	}
}
