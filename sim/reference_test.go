package sim_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/reference"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

func readWorkload(t testing.TB, elem ...string) *workload.Workload {
	t.Helper()
	w, err := trace.Read(reference.Path(t, elem...), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func short(t testing.TB, s string) *cluster.Spec {
	t.Helper()
	c, ok, err := cluster.ParseShort(s)
	if !ok || err != nil {
		t.Fatalf("cluster %q: %v", s, err)
	}
	return c
}

func simulate(t testing.TB, w *workload.Workload, c *cluster.Spec, ref string, obs ...sim.Observer) *sim.Result {
	t.Helper()
	p, err := policy.Resolve(ref)
	if err != nil {
		t.Fatal(err)
	}
	res, err := sim.Run(context.Background(), sim.Options{Workload: w, Cluster: c, Policy: p, Observers: obs})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func readGzipCSV(t testing.TB, elem ...string) [][]string {
	t.Helper()
	data, err := os.ReadFile(reference.Path(t, elem...))
	if err != nil {
		t.Fatal(err)
	}
	var r io.Reader = bytes.NewReader(data)
	if strings.HasSuffix(elem[len(elem)-1], ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// expected reads job_id,submit,gpus,start,finish.
func expected(t testing.TB, elem ...string) map[string][2]int64 {
	t.Helper()
	out := map[string][2]int64{}
	for _, row := range readGzipCSV(t, elem...) {
		start, err1 := strconv.ParseInt(row[3], 10, 64)
		finish, err2 := strconv.ParseInt(row[4], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("row %v: %v %v", row, err1, err2)
		}
		out[row[0]] = [2]int64{start * 1000, finish * 1000}
	}
	return out
}

// TestOtherSimulators holds every job's start and finish against what other
// simulators computed, to the second.
func TestOtherSimulators(t *testing.T) {
	tests := []struct{ workload, cluster, policy, want string }{
		{"small_1000.csv", "pool:128", "fifo", "small_1000.fifo.csv"},
		{"small_1000.csv", "pool:128", "sjf", "small_1000.sjf.csv"},
		{"small_1000.csv", "pool:128", "easy", "small_1000.easy.ref.csv"},
		{"small_1000.csv", "16x8", "fifo-consolidate", "small_1000.node_fifo.csv"},
		{"small_1000.csv", "16x8", "sjf-consolidate", "small_1000.node_sjf.csv"},
		{"small_1000_exact.csv", "pool:128", "easy-per-event", "small_1000_exact.easy1.csv"},
		{"syn_10000_l095.csv.gz", "pool:1024", "fifo", "syn_10000_l095.fifo.csv.gz"},
		{"syn_10000_l095.csv.gz", "pool:1024", "sjf", "syn_10000_l095.sjf.csv.gz"},
		{"syn_10000_l095.csv.gz", "pool:1024", "easy", "syn_10000_l095.easy.ref.csv.gz"},
		{"syn_10000_l095.csv.gz", "128x8", "fifo-consolidate", "syn_10000_l095.node_fifo.csv.gz"},
		{"syn_10000_l095_exact.csv.gz", "pool:1024", "easy", "syn_10000_l095_exact.easy.ref.csv.gz"},
		{"syn_10000_l095_exact.csv.gz", "pool:1024", "easy-per-event", "syn_10000_l095_exact.easy1.csv.gz"},
	}
	for _, tc := range tests {
		t.Run(tc.want, func(t *testing.T) {
			w := readWorkload(t, "expected", tc.workload)
			want := expected(t, "expected", tc.want)
			res := simulate(t, w, short(t, tc.cluster), tc.policy)
			if len(want) != len(w.Jobs) {
				t.Fatalf("%d jobs, %d answers", len(w.Jobs), len(want))
			}
			wrong := 0
			for i := range w.Jobs {
				j := &res.Jobs[i]
				if got := [2]int64{j.FirstStart, j.Finish}; got != want[w.Jobs[i].ID] {
					if wrong++; wrong <= 3 {
						t.Errorf("job %s: start, finish = %v, want %v", w.Jobs[i].ID, got, want[w.Jobs[i].ID])
					}
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d jobs differ", wrong, len(w.Jobs))
			}
		})
	}
}
