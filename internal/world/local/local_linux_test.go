package local

import (
	"bytes"
	"testing"

	"github.com/escala-sched/escala/internal/world/worldtest"
)

func contains(b []byte, s string) bool { return bytes.Contains(b, []byte(s)) }

func TestConformance(t *testing.T) {
	worldtest.Run(t, func(t *testing.T) worldtest.Harness { return newRig(t).harness() })
}

func TestConformanceWithCgroups(t *testing.T) {
	if p, said := findCgroups(CgroupsAuto, ""); p == nil {
		t.Skip(said)
	}
	worldtest.Run(t, func(t *testing.T) worldtest.Harness {
		g := newRig(t)
		g.opts.Cgroups = CgroupsRequired
		return g.harness()
	})
}
