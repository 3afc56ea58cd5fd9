package slurm

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCompress(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, ""},
		{[]string{"n1"}, "n1"},
		{[]string{"n1", "n2", "n3", "n7", "gpu01", "gpu02", "gpu03"}, "n[1-3,7],gpu[01-03]"},
		{[]string{"n8", "n9", "n10"}, "n[8-10]"},
		{[]string{"n08", "n9"}, "n08,n9"},
		{[]string{"login", "n099", "n100"}, "login,n[099-100]"},
		{[]string{"n1", "n1", "n0"}, "n[1,1,0]"},
	} {
		if got := Compress(c.names); got != c.want {
			t.Errorf("%v: %q, want %q", c.names, got, c.want)
		}
	}
}

func TestCompressedListsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				want = append(want, rapid.StringMatching(`[a-z][a-z0-9.-]{0,14}`).Draw(t, "name"))
			default:
				want = append(want, fmt.Sprintf("%s%0*d", rapid.SampledFrom([]string{"n", "gpu-a", "x1y"}).Draw(t, "stem"), rapid.IntRange(1, 3).Draw(t, "width"), rapid.IntRange(0, 12).Draw(t, "number")))
			}
		}
		list := Compress(want)
		if got, err := Hosts(list); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: %q is %v, %v", want, list, got, err)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"PartitionName=train Default=YES DefaultTime=01:00:00 MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 Nodes=n[1-4] PriorityTier=10 State=UP GraceTime=0",
		"ReservationName=r1 StartTime=1796095682 EndTime=1796099282 Nodes=n4 CoreCnt=64 Flags=MAINT,SPEC_NODES Users=root State=ACTIVE",
		"SLURM_VERSION = 22.05.8\nSlurmUser = slurm(64030)\nAuthInfo = cred_expire=10\n",
		"sdiag output at x (17)\nMain schedule statistics (microseconds):\n\tLast cycle: 5\nRemote Procedure Call statistics by user\n\tana ( 5) count:1 ave_time:2 total_time:2\n",
		"JobId=1 JobName=x UserId=root(0) MCS_label=N/A Priority=1 Account=(null) QOS=x AllocNode:Sid=host:1 Deadline=17 TimeMin=00:10:00 NumNodes=2-3 ExitCode=1:0 TRES=cpu=1   Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:a100:2(IDX:0-1) MinMemoryNode=3G Features=(null) Command=(null) WorkDir=/",
		"1\x1fname\x1fcomment\x1fcommand\x1f/dir\x1f\x1f\n",
		"3072M",
	} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		_, _ = parsePartitions(s)
		_, _ = parseReservations(s)
		_, _ = parseConfig(s)
		_, _ = parseDiag(s)
		_, _ = parseTexts(s, "\x1f")
		for _, body := range cutRecords(s, map[int64]claims{1: {name: "x", account: "(null)", mcs: "(null)", from: "host"}}) {
			_ = (&Job{Nodes: []string{"n1"}}).read(body)
		}
		_, _ = mebibytes(s)
		_, _ = (&Job{PerNode: s, PerJob: s, NumNodes: 2}).GPUs()
		_, _ = perJob(&ToolError{Lines: []string{s}}, []string{"1", s})
	})
}

func FuzzJSON(f *testing.F) {
	for _, v := range versions {
		f.Add([]byte(v.job))
	}
	f.Add([]byte(`{"nodes":[{"name":"n1","state":["IDLE","DRAIN"],"gres":"gpu:8","cpus":{"set":true,"number":4}}]}`))
	f.Add([]byte(`{"partitions":[{"name":"p","nodes":{"configured":"n[1-2]"},"partition":{"state":["UP"]}}]}`))
	f.Add([]byte(`{"errors":[{"error":"x","description":"y"}],"reservations":[]}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _, _ = DecodeJobs(b)
		_, _ = DecodeNodes(b)
		_, _ = DecodePartitions(b)
		_, _ = DecodeReservations(b, jsonNow)
	})
}
