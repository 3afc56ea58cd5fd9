package cli

import (
	"context"
	"fmt"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/daemon"
	"github.com/escala-sched/escala/internal/live"
)

// demoGPUs is how many GPUs the demo pretends to have.
const demoGPUs = 16

// demonstrate adds the made-up lab.
func (f *serveFlags) demonstrate(o *daemon.Options) error {
	if o.Budgets == nil {
		t, err := budget.Parse("demo.yaml", []byte(daemon.DemoBudgets))
		if err != nil {
			return fmt.Errorf("the demo's budgets: %w", err)
		}
		o.Budgets = t
	}
	lab := daemon.NewLab(o.Now().UnixNano())
	o.Beside = func(ctx context.Context, d *live.Daemon) error { return lab.Run(ctx, d) }
	return nil
}
