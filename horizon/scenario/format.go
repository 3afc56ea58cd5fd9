package scenario

import (
	"fmt"

	"github.com/escala-sched/escala/workload"
)

// file is the JSON form of a problem: one object, lists in arrival order. How the rules are
// read is not part of it.
type file struct {
	Name        string   `json:"name,omitempty"`
	Family      string   `json:"family,omitempty"` // these three are for people
	Notes       string   `json:"notes,omitempty"`
	Seed        int64    `json:"seed,omitempty"`
	GPUs        int      `json:"gpus"`
	Steps       int      `json:"steps"`
	StepHours   *float64 `json:"step_hours,omitempty"` // 1 if absent
	StartHour   int      `json:"start_hour,omitempty"`
	StartMinute int      `json:"start_minute,omitempty"`
	Decay       *float64 `json:"decay,omitempty"` // 1 if absent
	Types       []int    `json:"types,omitempty"`
	Nodes       []node   `json:"nodes,omitempty"`
	Closed      []window `json:"closed,omitempty"`
	Jobs        []job    `json:"jobs,omitempty"`
	RT          []app    `json:"rt,omitempty"`
}

type node struct {
	Name  string `json:"name"`
	First int    `json:"first"`
	Count int    `json:"count"`
}

type window struct {
	Name   string `json:"name,omitempty"`
	First  int    `json:"first"`
	Count  int    `json:"count"`
	From   int    `json:"from"`
	To     int    `json:"to"`
	Absent bool   `json:"absent,omitempty"`
}

type job struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind,omitempty"`
	GPUs     int      `json:"gpus"`
	Slots    int      `json:"slots,omitempty"`
	Align    int      `json:"align,omitempty"`
	Steps    int      `json:"steps"`
	Priority int64    `json:"priority"`
	Release  int      `json:"release"`
	Running  *running `json:"running,omitempty"`
	Deadline int      `json:"deadline,omitempty"`
	Late     float64  `json:"late,omitempty"`
	MinSteps int      `json:"min_steps,omitempty"`
	Restart  int      `json:"restart,omitempty"`
	Types    types    `json:"types,omitempty"`
}

type running struct {
	Offset  int  `json:"offset"`
	Elapsed int  `json:"elapsed"`
	Foreign bool `json:"foreign,omitempty"`
}

type app struct {
	ID      string `json:"id"`
	Min     []int  `json:"min"`
	Demand  []int  `json:"demand"`
	Max     []int  `json:"max"`
	SwapCap int    `json:"swap_cap"`
	Used    int    `json:"used,omitempty"`
	Penalty int64  `json:"penalty"`
	Current []int  `json:"current"`
	Types   types  `json:"types,omitempty"`
}

// types are GPU types by number.
type types []int

func (list types) mask() (uint64, error) {
	m := uint64(0)
	for _, t := range list {
		if t < 0 || t > 63 {
			return 0, fmt.Errorf("types: %d; types are numbered 0 to 63", t)
		}
		m |= 1 << t
	}
	return m, nil
}

func listOf(mask uint64) types {
	var list types
	for t := range 64 {
		if mask>>t&1 == 1 {
			list = append(list, t)
		}
	}
	return list
}

// parseKind takes the short names of files, and those of workloads.
func parseKind(s string) (workload.Kind, bool) {
	if s == "batch" {
		return workload.KindBatchInference, true
	}
	return workload.ParseKind(s)
}

func kindName(k workload.Kind) string {
	if k == workload.KindBatchInference {
		return "batch"
	}
	return k.String()
}
