package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/internal/reference"
	"github.com/escala-sched/escala/workload"
)

// TestSlurmJSONVersions: each release writes the same jobs in a shape of its own.
func TestSlurmJSONVersions(t *testing.T) {
	paths, err := filepath.Glob("testdata/samples/sacct_2*.json")
	if err != nil || len(paths) != 7 {
		t.Fatalf("%d samples, want 7: %v", len(paths), err)
	}
	want := sample(t, "sacct_21.08.json", Options{})
	if len(want.Jobs) != 6 {
		t.Fatalf("%d jobs, want 6", len(want.Jobs))
	}
	for _, path := range paths {
		got, err := Read(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Jobs, got.Jobs) + cmp.Diff(want.Actual, got.Actual); diff != "" {
			t.Errorf("%s is not as of 21.08 (-want +got):\n%s", path, diff)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		src, err := ScanSlurm(path, bytes.NewReader(data), nil, func(*SlurmRecord) error { return nil })
		if version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "sacct_"), ".json"); err != nil || !src.JSON || !strings.HasPrefix(src.Version, version) {
			t.Errorf("%s is of %+v: %v", path, src, err)
		}
	}
}

// TestScanSlurmBitByBit: how the reader comes by its bytes changes nothing.
func TestScanSlurmBitByBit(t *testing.T) {
	for _, name := range []string{"sacct_22.05.json", "sacct_25.05.json", "sacct.txt", "sacct_odd_delimiter.txt", "xdmod.log"} {
		data, err := os.ReadFile(filepath.Join("testdata", "samples", name))
		if err != nil {
			t.Fatal(err)
		}
		all := func(in io.Reader) (out []SlurmRecord) {
			if _, err := ScanSlurm(name, in, nil, func(r *SlurmRecord) error { out = append(out, *r); return nil }); err != nil {
				t.Fatal(err)
			}
			return out
		}
		want := all(bytes.NewReader(data))
		for way, in := range map[string]io.Reader{"byte by byte": iotest.OneByteReader(bytes.NewReader(data)), "with the end": iotest.DataErrReader(bytes.NewReader(data)), "in halves": iotest.HalfReader(bytes.NewReader(data))} {
			if diff := cmp.Diff(want, all(in)); diff != "" {
				t.Errorf("%s %s:\n%s", name, way, diff)
			}
		}
		if len(want) == 0 {
			t.Errorf("%s has no records", name)
		}
	}
}

// TestScanSlurmEnds: an error of the caller's ends it, and one of the reader's is told.
func TestScanSlurmEnds(t *testing.T) {
	for _, name := range []string{"sacct_23.11.json", "sacct.txt"} {
		data, _ := os.ReadFile(filepath.Join("testdata", "samples", name))
		stop := errors.New("enough")
		n := 0
		_, err := ScanSlurm(name, bytes.NewReader(data), nil, func(*SlurmRecord) error {
			if n++; n == 2 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || n != 2 {
			t.Errorf("%s: %d records, then %v", name, n, err)
		}
		broken := errors.New("a disk")
		_, err = ScanSlurm(name, io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)), nil, func(*SlurmRecord) error { return nil })
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v, want the reader's error", name, err)
		}
	}
}

// TestLongRecords: fields and records that are longer than the blocks in which text is read.
func TestLongRecords(t *testing.T) {
	long := strings.Repeat("a line\n", blockSize/5)
	var b strings.Builder
	b.WriteString("JobID|State|Submit|Elapsed|Comment|AllocTRES\n")
	for i := range 4 {
		fmt.Fprintf(&b, "%d|COMPLETED|2026-01-01T00:00:00|00:00:10|%s|cpu=1,gres/gpu=1\n", i+1, long)
	}
	w, err := ReadBytes("long.txt", []byte(b.String()), Options{})
	if err != nil || len(w.Jobs) != 4 || w.Rows != 4 {
		t.Fatalf("%v: %+v", err, w)
	}
}

