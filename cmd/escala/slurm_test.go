package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestSlurmScripts runs scripts over a real Slurm, each over one of its own.
func TestSlurmScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/slurm",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "eventually": eventually},
		Setup: func(e *testscript.Env) error {
			c := slurmtest.Start(e.T().(testing.TB), slurmtest.Options{Nodes: 1})
			e.Setenv("SLURM_CONF", c.Conf)
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
	})
}
