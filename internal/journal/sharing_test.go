package journal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// randomSharing draws a policy of budgets, as a file would have it.
func randomSharing(t *testing.T, r *rand.Rand) *policy.Policy {
	t.Helper()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	text := fmt.Sprintf(`order: [priority, submit]
sharing:
  window: %s
  interval: %s
  creditCap: %s
  guard: %s
  hysteresis: %s
  minRuntime: {cap: %s, default: %s}
  backOff: %s
  grace: {allocated: %s, unallocated: %s}
  checkpointWait: %s
  overKill: %s
  evictions: %s
  inTeam: %s
  reservations: %s
  debug: %s
  weights: %s
`, pick("1h", "168h"), pick("60s", "7s"), pick("none", "0%", "25%"), pick("window", "entitlement"), pick("1", "1.1"), pick("10m", "8h"), pick("0s", "1m", "10m"),
		pick("true", "false"), pick("0s", "20s"), pick("0s", "10s"), pick("0s", "30s"), pick("none", "{times: 4, upTo: 8}"), pick("unlimited", "unlimited", "none", "{every: 17s}"),
		pick("true", "false"), pick("none", "{count: 1, above: 0, nodes: 100%, anyAccount: true}", "{count: 3, above: 4, nodes: 60%}"),
		pick("none", "{nodes: 20%, gpus: 4, minRuntime: 1m}"), pick("{cpu: 0}", "{gpus: {A100: 2}, cpu: 0.1}"))
	p, err := policy.Parse("random.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func randomTree(t *testing.T, r *rand.Rand) *budget.Tree {
	t.Helper()
	limit := func() string {
		if r.IntN(3) > 0 {
			return ""
		}
		return fmt.Sprintf(", budget: {gpuHours: %d, per: %s, onExhaustion: %s}", r.IntN(20), []string{"day", "month"}[r.IntN(2)],
			[]string{"truncate", "unallocated", "refuse"}[r.IntN(3)])
	}
	text := fmt.Sprintf("children:\n  - {name: vision, share: %d%s}\n  - name: words\n    share: %d\n    children:\n      - {name: 'speech \"x\"', share: 1%s}\n      - {name: other, share: 1}\n",
		1+r.IntN(3), limit(), 1+r.IntN(3), limit())
	tree, err := budget.Parse("b.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return tree
}

// TestRandomSharing decides journals of random contracts again, whole and from the
// middle on. One team of three has no account.
func TestRandomSharing(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			o := sim.Options{Workload: someJobs(seed, 200, true), Cluster: lab(r.IntN(2) == 0), Policy: randomSharing(t, r), Budgets: randomTree(t, r)}
			if r.IntN(2) == 0 {
				o.Assume = sim.Assumptions{Checkpoint: []workload.Span{-1, 0, workload.Minute}[r.IntN(3)], Grace: 20 * workload.Second, StartLatency: 5 * workload.Second, RestartCost: 10 * workload.Second}
			}
			o.Until = 10 * workload.Day // a budget that is used up may keep a job waiting
			data, _ := record(t, o)
			again, _ := record(t, o)
			if !bytes.Equal(data, again) {
				t.Error("a second run writes another journal")
			}
			got, err := Replay(reader(t, data), true)
			if err != nil {
				t.Fatal(err)
			}
			folded, err := Replay(reader(t, data), false)
			if err != nil {
				t.Fatal(err)
			}
			if got.Engine.Gauge() != folded.Engine.Gauge() {
				t.Errorf("folding gives %+v, deciding again %+v", folded.Engine.Gauge(), got.Engine.Gauge())
			}
			foldThenDecide(t, data)
		})
	}
}
