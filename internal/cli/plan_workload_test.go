package cli

import (
	"os"
	"strings"
	"testing"
)

// A workload is planned from before the first decision at that time: from its very beginning,
// with jobs that take no time, and with runs that take longer than was thought.
func TestPlanWorkloadFrom(t *testing.T) {
	const header = "job_id,submit,duration,estimate,gpus\n"
	for name, c := range map[string]struct{ jobs, at, want string }{
		"all at zero": {"a,0,3600,3600,4\nb,0,7200,7200,4\n", "0", "Wanted        2 jobs"},
		"no duration": {"a,0,36000,36000,4\nb,60,0,1,4\n", "1m", "Wanted        2 jobs"},
		"overrun":     {"a,0,36000,3600,4\nb,60,3600,3600,8\n", "5h", "a       4      3"}, // 8 h in all, of which 5 are over
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if err := os.WriteFile("jobs.csv", []byte(header+c.jobs), 0o666); err != nil {
				t.Fatal(err)
			}
			w.Args = []string{"plan", "jobs.csv", "--cluster", "1x8", "--work", "5", "--at", c.at}
			if code := Run(t.Context(), w.State); code != exitOK || !strings.Contains(w.out.String(), c.want) {
				t.Errorf("exit code %d, want 0 and %q in:\n%s%s", code, c.want, w.out.String(), w.err.String())
			}
		})
	}
}
