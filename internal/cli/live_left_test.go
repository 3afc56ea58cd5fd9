package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
)

func TestPrintLeft(t *testing.T) {
	var out bytes.Buffer
	s := &State{Stdout: Stream{Writer: &out}, Stderr: Stream{Writer: &out}, Now: func() time.Time { return noon.now }}
	show := func(l api.Left) string {
		out.Reset()
		if err := s.printLeft(&l); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := show(api.Left{}); got != "Nothing is left to another scheduler.\n" {
		t.Error(got)
	}
	got := show(api.Left{More: 2, Whys: []api.LeftWhy{{Why: "asks for licences (x)", Running: 1, Waiting: 3, GPUs: 8}}, Nodes: []api.LeftNode{{Name: "login", Why: "it has no GPUs"}},
		Jobs: []api.LeftJob{{ID: "3", User: "ana", Account: "nlp", Partition: "train", State: "running", GPUs: 8, Nodes: []string{"n1"}, Why: "asks for licences (x)"},
			{ID: "9", User: "ben\x1b[2J", State: "waiting", Why: "asks for licences (x)"}}})
	want := `Left to the cluster's own scheduler: 1 job running on 8 GPUs, 3 waiting

RUNNING  GPUS  WAITING  WHY
      1     8        3  it asks for licences (x)

JOB  USER     ACCOUNT  PARTITION  GPUS  STATE    NODES  WHY
3    ana      nlp      train         8  running  n1     it asks for licences (x)
9    ben?[2J                         0  waiting         it asks for licences (x)

NODE   WHY
login  it has no GPUs
And 2 more jobs: escala queue --left --all
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
