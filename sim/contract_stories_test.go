package sim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/sim"
	"github.com/escala-sched/escala/workload"
)

// TestContractStories are stories in the language of testdata/cases, each of a bug that was.
func TestContractStories(t *testing.T) {
	const three = `
-- b.yaml --
children: [{name: x, share: 1}, {name: y, share: 1}, {name: z, share: 1}]
`
	with := func(what string) string {
		return "\n-- p.yaml --\nname: p\norder: [priority, submit]\nsharing:\n  creditCap: none\n  hysteresis: 1\n  minRuntime: {cap: 1000h, default: 1h}\n" +
			"  backOff: false\n  reservations: {count: 1, above: 0, nodes: 100%, anyAccount: true}\n" + what
	}
	const bare = "  grace: {allocated: 0s, unallocated: 0s}\n  overKill: none\n"
	for name, text := range map[string]string{
		// Unallocated work on a part of a GPU gives way to who wants the whole.
		"part-of-a-gpu": `
cluster 1x1
policy window.yaml entitlement.yaml
budgets b.yaml
job part submit=0 gpus=1 milli=100 dur=600 protect=0 team=x
job whole submit=1 gpus=1 dur=10 protect=10 team=y
starts whole 1 11
evicted part 1` + three,
		// So does allocated work that is past its protection.
		"allocated-part-of-a-gpu": `
cluster 1x1
policy window.yaml
budgets b.yaml
job part submit=0 gpus=1 milli=900 dur=600 protect=5 team=x
job whole submit=10 gpus=1 dur=0 protect=0.1 team=y
starts whole 10
evicted part 1` + three,
		// On a cluster without nodes, what leaves for one job cannot be promised to another.
		"date-and-claim-on-a-pool": `
cluster pool:4
policy p.yaml
budgets b.yaml
job fill submit=0 gpus=2 dur=1000 protect=0 grace=5 team=z
job run submit=0 gpus=2 dur=100 protect=10 team=y
job winner submit=1 gpus=2 dur=100 protect=30 team=y
job dated submit=2 gpus=2 dur=10 protect=10 team=x
starts winner 6
promised dated 10 at 2
starts dated 10` + with("  grace: {allocated: 0s, unallocated: 5m}\n  overKill: none\n  debug: none\n") + three,
		// A protection counts from the start, also where it is shorter than a start takes.
		"protection-shorter-than-a-start": `
unit s
assume latency=10
cluster pool:1
policy window.yaml
budgets b.yaml
job before submit=0 gpus=1 dur=40 protect=1 team=y
job short submit=57 gpus=1 dur=100 protect=5 team=y
job winner submit=65 gpus=1 dur=100 protect=1 team=x
starts short 67
starts winner 82` + three,
		// Who was stopped for a date, and started again in his turn, is not stopped once more
		// for the same one though nothing was submitted and nothing ended.
		"stopped-again-and-again": `
cluster 1x2
policy p.yaml
budgets b.yaml
assume checkpoint=-1
job small submit=0 gpus=1 dur=30 protect=3 priority=2 team=x
job other submit=0 gpus=1 dur=30 protect=3 priority=2 team=x
job big submit=1 gpus=2 dur=30 protect=3 priority=0 team=x
evictions 0` + with(bare+"  debug: none\n  inTeam: true\n") + three,
		// A job that is not resumable has run if its start came true before it left.
		"up-while-leaving": `
unit s
assume latency=10
cluster pool:1
policy p.yaml
budgets b.yaml
job fill submit=0 gpus=1 dur=100 protect=0 grace=20 resumable=0 team=y
job winner submit=5 gpus=1 dur=10 protect=10 team=x
job after submit=6 gpus=1 dur=10 protect=0 team=y
starts winner 35
started fill 1
started after 1` + with("  grace: {allocated: 0s, unallocated: 30s}\n  overKill: none\n  debug: none\n") + three,
		// When a job starts before its date, what was reserved for it is free for others then.
		"started-before-its-date": `
cluster 2x2
policy window.yaml
budgets b.yaml
job b submit=0 gpus=2 dur=30 protect=1000 team=y
job a submit=0 gpus=1 dur=300 protect=42 team=y
job dated submit=1 gpus=2 dur=10 protect=10 team=x
job next submit=2 gpus=1 dur=60 protect=60 team=z
promised dated 42 at 1
starts dated 30
starts next 30` + three,
		// A date is given up when its job cannot pay any more.
		"date-that-cannot-be-paid": `
cluster 2x2
policy window.yaml
budgets b.yaml
until 1000
job a submit=0 gpus=1 dur=900 protect=42 node=n1 team=y
job b submit=0 gpus=1 dur=900 protect=900 node=n2 team=y
job dated submit=1 gpus=2 dur=10 protect=10 team=x
job poor submit=2 gpus=1 dur=50 protect=50 team=x
job next submit=60 gpus=1 dur=60 protect=60 node=n1 team=z
starts poor 2
promised dated 42 at 1
unstarted dated
starts next 60
-- b.yaml --
children:
  - {name: x, share: 1, budget: {gpuHours: 1, per: month, onExhaustion: refuse}}
  - {name: y, share: 1}
  - {name: z, share: 1}
`,
		// A place that unallocated work has to leave first is not ready before its grace is over.
		"date-behind-a-long-grace": `
cluster 1x2
policy p.yaml
budgets b.yaml
job fill submit=0 gpus=2 dur=1000 protect=0 grace=5 team=y
job dated submit=1 gpus=1 dur=60 protect=60 team=x
job between submit=1 gpus=2 dur=4 protect=4 team=x
promised dated 6 at 1
starts dated 6` + with("  grace: {allocated: 0s, unallocated: 5m}\n  overKill: {times: 1, upTo: 1}\n  debug: none\n") + three,
		// An elastic gang is debug work as long as it is small.
		"elastic-and-debug-nodes": `
cluster 2x4
policy p.yaml
budgets b.yaml
job gang submit=0 tasks=8 gpus=1 min=1 max=8 dur=60 protect=10 team=x
workers gang 4` + with(bare+"  debug: {nodes: 50%, gpus: 1, minRuntime: 15m}\n") + three,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name+".txtar")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c := readCase(t, file)
			for _, p := range c.policies {
				t.Run(p.Name, func(t *testing.T) { c.run(t, p) })
			}
		})
	}
}

