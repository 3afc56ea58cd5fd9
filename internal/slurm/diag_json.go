package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// DecodeDiag reads what sdiag --json and slurmrestd write of slurmctld's statistics.
func DecodeDiag(data []byte) (*Diag, error) {
	var top struct {
		Errors     json.RawMessage `json:"errors"`
		Statistics object          `json:"statistics"`
	}
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("Slurm's JSON: %w", err) //nolint:staticcheck // a name
	}
	if err := complaint(top.Errors); err != nil {
		return nil, err
	}
	o := top.Statistics
	if o == nil {
		return nil, fmt.Errorf("Slurm's JSON has no statistics") //nolint:staticcheck // a name
	}
	n := func(key string) int64 { return max(o.whole(key), 0) }
	d := &Diag{At: o.time("req_time"), Since: o.time("req_time_start"), ServerThreads: n("server_thread_count"), AgentQueue: n("agent_queue_size"), DBDQueue: n("dbd_agent_queue_size"),
		Submitted: n("jobs_submitted"), Started: n("jobs_started"), Completed: n("jobs_completed"), Canceled: n("jobs_canceled"), Failed: n("jobs_failed"), Pending: n("jobs_pending"), Running: n("jobs_running"),
		Backfilled: n("bf_backfilled_jobs"), Calls: o.calls("rpcs_by_message_type", "message_type"), Users: o.calls("rpcs_by_user", "user"),
		Main: Cycle{Last: o.micro("schedule_cycle_last"), Max: o.micro("schedule_cycle_max"), Mean: o.micro("schedule_cycle_mean"),
			Count: n("schedule_cycle_total"), Depth: n("schedule_cycle_mean_depth"), Queue: n("schedule_queue_length")},
		Backfill: Cycle{Last: o.micro("bf_cycle_last"), Max: o.micro("bf_cycle_max"), Mean: o.micro("bf_cycle_mean"), Count: n("bf_cycle_counter"), Depth: n("bf_depth_mean"), Queue: n("bf_queue_len")}}
	if d.At.IsZero() {
		return nil, fmt.Errorf("Slurm's JSON does not tell of when its statistics are") //nolint:staticcheck // a name
	}
	return d, nil
}

// micro reads microseconds.
func (o object) micro(key string) time.Duration {
	return time.Duration(min(max(o.whole(key), 0), 1<<50)) * time.Microsecond
}

// calls reads how often what was asked.
func (o object) calls(key, name string) map[string]Calls {
	out := map[string]Calls{}
	list, _ := o[key].([]any)
	for _, x := range list {
		m, _ := x.(map[string]any)
		if c := object(m); c.text(name) != "" {
			out[c.text(name)] = Calls{Count: max(c.whole("count"), 0), Mean: c.micro("average_time"), All: c.micro("total_time")}
		}
	}
	return out
}

// Diag reads slurmctld's statistics.
func (r *REST) Diag(ctx context.Context) (*Diag, error) {
	data, err := r.get(ctx, "diag")
	if err != nil {
		return nil, err
	}
	return DecodeDiag(data)
}
