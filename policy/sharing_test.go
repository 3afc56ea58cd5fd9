package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/escala-sched/escala/workload"
)

func TestSharing(t *testing.T) {
	with := func(change func(s *Sharing)) Sharing {
		s := DefaultSharing()
		change(&s)
		return s
	}
	for text, want := range map[string]Sharing{
		"sharing: {}": DefaultSharing(),
		`order: [priority, submit]
sharing:
  window: 72h
  interval: 30s
  creditCap: none
  guard: entitlement
  hysteresis: 1.25
  minRuntime: {cap: 4h, default: 0s}
  backOff: false
  grace: {allocated: 5m, unallocated: 0s}
  checkpointWait: 10m
  overKill: {times: 2, upTo: 16}
  evictions: {every: 12s}
  inTeam: true
  reservations: {count: 8, above: 32, nodes: 12.5%, anyAccount: true}
  debug: {nodes: 6%, gpus: 4, minRuntime: 30m}
  weights: {gpus: {H100: 1.5, "A100 80GB": 0.625}, cpu: 0.01}
  sessions: {idle: 10m, max: 1d}
`: {
			Window: 72 * workload.Hour, Interval: 30 * workload.Second, CreditCap: -1, Guard: GuardEntitlement, Hysteresis: 1250,
			MinRuntimeCap: 4 * workload.Hour, GraceAllocated: 5 * workload.Minute, CheckpointWait: 10 * workload.Minute,
			OverKill: 2, OverKillGPUs: 16, EvictEvery: 12 * workload.Second, InTeam: true,
			Reservations: Reservations{Count: 8, Above: 32, Nodes: 125, AnyAccount: true},
			Debug:        Debug{Nodes: 60, GPUs: 4, MinRuntime: 30 * workload.Minute},
			GPUWeights:   []TypeWeight{{"A100 80GB", 625}, {"H100", 1500}}, CPUWeight: 10,
			SessionIdle: 10 * workload.Minute, SessionMax: workload.Day,
		},
		"sharing: {evictions: none, overKill: none, reservations: none, debug: none}": with(func(s *Sharing) {
			s.EvictEvery, s.OverKill, s.OverKillGPUs, s.Reservations, s.Debug = workload.Never, 0, 0, Reservations{}, Debug{}
		}),
		// A part of nothing is none; the rest of the block then says nothing.
		"sharing: {reservations: {nodes: 0%, above: 8}, debug: {nodes: 0%, gpus: 0}, evictions: unlimited}": with(func(s *Sharing) {
			s.Reservations, s.Debug = Reservations{}, Debug{}
		}),
		// Defaults follow a bound that is below them.
		"sharing: {minRuntime: {cap: 30m}, sessions: {max: 20m}}": with(func(s *Sharing) {
			s.MinRuntimeCap, s.MinRuntimeDefault = 30*workload.Minute, 30*workload.Minute
			s.SessionIdle, s.SessionMax = 20*workload.Minute, 20*workload.Minute
		}),
		"blocking: skip\npreemption: none\norder: [deadline, {by: area, descending: true}, gpus, estimate]\nsharing: {inTeam: false, backOff: true}": DefaultSharing(),
	} {
		p, err := Parse("p.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(&want, p.Sharing); diff != "" {
			t.Errorf("%s (-want,+got):\n%s", text, diff)
		}
		if p.Blocking != Skip {
			t.Errorf("%s: blocking is %s, want skip", text, p.Blocking)
		}
		roundTrip(t, p)
	}
}

// The shipped policy spells its keys out for its readers; they are the defaults.
func TestContractHasTheDefaults(t *testing.T) {
	p, ok := Shipped("contract")
	if !ok {
		t.Fatal("no contract")
	}
	want := DefaultSharing()
	if diff := cmp.Diff(&want, p.Sharing); diff != "" {
		t.Errorf("contract (-want,+got):\n%s", diff)
	}
}

func TestSpareAndLimit(t *testing.T) {
	p, err := Parse("p.yaml", []byte("preemption: {by: priority, spare: {label: preemptible, value: no}}\nlimit: {teamUnpreemptible: 12.5%}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Preemption{By: PreemptPriority, CrossTeam: true, Spare: &Label{Key: "preemptible", Value: "no"}}
	if diff := cmp.Diff(want, p.Preemption); diff != "" {
		t.Errorf("preemption (-want,+got):\n%s", diff)
	}
	if p.Limit.TeamUnpreemptible != 125 {
		t.Errorf("limit is %d thousandths, want 125", p.Limit.TeamUnpreemptible)
	}
	roundTrip(t, p)
}

// Whatever sharing a program may set up by hand is written so that it is read back.
func TestAnySharingIsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		number := func(name string, lo, hi int64) int64 { return rapid.Int64Range(lo, hi).Draw(rt, name) }
		yes := func(name string) bool { return rapid.Bool().Draw(rt, name) }
		s := Sharing{
			Window: number("window", workload.Hour, longest), Interval: number("interval", 1, workload.Hour),
			CreditCap: number("creditCap", -1, 1000), Guard: Guard(number("guard", 0, 1)), Hysteresis: number("hysteresis", 1000, 100_000),
			MinRuntimeCap: number("cap", 1, longest), BackOff: yes("backOff"),
			GraceAllocated: number("allocated", 0, longest), GraceUnallocated: number("unallocated", 0, longest),
			CheckpointWait: number("checkpointWait", 0, longest), EvictEvery: number("every", 0, longest), InTeam: yes("inTeam"),
			SessionMax: number("max", 1, longest),
		}
		s.MinRuntimeDefault = number("default", 0, s.MinRuntimeCap)
		s.SessionIdle = number("idle", 1, s.SessionMax)
		if yes("no evictions") {
			s.EvictEvery = workload.Never
		}
		if yes("overKill") {
			s.OverKill, s.OverKillGPUs = number("times", 1, 1<<31-1), number("upTo", 1, 1<<31-1)
		}
		if yes("reservations") {
			s.Reservations = Reservations{Count: int(number("count", 1, 1<<31-1)), Above: number("above", 0, 1<<31-1),
				Nodes: number("reserved nodes", 1, 1000), AnyAccount: yes("anyAccount")}
		}
		if yes("debug") {
			s.Debug = Debug{Nodes: number("debug nodes", 1, 1000), GPUs: number("gpus", 1, 1<<31-1), MinRuntime: number("minRuntime", 1, longest)}
		}
		for _, gpu := range []string{"A100", "H100 80GB", "true"} {
			if yes(gpu) {
				s.GPUWeights = append(s.GPUWeights, TypeWeight{gpu, number("weight", 0, heaviest)})
			}
		}
		s.CPUWeight = number("cpu", 0, heaviest)
		p, err := Parse("p.yaml", []byte("order: [priority]\nsharing: {}\n"))
		if err != nil {
			t.Fatal(err)
		}
		p.Sharing = &s
		again, err := Parse("p.yaml", p.YAML())
		if err != nil {
			rt.Fatalf("written form is not read back: %v\n%s", err, p.YAML())
		}
		if diff := cmp.Diff(&s, again.Sharing); diff != "" {
			rt.Fatalf("written form is read back differently (-want,+got):\n%s\n%s", diff, p.YAML())
		}
	})
}
