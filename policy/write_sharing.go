package policy

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// yaml writes the keys of the block "sharing", every one of them.
func (s *Sharing) yaml(b *bytes.Buffer) {
	line := func(key, format string, args ...any) { fmt.Fprintf(b, "  %s: %s\n", key, fmt.Sprintf(format, args...)) }
	line("window", "%s", span(s.Window))
	line("interval", "%s", span(s.Interval))
	if s.CreditCap < 0 {
		line("creditCap", wordNone)
	} else {
		line("creditCap", "%s", yamlx.Percent(s.CreditCap))
	}
	line("guard", "%s", s.Guard)
	line("hysteresis", "%s", yamlx.Milli(s.Hysteresis))
	line("minRuntime", "{cap: %s, default: %s}", span(s.MinRuntimeCap), span(s.MinRuntimeDefault))
	line("backOff", "%t", s.BackOff)
	line("grace", "{allocated: %s, unallocated: %s}", span(s.GraceAllocated), span(s.GraceUnallocated))
	line("checkpointWait", "%s", span(s.CheckpointWait))
	if s.OverKill == 0 {
		line("overKill", wordNone)
	} else {
		line("overKill", "{times: %d, upTo: %d}", s.OverKill, s.OverKillGPUs)
	}
	switch {
	case s.EvictEvery == workload.Never:
		line("evictions", wordNone)
	case s.EvictEvery == 0 && s.EvictAfter == 0:
		line("evictions", wordUnlimited)
	default:
		line("evictions", "{every: %s, after: %s}", span(s.EvictEvery), span(s.EvictAfter))
	}
	line("inTeam", "%t", s.InTeam)
	if r := &s.Reservations; r.Count == 0 {
		line("reservations", wordNone)
	} else {
		line("reservations", "{count: %d, above: %d, nodes: %s, anyAccount: %t}", r.Count, r.Above, yamlx.Percent(r.Nodes), r.AnyAccount)
	}
	if d := &s.Debug; d.Nodes == 0 {
		line("debug", wordNone)
	} else {
		line("debug", "{nodes: %s, gpus: %d, minRuntime: %s}", yamlx.Percent(d.Nodes), d.GPUs, span(d.MinRuntime))
	}
	parts := make([]string, len(s.GPUWeights))
	for i, w := range s.GPUWeights {
		parts[i] = yamlx.Quote(w.GPUType) + ": " + yamlx.Milli(w.Weight).String()
	}
	line("weights", "{gpus: {%s}, cpu: %s}", strings.Join(parts, ", "), yamlx.Milli(s.CPUWeight))
	line("sessions", "{idle: %s, max: %s}", span(s.SessionIdle), span(s.SessionMax))
}
