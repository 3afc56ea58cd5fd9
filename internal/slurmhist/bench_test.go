package slurmhist

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/escala-sched/escala/trace"
)

// made is a made-up history: jobs of 1 to 64 GPUs on 256 nodes of 8, each a few seconds after the
// one before, of 300 users in 40 accounts; a tenth are tasks of arrays.
type made struct {
	r    *rand.Rand
	at   int64
	n    int
	json bool
}

const madeHeader = "JobID\x1fCluster\x1fUser\x1fAccount\x1fPartition\x1fQOS\x1fSubmit\x1fEligible\x1fStart\x1fEnd\x1fElapsedRaw\x1fState\x1fNNodes\x1fNCPUS\x1fReqMem\x1fReqTRES\x1fAllocTRES\x1fTimelimitRaw\x1fNodeList\x1fComment\x1fJobIDRaw\n"

// write writes so many records, text or JSON with the three steps that a batch job has.
func (m *made) write(out io.Writer, records int) error {
	b := bufio.NewWriterSize(out, 1<<16)
	m.r, m.at = rand.New(rand.NewPCG(1, 1)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	if m.json {
		b.WriteString("{\n  \"jobs\": [\n")
	} else {
		b.WriteString(madeHeader)
	}
	for i := range records {
		m.record(b, i == records-1)
	}
	if m.json {
		b.WriteString("  ],\n  \"meta\": {\"slurm\": {\"release\": \"24.05.3\"}},\n  \"errors\": []\n}\n")
	}
	return b.Flush()
}

var madeSizes = []int64{1, 1, 1, 1, 2, 4, 8, 8, 16, 64}

func (m *made) record(b *bufio.Writer, last bool) {
	m.n++
	m.at += m.r.Int64N(16)
	gpus := madeSizes[m.r.IntN(len(madeSizes))]
	nodes := max(gpus/8, 1)
	user := m.r.IntN(300)
	start := m.at + m.r.Int64N(600)
	elapsed := 1 + m.r.Int64N(3600)
	first := 1 + m.r.Int64N(256-nodes)
	list := "n" + strconv.FormatInt(first, 10)
	if nodes > 1 {
		list = fmt.Sprintf("n[%d-%d]", first, first+nodes-1)
	}
	if !m.json {
		id := strconv.Itoa(m.n)
		if m.n%10 == 0 {
			id = strconv.Itoa(m.n/100) + "_" + strconv.Itoa(m.n%100)
		}
		when := func(s int64) string { return time.Unix(s, 0).UTC().Format("2006-01-02T15:04:05") }
		fmt.Fprintf(b, "%s\x1flab\x1fuser%d\x1fteam%d\x1fgpu\x1fnormal\x1f%s\x1f%s\x1f%s\x1f%s\x1f%d\x1fCOMPLETED\x1f%d\x1f%d\x1f512000M\x1fbilling=%d,cpu=%d,gres/gpu=%d,mem=512000M,node=%d\x1fbilling=%d,cpu=%d,gres/gpu:a100=%d,gres/gpu=%d,mem=512000M,node=%d\x1f1440\x1f%s\x1f\x1f%d\n",
			id, user, user%40, when(m.at), when(m.at), when(start), when(start+elapsed), elapsed, nodes, 8*gpus, 8*gpus, 8*gpus, gpus, nodes, 8*gpus, 8*gpus, gpus, gpus, nodes, list, m.n)
		return
	}
	tres := fmt.Sprintf(`[
          {"type": "cpu", "name": "", "id": 1, "count": %d},
          {"type": "mem", "name": "", "id": 2, "count": 512000},
          {"type": "node", "name": "", "id": 4, "count": %d},
          {"type": "billing", "name": "", "id": 5, "count": %d},
          {"type": "gres", "name": "gpu", "id": 1001, "count": %d}
        ]`, 8*gpus, nodes, 8*gpus, gpus)
	array, task := 0, `{"set": false, "infinite": false, "number": 0}`
	if m.n%10 == 0 {
		array, task = m.n/100, fmt.Sprintf(`{"set": true, "infinite": false, "number": %d}`, m.n%100)
	}
	fmt.Fprintf(b, `    {
      "account": "team%d", "comment": {"administrator": "", "job": "", "system": ""}, "allocation_nodes": %d,
      "array": {"job_id": %d, "limits": {"max": {"running": {"tasks": 0}}}, "task_id": %s, "task": ""},
      "association": {"account": "team%d", "cluster": "lab", "partition": "", "user": "user%d", "id": 7}, "cluster": "lab", "constraints": "", "container": "",
      "time": {"elapsed": %d, "eligible": %d, "end": %d, "planned": {"set": true, "infinite": false, "number": 3}, "start": %d, "submission": %d, "suspended": 0,
        "system": {"seconds": 0, "microseconds": 0}, "limit": {"set": true, "infinite": false, "number": 1440}, "total": {"seconds": 0, "microseconds": 0}, "user": {"seconds": 0, "microseconds": 0}},
      "exit_code": {"status": ["SUCCESS"], "return_code": {"set": true, "infinite": false, "number": 0}, "signal": {"id": {"set": false, "infinite": false, "number": 0}, "name": ""}},
      "flags": ["CLEAR_SCHEDULING", "STARTED_ON_BACKFILL"], "group": "users", "het": {"job_id": 0, "job_offset": {"set": false, "infinite": false, "number": 0}},
      "job_id": %d, "name": "train.sh", "licenses": "", "mcs": {"label": ""}, "nodes": "%s", "partition": "gpu", "priority": {"set": true, "infinite": false, "number": 102063}, "qos": "normal",
      "required": {"CPUs": %d, "memory_per_cpu": {"set": false, "infinite": false, "number": 0}, "memory_per_node": {"set": true, "infinite": false, "number": 512000}},
      "reservation": {"id": 0, "name": ""}, "state": {"current": ["COMPLETED"], "reason": "None"},
      "steps": [`, user%40, nodes, array, task, user%40, user, elapsed, m.at, start+elapsed, start, m.at, m.n, list, 8*gpus)
	for k, name := range []string{"batch", "extern", "0"} {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, `{
        "time": {"elapsed": %d, "end": {"set": true, "infinite": false, "number": %d}, "start": {"set": true, "infinite": false, "number": %d}, "suspended": 0, "system": {"seconds": 0, "microseconds": 0}},
        "exit_code": {"status": ["SUCCESS"], "return_code": {"set": true, "infinite": false, "number": 0}}, "nodes": {"count": %d, "range": "%s", "list": ["%s"]}, "tasks": {"count": 1}, "pid": "",
        "CPU": {"requested_frequency": {"min": {"set": true, "infinite": false, "number": 0}, "max": {"set": true, "infinite": false, "number": 0}}, "governor": "0"}, "kill_request_user": "", "state": ["COMPLETED"],
        "statistics": {"CPU": {"actual_frequency": 0}, "energy": {"consumed": {"set": true, "infinite": false, "number": 0}}}, "step": {"id": "%d.%s", "name": "%s", "stderr": "", "stdin": "", "stdout": ""},
        "task": {"distribution": "Unknown"}, "tres": {"requested": {"max": [], "min": [], "average": [], "total": []}, "consumed": {"max": [], "min": [], "average": [], "total": []}, "allocated": %s}}`,
			elapsed, start+elapsed, start, nodes, list, list, m.n, name, name, tres)
	}
	end := ",\n"
	if last {
		end = "\n"
	}
	fmt.Fprintf(b, `],
      "submit_line": "sbatch --gres=gpu:%d train.sh", "tres": {"allocated": %s, "requested": %s}, "used_gres": "", "user": "user%d", "wckey": {"wckey": "", "flags": []}, "working_directory": "/home/user%d"}%s`,
		gpus, tres, tres, user, user, end)
}

