package journal

import (
	"context"
	"reflect"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/metrics"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// gauges keeps what an observer is told at instants.
type gauges []sim.Gauge

func (*gauges) Fact(*fact.Fact)        {}
func (*gauges) Action(*fact.Action)    {}
func (g *gauges) Instant(x *sim.Gauge) { *g = append(*g, *x) }

// TestObserve holds that a collector sees the same in the journal as in the run.
func TestObserve(t *testing.T) {
	tree, err := budget.Parse("b.yaml", []byte("name: lab\nchildren:\n  - {name: vision, share: 2}\n  - {name: größe, share: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{"easy", "priority", "srtf", "las", "contract"} {
		t.Run(policy, func(t *testing.T) {
			o := sim.Options{Workload: someJobs(3, 200, true), Cluster: lab(true), Policy: shipped(t, policy),
				Assume: sim.Assumptions{Checkpoint: 2 * workload.Minute, Grace: 15 * workload.Second, StartLatency: 3 * workload.Second}}
			cfg := metrics.Config{Cluster: o.Cluster, Workload: o.Workload, Budgets: tree, Bins: 50, Runs: 100}
			ran, read := metrics.NewCollector(cfg), metrics.NewCollector(cfg)
			var was, is gauges
			o.Observers = []sim.Observer{ran, &was}
			r, err := sim.Run(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			o.Observers = nil
			data, _ := record(t, o)
			if _, err := Observe(reader(t, data), read, &is); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(was, is) {
				for i := range min(len(was), len(is)) {
					if was[i] != is[i] {
						t.Fatalf("state %d of %d (%d): run %+v, journal %+v", i, len(was), len(is), was[i], is[i])
					}
				}
				t.Fatalf("the run had %d instants, the journal %d", len(was), len(is))
			}
			a, b := metrics.Compute(ran, o.Workload, r), metrics.Compute(read, o.Workload, r)
			if !reflect.DeepEqual(a, b) {
				t.Errorf("run:     %+v\njournal: %+v", a, b)
			}
		})
	}
}