func TestJSONShapes(t *testing.T) {
	tests := map[string]struct {
		in   string
		want int64
	}{
		"plain":         {`7`, 7},
		"text":          {`"7"`, 7},
		"set":           {`{"set":true,"infinite":false,"number":7}`, 7},
		"number first":  {`{"number":7,"set":true}`, 7},
		"number only":   {`{"number":7}`, 7},
		"not set":       {`{"set":false,"infinite":false,"number":7}`, -9},
		"infinite":      {`{"set":false,"infinite":true,"number":0}`, -9},
		"set, infinite": {`{"set":true,"infinite":true,"number":0}`, -9},
		"null":          {`null`, -9},
		"no value":      {`4294967294`, -9},
		"no end":        {`4294967295`, -9},
		"no value, 64":  {`18446744073709551614`, -9},
		"a fraction":    {`7.0`, 7},
		"an exponent":   {`1e3`, 1000},
		"a list":        {`[7]`, -9},
		"an object":     {`{"a":{"b":[1,{}]}}`, -9},
		"a word":        {`true`, -9},
		"huge":          {`1e300`, -9},
	}
	for name, tc := range tests {
		s := &sacctJSON{jsonScan: newJSONScan(strings.NewReader(tc.in + " ")), known: map[string]string{}}
		if got, err := s.number(-9); err != nil || got != tc.want {
			t.Errorf("%s: %s is %d (%v), want %d", name, tc.in, got, err, tc.want)
		}
	}
	for in, want := range map[string]string{
		`"RUNNING"`: "RUNNING", `["PENDING"]`: "PENDING", `{"current":"FAILED","reason":"x"}`: "FAILED", `{"current":["TIMEOUT"]}`: "TIMEOUT",
		`["REQUEUED"]`: "REQUEUED", `["COMPLETING","CANCELLED"]`: "CANCELLED", `["CANCELLED","COMPLETING"]`: "CANCELLED", `["PREEMPTED","REQUEUED"]`: "PREEMPTED", `[]`: "", `null`: "", `7`: "7",
	} {
		s := &sacctJSON{jsonScan: newJSONScan(strings.NewReader(in + " ")), known: map[string]string{}}
		if err := s.state(); err != nil || s.out.State != want {
			t.Errorf("state %s is %q (%v), want %q", in, s.out.State, err, want)
		}
	}
	for in, want := range map[string]string{`"a\"\\\/\n\u00e9\ud83d\ude00"`: "a\"\\/\né😀", `["a","b"]`: "a,b", `{"a":1}`: "", `null`: "", `1`: "1"} {
		s := &sacctJSON{jsonScan: newJSONScan(strings.NewReader(in + " ")), known: map[string]string{}}
		if got, err := s.string(); err != nil || got != want {
			t.Errorf("text %s is %q (%v), want %q", in, got, err, want)
		}
	}
}

// drawn is a record before it is written.
type drawn struct {
	id, task, part             int64 // -1 = none
	user, account, qos, state  string
	submit, eligible           int64
	start, end, elapsed, limit int64 // start, end 0 = none; limit 0 = unlimited
	req, alloc                 map[string]int64
	nodes, comment             string
	constraints                string
}

func drawRecord(t *rapid.T, id int64) drawn {
	num := func(lo, hi int64, name string) int64 { return rapid.Int64Range(lo, hi).Draw(t, name) }
	d := drawn{id: id, task: -1, part: -1, user: rapid.SampledFrom([]string{"ann", "ben", ""}).Draw(t, "user"), account: rapid.SampledFrom([]string{"a", "b c"}).Draw(t, "account"),
		qos: rapid.SampledFrom([]string{"normal", "high", ""}).Draw(t, "qos"), submit: 1_700_000_000 + num(0, 100_000, "submit"), limit: num(0, 3, "limit") * 60,
		state: rapid.SampledFrom([]string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "REQUEUED", "RUNNING", "PENDING", "OUT_OF_MEMORY", "ODD"}).Draw(t, "state"),
		nodes: rapid.SampledFrom([]string{"", "n[1-2]", "n7"}).Draw(t, "nodes"), comment: rapid.StringMatching(`[a-z {}\[\]":,\\\n]{0,12}`).Draw(t, "comment"),
		constraints: rapid.SampledFrom([]string{"", "rack0", "a&b"}).Draw(t, "constraints")}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		d.task = num(0, 9, "task")
	case 1:
		d.part = num(0, 2, "part")
	}
	d.eligible = d.submit + num(0, 2, "held")*100
	if rapid.IntRange(0, 6).Draw(t, "started") > 0 {
		d.start = d.submit + num(0, 1000, "wait")
		d.elapsed = num(0, 5000, "elapsed")
		if d.state != "RUNNING" {
			d.end = d.start + d.elapsed
		}
	}
	gpus, nodes := num(0, 4, "gpus"), num(1, 3, "nodes")
	d.req = map[string]int64{"cpu": num(1, 8, "cpus"), "mem": num(0, 4096, "mem"), "node": nodes, "billing": 3}
	if gpus > 0 {
		d.req["gres/gpu"] = gpus * nodes
		if rapid.Bool().Draw(t, "typed") {
			d.req["gres/gpu:a100"] = gpus * nodes
		}
	}
	if d.start > 0 {
		d.alloc = map[string]int64{}
		for k, v := range d.req {
			d.alloc[k] = v
		}
		if rapid.IntRange(0, 3).Draw(t, "told") == 0 {
			d.alloc = nil
		}
	}
	return d
}

