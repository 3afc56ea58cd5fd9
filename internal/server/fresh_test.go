package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
)

// read makes a request that has to succeed, and reads its answer.
func read[T any](r *rig, user string, method, path string, body any) (out T) {
	r.t.Helper()
	w := r.call(user, auth.Admin, method, path, body)
	if w.Code >= 300 {
		r.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// TestAChangeIsReadAtOnce holds that whoever changed what all go by finds it in what they read next,
// however new the last view was.
func TestAChangeIsReadAtOnce(t *testing.T) {
	r := newRig(t, nil)
	big := gpus(16)
	big.Team, big.Hold = "a", false
	read[api.Submitted](r, "ana", http.MethodPost, "/jobs", big)
	waits := read[api.Submitted](r, "ana", http.MethodPost, "/jobs", big).ID
	for i, yaml := range []string{"name: x\nchildren: [{name: a, share: 1}, {name: b, share: 3}]", "name: x\nchildren: [{name: a, share: 3}, {name: b, share: 1}]",
		"name: x\nchildren: [{name: a, share: 1}]"} {
		read[api.Accounts](r, "ana", http.MethodGet, "/accounts", nil) // a view that is as new as can be
		read[api.Text](r, "ana", http.MethodPut, "/budgets", api.Text{Name: "x", YAML: yaml})
		got := read[api.Accounts](r, "ana", http.MethodGet, "/accounts", nil).Accounts[0].Levels
		if want := []float64{0.25, 0.75, 1}[i]; len(got) == 0 || got[0].Account != "a" || got[0].Share != want {
			t.Errorf("after %s: %+v", yaml, got)
		}
	}
	for _, name := range []string{"fifo", "easy", "contract"} {
		read[api.Jobs](r, "ana", http.MethodGet, "/queue", nil)
		read[api.Text](r, "ana", http.MethodPut, "/policy", api.Text{Name: name})
		j := read[api.Job](r, "ana", http.MethodGet, "/jobs/"+waits, nil)
		if j.Waiting != nil && strings.Contains(j.Waiting.Why, "just come") {
			t.Errorf("under %s: %+v", name, j.Waiting)
		}
	}
}

// TestNoNodeIsOpen holds that a job which waits for nodes to come back is told so.
func TestNoNodeIsOpen(t *testing.T) {
	r := newRig(t, nil)
	nodes := r.cfg.World.Cluster().Nodes
	drain := func(node, by, text string) {
		read[api.Changed](r, by, http.MethodPost, "/nodes/"+node+"/drain", api.Reason{Text: text})
	}
	one, named := gpus(1), gpus(1)
	named.Need.Nodes = []string{nodes[1].Name}
	drain(nodes[1].Name, "bo", "fan")
	id := read[api.Submitted](r, "ana", http.MethodPost, "/jobs", named).ID
	why := func(want string) {
		t.Helper()
		if w := read[api.Job](r, "ana", http.MethodGet, "/jobs/"+id, nil).Waiting; w == nil || w.Why != want || w.Code != noNodeOpen {
			t.Errorf("%+v, want %q", w, want)
		}
		for _, j := range read[api.Jobs](r, "ana", http.MethodGet, "/queue", nil).Jobs {
			if j.ID == id && j.Waiting.Why != want {
				t.Errorf("the queue: %+v", j.Waiting)
			}
		}
		if x := read[api.Explanation](r, "ana", http.MethodGet, "/jobs/"+id+"/explain", nil); !slices.Contains(x.Lines, want) {
			t.Errorf("explained: %q", x.Lines)
		}
	}
	why("The one node that it may use, " + nodes[1].Name + ", is not open: 1 drained by bo (fan).")
	drain(nodes[0].Name, "bo", "fan")
	id = read[api.Submitted](r, "ana", http.MethodPost, "/jobs", one).ID
	why("No node is open: 2 drained by bo (fan).")
}

// TestPlacesAreOfThoseInLine holds that an account has a place in line only where its own work waits.
func TestPlacesAreOfThoseInLine(t *testing.T) {
	r := newRig(t, nil)
	read[api.Text](r, "ana", http.MethodPut, "/budgets", api.Text{YAML: "name: x\nchildren: [{name: a, share: 1}, {name: b, share: 1}, {name: c, share: 1}]"})
	for _, n := range r.cfg.World.Cluster().Nodes {
		read[api.Changed](r, "ana", http.MethodPost, "/nodes/"+n.Name+"/drain", api.Reason{})
	}
	for _, team := range []string{"a", "c"} {
		b := gpus(4)
		b.Team = team
		read[api.Submitted](r, "ana", http.MethodPost, "/jobs", b)
	}
	for range 100 { // the last view may be half a second old
		places := map[string][2]int{}
		for _, l := range read[api.Accounts](r, "ana", http.MethodGet, "/accounts", nil).Accounts[0].Levels {
			places[l.Account] = [2]int{l.Place, l.Of}
			if l.Place > l.Of {
				t.Fatalf("%s: place %d of %d", l.Account, l.Place, l.Of)
			}
		}
		if places["a"][1] == 2 && places["c"][1] == 2 && places["b"] == [2]int{} {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the places of those who wait did not come")
}
