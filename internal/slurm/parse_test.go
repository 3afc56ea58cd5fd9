package slurm

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHosts(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", ""}, {"(null)", ""}, {"n1", "n1"}, {"n[1-3,7],gpu[01-02]", "n1 n2 n3 n7 gpu01 gpu02"}, {"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"}, {"n[08-11]", "n08 n09 n10 n11"}, {"r[1-2]n[1-2]x", "r1n1x r1n2x r2n1x r2n2x"}, {"n[5]", "n5"}, {"a, b", "a b"},
	} {
		got, err := Hosts(c.list)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q: %v, %v", c.list, got, err)
		}
	}
	for _, bad := range []string{"n[1-3", "n[3-1]", "n[x]", "n]", "n[1-99999999]", ",", "n[1-9999]m[1-9999]"} {
		if got, err := Hosts(bad); err == nil {
			t.Errorf("%q is taken for %d hosts", bad, len(got))
		}
	}
}

func TestTasks(t *testing.T) {
	for _, c := range []struct {
		spec string
		want []int32
	}{
		{"7", []int32{7}}, {"0-3", []int32{0, 1, 2, 3}}, {"1-5,7%3", []int32{1, 2, 3, 4, 5, 7}}, {"0-8:4,2", []int32{0, 2, 4, 8}}, {"1-3,...", nil}, {"3-1", nil}, {"", nil}, {"1-2:0", nil}, {"-1", nil}, {"0-9999999", nil},
	} {
		got, err := Tasks(c.spec)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%q: %v, %v", c.spec, got, err)
		}
	}
}

// parseBars reads a job whose fields have bars behind them.
func parseBars(line string) (Job, error) {
	jobs, odd, err := parseQueue(line, "|")
	if err = errors.Join(append(odd, err)...); err != nil {
		return Job{}, err
	}
	return jobs[0], nil
}

func TestLine(t *testing.T) {
	line := "26|0-5%2|26|N/A|PENDING|Dependency|ana|1000|nlp|normal|train,scav|1796094438|N/A|N/A|N/A|1-01:00:00|||(null)|(null)|(null)|2-4|2|2|1|N/A|N/A|N/A|gres:gpu:2|OK|afterany:17(unfulfilled)|0.99998|0|0|1|1|"
	j, err := parseBars(line)
	if err != nil || j.ID != "26" || len(j.Tasks) != 6 || j.User != "ana" || j.Limit != 25*time.Hour || j.NumNodes != 2 || len(j.Partitions) != 2 || j.Held() || !j.Start.IsZero() {
		t.Errorf("%+v, %v", j, err)
	}
	one, err := parseBars(strings.Replace(line, "26|0-5%2|26", "26|5|31", 1))
	if err != nil || one.ID != "26_5" || one.Number != 31 || one.Tasks != nil {
		t.Errorf("%+v, %v", one, err)
	}
	for _, bad := range []string{"26", "26|", strings.Replace(line, "1796094438", "yesterday", 1), strings.Replace(line, "1-01:00:00", "x", 1), strings.Replace(line, "|26|N/A", "|x|N/A", 1)} {
		if _, err := parseBars(bad); err == nil {
			t.Errorf("taken: %q", bad)
		}
	}
}

func TestNodeState(t *testing.T) {
	for _, c := range []struct {
		state        string
		down, closed bool
	}{
		{"IDLE", false, false}, {"MIXED+DRAIN", false, true}, {"DOWN*", true, false}, {"IDLE*+DRAIN", false, true}, {"ALLOCATED*", false, true}, {"ALLOCATED+MAINT", false, true}, {"IDLE+PLANNED", false, false}, {"DOWN+DRAIN+INVALID_REG", true, true},
	} {
		var n Node
		n.State, n.Flags = nodeState(c.state)
		if n.Down() != c.down || n.Closed() != c.closed {
			t.Errorf("%s: down %v, closed %v (%+v)", c.state, n.Down(), n.Closed(), n)
		}
	}
	n, err := parseNode(`NodeName=n2 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=64 CPUTot=64 Gres=gpu:a100:4,gpu:h100:4(S:0-1) RealMemory=512000 State=IDLE+DRAIN Partitions=train,scav  Reason=fan State=DOWN CPUTot=1 [root@2026-12-01T03:01:04]`)
	if err != nil || n.State != "IDLE" || !n.Closed() || n.CPUs != 64 || n.GPUs.Count != 8 || n.Reason != "fan State=DOWN CPUTot=1" || len(n.Partitions) != 2 {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestToolErrors(t *testing.T) {
	for text, want := range map[string]string{
		"Invalid job id specified for job 99": "none", "slurm_load_jobs error: Invalid job id specified": "none", "Job has already finished for job 2": "ended",
		"Access/permission denied for job 1": "denied", "slurm_update error: Invalid user id": "denied", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)": "away",
	} {
		e := &ToolError{Tool: "x", Text: text}
		for name, other := range map[string]error{"none": ErrNoJob, "ended": ErrEnded, "denied": ErrDenied, "away": ErrAway} {
			if errors.Is(e, other) != (name == want) {
				t.Errorf("%q is %q: %v", text, name, errors.Is(e, other))
			}
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add("n[1-3,7]")
	f.Add("26|0-5%2|26|N/A|PENDING|Dependency|ana|1000|nlp|normal|train,scav|1796094438|N/A|N/A|N/A|1-01:00:00|||(null)|(null)|(null)|2-4|2|2|1|N/A|N/A|N/A|gres:gpu:2|OK|afterany:17(unfulfilled)|0.99998|0|0|1|1|")
	f.Add("NodeName=n2 CPUTot=64 RealMemory=1 State=IDLE Gres=gpu:2")
	f.Add("7|3|9|FAILED|256|1796094438|1796094440|\n")
	f.Fuzz(func(_ *testing.T, s string) {
		_, _ = Hosts(s)
		_, _ = Tasks(s)
		_, _, _ = parseQueue(s, "|")
		_, _ = parseNode(s)
		_, _ = parseEnds(s, "|")
	})
}
