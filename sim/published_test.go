package sim_test

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/reference"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

func meanJCT(w *workload.Workload, res *sim.Result) float64 {
	var sum float64
	for i := range res.Jobs {
		sum += float64(res.Jobs[i].Finish - w.Jobs[i].Submit)
	}
	return sum / float64(len(res.Jobs)) / 1000
}

func within(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	t.Logf("%s: %.0f, published %.0f (%+.2f %%)", what, got, want, 100*(got/want-1))
	if got < want*(1-part) || got > want*(1+part) {
		t.Errorf("%s = %.2f, want %.2f within %.1f %%", what, got, want, 100*part)
	}
}

func heliosCluster() *cluster.Spec {
	s := &cluster.Spec{Name: "venus-2vc"}
	for _, vc := range []struct {
		name  string
		nodes int
	}{{"vcvGl", 20}, {"vcvlY", 2}} {
		for i := range vc.nodes {
			s.Nodes = append(s.Nodes, cluster.Node{Name: vc.name + "-" + strconv.Itoa(i+1), GPUs: 8, GPUType: "V100", Partitions: []string{vc.name}})
		}
	}
	return s
}

// TestHeliosSlice: two virtual clusters of Venus, September 2020, each its own
// pool, the head blocks, Helios's own placer.
func TestHeliosSlice(t *testing.T) {
	w := readWorkload(t, "traces", "helios", "helios_venus_2vc_sept.csv")
	c := heliosCluster()
	within(t, "strict FIFO", meanJCT(w, simulate(t, w, c, "fifo-consolidate")), 16534, 0.01)
	within(t, "SJF, true durations", meanJCT(w, simulate(t, w, c, "sjf-consolidate")), 6273, 0.01)
	within(t, "FIFO that skips", meanJCT(w, simulate(t, w, c, "fifo-skip")), 5902, 0.01)

	scores := map[string]int64{}
	for _, row := range readGzipCSV(t, "traces", "helios", "venus_sept_lgb_priority.csv.gz") {
		if v, err := strconv.ParseInt(row[1], 10, 64); err == nil {
			scores[row[0]] = v
		}
	}
	// QSSF sorts by its predicted GPU-time, small first: declared as the estimate
	// of an SJF whose jobs really run as long as they did.
	q := *w
	q.Jobs = slices.Clone(w.Jobs)
	for i := range q.Jobs {
		s, ok := scores[q.Jobs[i].ID]
		if !ok {
			t.Fatalf("job %s has no published score", q.Jobs[i].ID)
		}
		q.Jobs[i].Priority = -s
	}
	within(t, "QSSF, published scores", meanJCT(w, simulate(t, &q, c, "testdata/qssf.yaml")), 10386, 0.01)
}

// TestMuri: mean JCT of preemptive policies lies between an ideal continuous
// pool and the published testbed-calibrated simulation, both stated in seconds.
func TestMuri(t *testing.T) {
	for _, tc := range []struct {
		file, policy     string
		ideal, published float64
	}{
		{"trace1.csv", "srtf", 1333917, 1370603},
		{"trace1.csv", "srsf", 952245, 980141},
		{"trace2.csv", "srtf", 2563881, 2665607},
		{"trace2.csv", "srsf", 2147185, 2213950},
	} {
		w := readWorkload(t, "traces", "muri", tc.file)
		for _, shape := range []string{"pool:64", "8x8"} {
			got := meanJCT(w, simulate(t, w, short(t, shape), tc.policy))
			t.Logf("%s %s on %s: %.0f (ideal %.0f, published %.0f)", tc.file, tc.policy, shape, got, tc.ideal, tc.published)
			if shape == "pool:64" && (got < tc.ideal-1 || got > tc.published+1) {
				t.Errorf("%s %s: mean JCT %.0f, want between %.0f and %.0f", tc.file, tc.policy, got, tc.ideal, tc.published)
			}
		}
	}
}

// TestRLScheduler: ten sequences of 1,024 jobs of the Lublin-1 log, first come
// first served without backfill, each from an empty machine.
func TestRLScheduler(t *testing.T) {
	w := readWorkload(t, "traces", "swf", "lublin_256.swf.gz")
	f, err := os.Open(reference.Path(t, "traces", "swf", "rlscheduler_golden.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var slowdown, utilisation float64
	n := 0
	for _, row := range rows[1:] {
		if row[0] != "Lublin-1" || row[2] != "0" || row[6] != "FCFS" {
			continue
		}
		from, _ := strconv.Atoi(row[4])
		count, _ := strconv.Atoi(row[5])
		wantSlow, _ := strconv.ParseFloat(row[7], 64)
		wantUtil, _ := strconv.ParseFloat(row[8], 64)
		seq := *w
		seq.Jobs, seq.Actual = w.Jobs[from:from+count], w.Actual[from:from+count]
		res := simulate(t, &seq, short(t, "pool:256"), "fifo")
		var slow, work float64
		last := int64(0)
		for i := range res.Jobs {
			j := &res.Jobs[i]
			run := float64(seq.Actual[i].Duration) / 1000
			wait := float64(j.FirstStart-seq.Jobs[i].Submit) / 1000
			slow += max(1, (wait+run)/max(run, 10))
			work += run * float64(seq.Jobs[i].Need.GPUs)
			last = max(last, j.FirstStart)
		}
		slow /= float64(count)
		util := work / (float64(last-seq.Jobs[0].Submit) / 1000 * 256)
		within(t, "sequence "+row[3]+" bounded slowdown", slow, wantSlow, 1e-6)
		within(t, "sequence "+row[3]+" utilisation", util, wantUtil, 1e-5)
		slowdown, utilisation, n = slowdown+slow, utilisation+util, n+1
	}
	if n != 10 {
		t.Fatalf("%d sequences, want 10", n)
	}
	within(t, "mean bounded slowdown", slowdown/10, 7273.77, 1e-6)
	within(t, "mean utilisation", utilisation/10, 0.657, 1e-3)
}
