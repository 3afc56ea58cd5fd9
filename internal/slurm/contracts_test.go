package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/workload"
)

const siteFile = `defaults:
  min-runtime: 1h
  grace: 60s
  checkpoint-on-stop: true
partitions:
  debug: {class: debug, kind: interactive}
  scav: {class: unallocated, team: leftovers, resumable: true}
  long: {grace: 5m, priority: 7}
qos:
  long: {min-runtime: 8h, checkpoint-interval: 30m}
  free: {class: unallocated}
  once: {resumable: false, signal: "B:USR1@90"}
`

// TestContractsOfASite: who is nearer to the job goes first, word by word.
func TestContractsOfASite(t *testing.T) {
	c, err := ParseContracts("contracts.yaml", []byte(siteFile))
	if err != nil {
		t.Fatal(err)
	}
	const minute = 60_000
	for _, x := range []struct {
		comment, qos, partitions string
		want                     workload.Contract
		team                     string
		more                     func(j workload.Job, s Signal) bool
	}{
		{"", "normal", "train", workload.Contract{HasMinRuntime: true, MinRuntime: 60 * minute, Grace: minute, CheckpointOnStop: true}, "account", nil},
		{"", "normal", "debug", workload.Contract{HasMinRuntime: true, MinRuntime: 15 * minute, Grace: minute, CheckpointOnStop: true}, "account", func(j workload.Job, _ Signal) bool { return j.Kind == workload.KindInteractive }},
		{"", "normal", "train,scav,debug", workload.Contract{HasMinRuntime: true, Grace: minute, CheckpointOnStop: true}, "leftovers", nil},
		// The QOS goes before the partition.
		{"", "free", "debug", workload.Contract{HasMinRuntime: true, Grace: minute, CheckpointOnStop: true}, "account", nil},
		// Each word for itself; what is kept of a stopped run is one thing.
		{"", "long", "long", workload.Contract{HasMinRuntime: true, MinRuntime: 480 * minute, Grace: 5 * minute, CheckpointInterval: 30 * minute}, "account", func(j workload.Job, _ Signal) bool { return j.Priority == 7 }},
		// The job's own word goes before all, nought and no among them.
		{"escala:min-runtime=0,grace=0,checkpoint-on-stop=no,team=mine", "long", "scav", workload.Contract{HasMinRuntime: true}, "mine", nil},
		{"escala:resumable", "once", "train", workload.Contract{HasMinRuntime: true, MinRuntime: 60 * minute, Grace: 90_000, CheckpointOnStop: true}, "account", func(_ workload.Job, s Signal) bool { return s.Name == "USR1" && s.Batch }},
		// A signal of its own is a grace of its own.
		{"escala:signal=HUP@10", "once", "long", workload.Contract{HasMinRuntime: true, MinRuntime: 60 * minute, Grace: 10_000, CheckpointOnStop: true, NotResumable: true}, "account", func(_ workload.Job, s Signal) bool { return s.Name == "HUP" && !s.Batch }},
	} {
		own, err := ParseContract(x.comment)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Of(own, x.qos, strings.Split(x.partitions, ","))
		j := said(got)
		if j.Contract != x.want || j.Team != x.team || x.more != nil && !x.more(j, got.Signal()) {
			t.Errorf("%q, QOS %s, partition %s: %+v", x.comment, x.qos, x.partitions, j)
		}
	}
	if own, _ := ParseContract("escala:grace=5s"); (*Contracts)(nil).Of(own, "long", nil) != own {
		t.Error("a site that says nothing says something")
	}
}

func TestContractsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"defaults: {minruntime: 1h}":                     `c.yaml:1:12: unknown key "minruntime"; did you mean min-runtime?`,
		"defaults: {min-runtime: 60}":                    "say the unit: 60s",
		"partition: {}":                                  "did you mean partitions?",
		"qos:\n  a: {class: unalocated}":                 `c.yaml:2:14: "unalocated" is not known; did you mean unallocated?`,
		"qos:\n  a: {class: debug, min-runtime: 2h}":     "class: debug is a minimum runtime of 15m already",
		"qos:\n  a: {signal: USR9}":                      `c.yaml:2:15: "USR9" is no signal`,
		"qos:\n  a: {kind: interactve}":                  "did you mean interactive?",
		"qos:\n  a: {kind: realtime}":                    "is not known",
		"qos:\n  a: {team: \" \"}":                       "a team without a name",
		"qos:\n  a: {resumable: 1}":                      "true or false",
		"qos: [a]":                                       "a map",
		"defaults: {grace: 1m}\nqos:\n  a: {grace: -1m}": "c.yaml:3:",
		"defaults: {grace: 1m}\ndefaults: {grace: 1m}\n": "defaults",
	} {
		if _, err := ParseContracts("c.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

func TestContractsAreOfWhatThereIs(t *testing.T) {
	c, err := ParseContracts("c.yaml", []byte(siteFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check([]string{"debug", "scav", "long", "train"}, []string{"long", "free", "once"}); err != nil {
		t.Error(err)
	}
	if err := c.Check([]string{"debug", "scavenge", "long"}, nil); err == nil || !strings.Contains(err.Error(), `c.yaml:7:9: Slurm has no partition "scav"; did you mean scavenge?`) && !strings.Contains(err.Error(), "scavenge") {
		t.Error(err)
	}
	if err := c.Check(nil, []string{"long", "once"}); err == nil || !strings.Contains(err.Error(), `Slurm has no QOS "free"`) {
		t.Error(err)
	}
	if err := (*Contracts)(nil).Check(nil, nil); err != nil {
		t.Error(err)
	}
}

func FuzzContracts(f *testing.F) {
	f.Add(siteFile)
	f.Add("qos: {a: {class: debug}}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseContracts("c.yaml", []byte(text))
		if err == nil {
			c.Of(Terms{}, "a", []string{"b"})
			_ = c.Check([]string{"a"}, []string{"b"})
		}
	})
}

func TestSignalThatWasAskedFor(t *testing.T) {
	usr1 := Signal{Name: "USR1", Batch: true, Before: 90 * time.Second}
	for script, want := range map[string]Signal{
		"#!/bin/sh\n#SBATCH --signal=B:USR1@90\nsleep 1\n":                              usr1,
		"#!/bin/sh\n# note\n\n#SBATCH -N 2 --signal B:USR1@90 # why\nsleep 1\n":         usr1,
		"#!/bin/sh\n#SBATCH --signal=HUP\n#SBATCH --signal=\"B:SIGUSR1@90\"\nsleep 1\n": usr1,
		"#!/bin/sh\n#SBATCH --sig=B:usr1@90\n":                                          usr1,
		"#!/bin/sh\nsleep 1\n#SBATCH --signal=B:USR1@90\n":                              {},
		"#!/bin/sh\n#SBATCH --comment=x # --signal=B:USR1@90\n##SBATCH --signal=HUP\n":  {},
		"#!/bin/sh\n#SBATCH --signal=NONE\n":                                            {},
		"":                                                                              {},
	} {
		if got := signalOfScript(script); got != want {
			t.Errorf("%q: %+v", script, got)
		}
	}
	for _, c := range []struct {
		line, script string
		want         Signal
	}{
		{"sbatch -N2 --signal=B:USR1@90 train.sh", "/home/a/train.sh", usr1},
		{"sbatch -N2 --signal B:USR1@90 ./train.sh --signal=HUP", "/home/a/train.sh", usr1},
		{"sbatch train.sh --signal=HUP", "/home/a/train.sh", Signal{}},
		{"sbatch --wrap=sleep 5 --signal=B:USR1@90", "", usr1},
		{"sbatch --wrap=sleep 5", "", Signal{}},
		{"", "", Signal{}},
	} {
		if got := signalOfLine(c.line, c.script); got != c.want {
			t.Errorf("%q: %+v", c.line, got)
		}
	}
}

func FuzzSignal(f *testing.F) {
	f.Add("#SBATCH --signal=B:USR1@90", "x.sh")
	f.Fuzz(func(t *testing.T, text, script string) {
		for _, s := range []Signal{signalOfScript(text), signalOfLine(text, script)} {
			if s.Before < 0 || s.Name == "" && s != (Signal{}) {
				t.Errorf("%q: %+v", text, s)
			}
		}
		if s, err := ParseSignal(text); err == nil && s.Name == "" {
			t.Errorf("%q: no name", text)
		}
	})
}
