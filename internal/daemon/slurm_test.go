package daemon

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/client"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/slurm"
	"github.com/escala-sched/escala/internal/slurm/slurmtest"
)

// TestOverSlurm: the daemon over a real Slurm serves all that it serves over this machine, but for
// submissions and logs.
func TestOverSlurm(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 2})
	x := serveHere(t, func(o *Options) {
		o.Pretend, o.Slurm = 0, &SlurmOptions{Partitions: []string{"train"}, Conf: c.Conf}
		o.pruneAfter = 10 * time.Millisecond
	})
	var wrong *client.Problem
	if _, err := x.c.Call(t.Context(), http.MethodPost, "/jobs", &api.Submit{Need: api.Need{GPUs: 1}, Run: &api.Run{Command: []string{"true"}, Dir: "/"}}, nil, nil); !errors.As(err, &wrong) || wrong.Status != http.StatusConflict {
		t.Errorf("a submission: %v", err)
	}
	id := c.Sbatch("exit 7", "--gpus=2")
	var j api.Job
	for range 300 {
		if err := x.c.Get(t.Context(), "/jobs/"+id, &j); err == nil && j.Ended != nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if j.State != "failed" || len(j.Runs) != 1 || j.Runs[0].Started == nil {
		t.Errorf("%+v", j)
	}
	if err := x.c.Get(t.Context(), "/jobs/"+id+"/log", nil); !errors.As(err, &wrong) || wrong.Status >= 500 {
		t.Errorf("logs: %v", err)
	}
	for _, path := range []string{"/status", "/queue", "/nodes", "/policy", "/budgets"} {
		if err := x.c.Get(t.Context(), path, nil); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	all := files(t, x.stream("/support-bundle?journal_mib=0"))
	r, err := journal.NewReader("journal.jsonl", bytes.NewReader(all["journal.jsonl"]))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := journal.Replay(r, true); err != nil || got.Decisions == 0 {
		t.Errorf("deciding again: %+v, %v", got, err)
	}
}

func TestForgetfulSlurmIsTold(t *testing.T) {
	for _, c := range []struct {
		storage string
		age     time.Duration
		told    bool
	}{
		{"accounting_storage/none", 30 * time.Second, true}, {"accounting_storage/none", 300 * time.Second, false}, {"accounting_storage/none", 0, false},
		{"accounting_storage/slurmdbd", 2 * time.Second, false},
	} {
		text := forgetful(&slurm.Config{AccountingStorageType: c.storage, MinJobAge: c.age})
		if (text != "") != c.told || c.told && !strings.Contains(text, "30s") {
			t.Errorf("%+v: %q", c, text)
		}
	}
}

func TestWhoMayEnforce(t *testing.T) {
	accounting, bare := &slurm.Config{SlurmUser: "slurm", AccountingStorageType: "accounting_storage/slurmdbd"}, &slurm.Config{SlurmUser: "slurm", AccountingStorageType: "accounting_storage/none"}
	for _, c := range []struct {
		p    slurm.Probe
		says string
	}{
		{slurm.Probe{Config: accounting, User: "ops", Right: slurm.Operator}, ""},
		{slurm.Probe{Config: bare, User: "slurm", Right: slurm.SlurmUser}, ""},
		{slurm.Probe{Config: accounting, User: "ana", Right: slurm.Owner}, "adminlevel=Operator"},
		{slurm.Probe{Config: bare, User: "ana", Right: slurm.Owner}, "only SlurmUser (slurm)"},
		{slurm.Probe{Config: accounting, User: "ana", RightUnknown: errors.New("slurmdbd is away")}, "slurmdbd is away"},
	} {
		err := mayEnforce(&c.p)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
}