var tresOrder = []string{"cpu", "mem", "node", "billing", "gres/gpu", "gres/gpu:a100"}

func (d *drawn) name() string {
	s := strconv.FormatInt(d.id, 10)
	switch {
	case d.task >= 0:
		s += "_" + strconv.FormatInt(d.task, 10)
	case d.part >= 0:
		s += "+" + strconv.FormatInt(d.part, 10)
	}
	return s
}

// text writes the record as sacct -P --noconvert does.
func (d *drawn) text() string {
	when := func(v int64, none string) string {
		if v == 0 {
			return none
		}
		return time.Unix(v, 0).UTC().Format("2006-01-02T15:04:05")
	}
	list := func(m map[string]int64) string {
		var out []string
		for _, k := range tresOrder {
			if v, ok := m[k]; ok {
				unit := ""
				if k == "mem" {
					unit = "M"
				}
				out = append(out, fmt.Sprintf("%s=%d%s", k, v, unit))
			}
		}
		return strings.Join(out, ",")
	}
	limit := "UNLIMITED"
	if d.limit > 0 {
		limit = strconv.FormatInt(d.limit/60, 10)
	}
	return strings.Join([]string{d.name(), d.user, d.account, "gpu", d.qos, "5", when(d.submit, ""), when(d.eligible, ""), when(d.start, "Unknown"), when(d.end, "Unknown"),
		strconv.FormatInt(d.elapsed, 10), d.state, list(d.req), list(d.alloc), limit, d.nodes, d.comment, d.constraints}, "\x1f") + "\n"
}

const drawnHeader = "JobID\x1fUser\x1fAccount\x1fPartition\x1fQOS\x1fPriority\x1fSubmit\x1fEligible\x1fStart\x1fEnd\x1fElapsedRaw\x1fState\x1fReqTRES\x1fAllocTRES\x1fTimelimitRaw\x1fNodeList\x1fComment\x1fConstraints\n"

// json writes the record as a release of Slurm does: the older ones plainly, those between with
// {set, infinite, number} and words in lists, and one that does that to times as well.
func (d *drawn) json(shape int) map[string]any {
	num := func(v int64, set bool) any {
		switch {
		case shape == 0 && !set:
			return nil
		case shape == 0:
			return v
		}
		return map[string]any{"set": set, "infinite": false, "number": v}
	}
	when := func(v int64) any {
		if shape == 2 {
			return num(v, v != 0)
		}
		return v
	}
	var state any = d.state
	if shape > 0 {
		state = []string{d.state}
	}
	list := func(m map[string]int64) []any {
		out := []any{}
		for _, k := range tresOrder {
			if v, ok := m[k]; ok {
				kind, name, _ := strings.Cut(k, "/")
				out = append(out, map[string]any{"type": kind, "name": name, "id": 1, "count": v})
			}
		}
		return out
	}
	array, het := int64(0), int64(0)
	if d.task >= 0 {
		array = d.id
	}
	if d.part >= 0 {
		het = d.id
	}
	limit := num(d.limit/60, d.limit > 0)
	if d.limit == 0 && shape > 0 {
		limit = map[string]any{"set": false, "infinite": true, "number": 0}
	}
	nodes := d.nodes
	if nodes == "" {
		nodes = "None assigned"
	}
	return map[string]any{
		"job_id": d.id + 1000, "account": d.account, "user": d.user, "partition": "gpu", "qos": d.qos, "priority": num(5, true), "nodes": nodes, "constraints": d.constraints,
		"comment": map[string]any{"administrator": nil, "job": d.comment, "system": "x"}, "array": map[string]any{"job_id": array, "task_id": num(d.task, d.task >= 0), "task": nil},
		"het":   map[string]any{"job_id": het, "job_offset": num(d.part, d.part >= 0)},
		"state": map[string]any{"reason": "None", "current": state},
		"time":  map[string]any{"submission": when(d.submit), "eligible": when(d.eligible), "start": when(d.start), "end": when(d.end), "elapsed": d.elapsed, "limit": limit, "suspended": 0},
		"tres":  map[string]any{"requested": list(d.req), "allocated": list(d.alloc)},
		"steps": []any{map[string]any{"state": "FAILED", "time": map[string]any{"start": 1}, "nodes": []string{"x"}}},
	}
}

