package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
)

func TestCommandLine(t *testing.T) {
	got := commandLine([]string{"sh", "-c", "echo $X it's", "--array", "0-99%10", "", "a=b"})
	if want := `sh -c 'echo $X it'\''s' --array 0-99%10 '' a=b`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSubmissionsThatMayBeASlip holds that what was taken and may be meant otherwise is said.
func TestSubmissionsThatMayBeASlip(t *testing.T) {
	r := newRig(t, nil)
	typed, past := gpus(1), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	typed.Need.GPUTypes = []string{"H100", "H200"}
	begun := gpus(1)
	begun.Begin, begun.Deadline = &past, &past
	team := func(name string) *api.Submit {
		b := gpus(1)
		b.Team = name
		return b
	}
	for _, c := range []struct {
		what    string
		budgets string // set before
		body    *api.Submit
		want    []string
	}{
		{"no team", "", gpus(1), nil},
		{"a type that no node declares", "", typed, []string{"no node declares GPUs of type H100 or H200: it may run on the 2 nodes whose GPU type is not declared, which serve any type"}},
		{"a time that is past", "", begun, []string{"is not to start, 2020-01-01 00:00:00Z, is past: it starts as soon as it can", "its deadline, 2020-01-01 00:00:00Z, is past"}},
		{"a first team", "", team("vision"), []string{"team vision is new: as nobody has set budgets"}},
		{"the same again", "", team("vision"), nil},
		{"a slip", "", team("visoin"), []string{"team visoin is new; did you mean vision?"}},
		{"a slip where there are budgets", "name: x\nchildren: [{name: vision, share: 1}, {name: language, share: 1}]", team("visoin"),
			[]string{"team visoin is not in the budgets; did you mean vision? No account takes it: it runs unallocated"}},
		{"a team that is none", "", team("robots"), []string{"team robots is not in the budgets, which have vision, language. No account takes it"}},
		{"no team where there are budgets", "", gpus(1), []string{"no team is named, and no account of the budgets is ana's: name one of vision, language. No account takes it"}},
		{"a team that is one", "", team("language"), nil},
	} {
		if c.budgets != "" {
			read[api.Text](r, "ana", http.MethodPut, "/budgets", api.Text{YAML: c.budgets})
		}
		got := read[api.Submitted](r, "ana", http.MethodPost, "/jobs", c.body).Warnings
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", c.what, got)
			continue
		}
		for i, w := range c.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: %q, want %q", c.what, got[i], w)
			}
		}
	}
}