// BenchmarkImport reads records and makes a history of them, without a replay. What the heap holds
// at the end is the history itself.
func BenchmarkImport(b *testing.B) {
	for _, kind := range []string{"text", "json"} {
		for _, n := range []int{10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "sacct")
				writeMade(b, path, kind == "json", n)
				if info, err := os.Stat(path); err == nil {
					b.SetBytes(info.Size())
				}
				b.ResetTimer()
				var mem runtime.MemStats
				for b.Loop() {
					in, err := os.Open(path)
					if err != nil {
						b.Fatal(err)
					}
					g := NewGatherer()
					if _, err := trace.ScanSlurm(path, in, nil, func(r *trace.SlurmRecord) error { g.Add(r); return nil }); err != nil {
						b.Fatal(err)
					}
					h, err := g.Build(&Site{}, Options{Name: "made"})
					if err != nil || len(h.Workload.Jobs) != n {
						b.Fatalf("%v: %d jobs", err, len(h.Workload.Jobs))
					}
					runtime.ReadMemStats(&mem)
					_ = in.Close()
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
				b.ReportMetric(float64(mem.Sys)/(1<<20), "MiB")
			})
		}
	}
}

func writeMade(t testing.TB, path string, json bool, n int) {
	t.Helper()
	f, err := os.Create(path)
	if err == nil {
		err = (&made{json: json}).write(f, n)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWriteHistory writes the histories of the benchmark where ESCALA_HISTORY names a folder, for
// measuring whole commands.
func TestWriteHistory(t *testing.T) {
	dir := os.Getenv("ESCALA_HISTORY")
	n := 200
	if dir == "" {
		dir = t.TempDir()
	} else {
		n = 1_000_000
	}
	for _, json := range []bool{false, true} {
		path := filepath.Join(dir, map[bool]string{false: "sacct.txt", true: "sacct.json"}[json])
		writeMade(t, path, json, n)
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		g := NewGatherer()
		if _, err := trace.ScanSlurm(path, in, nil, func(r *trace.SlurmRecord) error { g.Add(r); return nil }); err != nil || g.Records != n {
			t.Errorf("%s: %d records (%v), want %d", path, g.Records, err, n)
		}
		_ = in.Close()
	}
}