// TestSlurmTextEqualsJSON: the text and the JSON of the same jobs are the same workload.
func TestSlurmTextEqualsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString(drawnHeader)
		jobs := []any{}
		shape := rapid.IntRange(0, 2).Draw(t, "shape")
		for range rapid.IntRange(1, 12).Draw(t, "records") {
			d := drawRecord(t, rapid.Int64Range(1, 20).Draw(t, "id"))
			if d.task < 0 && d.part < 0 {
				d.id += 1000
			}
			text.WriteString(d.text())
			j := d.json(shape)
			if d.task < 0 && d.part < 0 {
				j["job_id"] = d.id
			}
			jobs = append(jobs, j)
		}
		data, err := json.MarshalIndent(map[string]any{"jobs": jobs, "meta": map[string]any{"Slurm": map[string]any{"release": "1.2"}}}, "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		a, errA := ReadBytes("a", []byte(text.String()), Options{})
		b, errB := ReadBytes("b", data, Options{})
		if (errA == nil) != (errB == nil) {
			t.Fatalf("text: %v\nJSON: %v", errA, errB)
		}
		if errA != nil {
			return
		}
		if diff := cmp.Diff(a.Jobs, b.Jobs) + cmp.Diff(a.Actual, b.Actual); diff != "" {
			t.Fatalf("differ (-text +JSON):\n%s", diff)
		}
		if a.Epoch != b.Epoch || a.Rows != b.Rows {
			t.Fatalf("epoch or rows differ: %d %d, %d %d", a.Epoch, b.Epoch, a.Rows, b.Rows)
		}
		causes := cmp.Transformer("causes", func(list []workload.Dropped) map[string]int {
			out := map[string]int{}
			for _, d := range list {
				out[d.Cause] += d.Count
			}
			return out
		})
		if diff := cmp.Diff(a.Dropped, b.Dropped, causes); diff != "" {
			t.Fatalf("causes differ (-text +JSON):\n%s", diff)
		}
	})
}

// TestSharedSlurmSamples reads what a real Slurm wrote, text and JSON of the same moment.
func TestSharedSlurmSamples(t *testing.T) {
	dir := reference.Path(t, "slurm")
	for name, want := range map[string]int{"a_sacct.json": 23, "b_sacct.json": 8, "rest38_dbjobs.json": 9} {
		data, err := os.ReadFile(filepath.Join(dir, "samples", name))
		if err != nil {
			t.Skipf("no %s: what a real Slurm wrote is not read", name)
		}
		n := 0
		src, err := ScanSlurm(name, bytes.NewReader(data), nil, func(r *SlurmRecord) error {
			if n++; r.Fault != "" || r.ID == "" || r.Submit == workload.Unknown || r.State == "" {
				t.Errorf("%s: record %d is %+v", name, n, r)
			}
			return nil
		})
		if err != nil || n != want || src.Version != "22.05.8" {
			t.Errorf("%s: %d records of Slurm %s (%v), want %d", name, n, src.Version, err, want)
		}
	}
}

// BenchmarkScanSlurmJSON reads records with a step each, as sacct --json writes them.
func BenchmarkScanSlurmJSON(b *testing.B) {
	data, err := os.ReadFile("testdata/samples/sacct_24.05.json")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ScanSlurm("bench", bytes.NewReader(data), nil, func(*SlurmRecord) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
