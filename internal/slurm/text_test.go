package slurm

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFieldsMayHaveAnything(t *testing.T) {
	v := make([]string, len(fields))
	for i, f := range fields {
		switch f {
		case "ArrayJobID", "JobID", "UserID", "NumNodes", "NumTasks", "NumCPUs", "Priority", "Nice", "RestartCnt":
			v[i] = "1"
		case "State":
			v[i] = Pending
		case "Feature":
			v[i] = "a100|h100"
		case "Account":
			v[i] = "x\x1f\n1\x1f"
		}
	}
	const sep = "\x1fABC"
	line := strings.Join(v, sep) + sep
	jobs, odd, err := parseQueue(line+"\n"+line+"\n", sep)
	if err != nil || len(jobs) != 2 || len(odd) != 0 || jobs[0].Features != "a100|h100" || jobs[1].Number != 1 || jobs[1].Account != "x\x1f\n1\x1f" {
		t.Errorf("%+v, %v, %v", jobs, odd, err)
	}
	if jobs, _, err := parseQueue(line+"\n"+line[5:], sep); err == nil {
		t.Errorf("%+v", jobs)
	}
}

func TestDiagOfABusyController(t *testing.T) {
	d, err := parseDiag(`***
sdiag output at Mon Nov 30 11:47:11 2026 (1796039231)
Data since      Mon Nov 30 11:36:37 2026 (1796038597)
***
Server thread count:  3
DBD Agent queue size: 14

Jobs submitted: 10090
Jobs states ts:  Mon Nov 30 11:46:42 2026 (1796039202)
Jobs pending:   10063

Main schedule statistics (microseconds):
	Last cycle:   69531
	Mean cycle:   57697
	Mean depth cycle:  3342
	Total cycles: 286

Backfilling stats
	Total backfilled jobs (since last slurm start): 18
	Last cycle when: Mon Nov 30 11:47:04 2026 (1796039224)
	Mean cycle: 3567062
	Depth Mean: 149
	Depth Mean (try depth): 142
	Last queue length: 10063

Remote Procedure Call statistics by message type
	REQUEST_UPDATE_JOB                      ( 3001) count:20888  ave_time:16393  total_time:342421305

Remote Procedure Call statistics by user
	irc             (      39) count:20841  ave_time:16575  total_time:345456733

Pending RPC statistics
	No pending RPCs
`)
	if err != nil || d.DBDQueue != 14 || d.Pending != 10063 || d.Main.Mean != 57697*time.Microsecond || d.Main.Depth != 3342 || d.Backfill.Mean != 3567062*time.Microsecond || d.Backfill.Depth != 149 ||
		d.Backfill.Queue != 10063 || d.Backfilled != 18 || d.Calls["REQUEST_UPDATE_JOB"].Count != 20888 || d.Users["irc"].Mean != 16575*time.Microsecond || d.Since.Unix() != 1796038597 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := parseDiag("sdiag: error"); err == nil {
		t.Error("an error is taken for statistics")
	}
}

func TestConfigOfASite(t *testing.T) {
	c, err := parseConfig("Configuration data as of 2026\nSLURM_VERSION = 23.11.0-0rc1\nSlurmUser = slurm(64030)\nAuthInfo = socket=/x,cred_expire=10\nSlurmctldPort = 6820-6823\nKillWait = 30 sec\n" +
		"AccountingStorageType = accounting_storage/slurmdbd\nSchedulerParameters = bf_continue,bf_interval=5\nMinJobAge = 300 sec\n")
	if err != nil || c.SlurmUID != 64030 || c.Port != 6820 || c.CredentialsExpire != 10*time.Second || !c.Accounting() || c.Scheduler["bf_interval"] != "5" || c.KillWait != 30*time.Second {
		t.Errorf("%+v, %v", c, err)
	}
	if a, b, err := version(c.Version); a != 23 || b != 11 || err != nil {
		t.Error(a, b, err)
	}
}

func TestWhoIsComplainedOf(t *testing.T) {
	e := &ToolError{Lines: []string{"Invalid job id specified for job 99", "12_1,3-5: Job has already finished", "7_2: Access/permission denied", "slurm_suspend error: Invalid job id specified",
		"20_1: Job is no longer pending execution", "20_2-4: No error", "21_1: Job is no longer pending execution", "21_2: No error", "21_3: Access/permission denied"}}
	got, all := perJob(e, []string{"99", "12", "7_2", "8", "20", "21"})
	if len(got) != 4 || !all || !errors.Is(got["21"], ErrDenied) || !errors.Is(got["99"], ErrNoJob) || !errors.Is(got["12"], ErrEnded) || !errors.Is(got["7_2"], ErrDenied) {
		t.Errorf("%v", got)
	}
}

func TestTasksThatAreComplainedOf(t *testing.T) {
	e := &ToolError{Lines: []string{"12_2,4: Invalid partition name specified", "12_7: Job has already finished"}}
	if got, all := perJob(e, []string{"12_[1,3]", "12_[2,4]", "12_7"}); !all || len(got) != 2 || !errors.Is(got["12_[2,4]"], ErrInvalid) || !errors.Is(got["12_7"], ErrEnded) {
		t.Errorf("%v, %v", got, all)
	}
	if got, all := perJob(&ToolError{Lines: []string{"scontrol: error: Invalid job ID 1,2"}}, []string{"1", "2"}); all || len(got) > 0 {
		t.Errorf("%v, %v", got, all)
	}
}

func TestAddress(t *testing.T) {
	for want, j := range map[string]Job{
		"12":              {ID: "12"},
		"12_3":            {ID: "12_3"},
		"12_[1-3,7,9-10]": {ID: "12", Tasks: []int32{1, 2, 3, 7, 9, 10}},
		"12_[5]":          {ID: "12", Tasks: []int32{5}},
	} {
		if got := j.Address(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