// TestJobLargerThanAllButDebugNodes: a job that needs the nodes kept for debug work
// starts, or it is refused; it does not wait for ever.
func TestJobLargerThanAllButDebugNodes(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{{ID: "all", Team: "x", Need: workload.Need{Tasks: 17, GPUs: 8}}},
		Actual: []workload.Actual{{Duration: workload.Hour, Start: workload.Unknown, End: workload.Unknown}}}
	res, err := sim.Run(t.Context(), sim.Options{Workload: w, Cluster: cluster.Uniform("c", 17, 8), Policy: shipped(t, "contract")})
	if err != nil {
		t.Fatal(err)
	}
	if s := res.Jobs[0].State; s != sim.Ended && s != sim.Refused {
		t.Errorf("it is left in state %d", s)
	}
}

// TestFailuresWhileABudgetIsAwaited: nodes that fail while nothing runs, and all wait
// for the next day's budget, do not turn the clock back.
func TestFailuresWhileABudgetIsAwaited(t *testing.T) {
	tree, err := budget.Parse("b.yaml", []byte("children: [{name: x, share: 1, budget: {gpuHours: 1, per: day, onExhaustion: refuse}}]"))
	if err != nil {
		t.Fatal(err)
	}
	w := &workload.Workload{Epoch: workload.Unknown}
	for _, id := range []string{"today", "tomorrow"} {
		w.Jobs = append(w.Jobs, workload.Job{ID: id, Team: "x", Need: workload.Need{GPUs: 1}})
		w.Actual = append(w.Actual, workload.Actual{Duration: workload.Hour, Start: workload.Unknown, End: workload.Unknown})
	}
	for seed := range uint64(20) {
		res, err := sim.Run(t.Context(), sim.Options{Workload: w, Cluster: cluster.Uniform("c", 2, 2), Policy: shipped(t, "contract"), Budgets: tree,
			Faults: sim.Faults{MTBF: 5 * workload.Hour, MTTR: workload.Minute, Seed: seed}})
		if err != nil {
			t.Fatal(err)
		}
		if res.Jobs[0].NodeFailures > 0 {
			continue // what it was charged does not come back: it takes tomorrow's budget too
		}
		if at := res.Jobs[1].FirstStart; at < workload.Day || at > workload.Day+workload.Hour {
			t.Errorf("seed %d: tomorrow's job starts at %d", seed, at)
		}
	}
}
