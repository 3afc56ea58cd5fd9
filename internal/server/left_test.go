package server

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/world"
)

// choosy is a world that leaves some jobs to others.
type choosy struct {
	world.World
	left world.Left
}

func (c *choosy) LeftAlone() *world.Left { return &c.left }

// TestLeft: what is left to the cluster's own scheduler is listed, what runs first, and counted by reason.
func TestLeft(t *testing.T) {
	r := newRig(t, nil)
	ask := func(query string) (l api.Left) {
		t.Helper()
		w := r.call("ana", auth.Viewer, http.MethodGet, "/left"+query, nil)
		if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d, %v: %s", w.Code, err, w.Body)
		}
		return l
	}
	if l := ask(""); l.AsOf != nil || len(l.Jobs)+len(l.Whys)+len(l.Nodes) != 0 {
		t.Errorf("%+v", l)
	}
	at := time.Unix(1_800_000_000, 0)
	c := &choosy{World: r.cfg.World, left: world.Left{At: at, Nodes: []world.LeftNode{{Name: "login", Why: "it has no GPUs"}}, Jobs: []world.LeftJob{
		{ID: "1", User: "ana", Account: "nlp", Since: at, GPUs: 4, Why: "asks for licences (x)"},
		{ID: "2", User: "ben", Account: "vision", Running: true, Since: at, GPUs: 2, Nodes: []string{"n1"}, Why: "is in a partition that escala was not given"},
		{ID: "3", User: "ana", Account: "nlp", Running: true, GPUs: 8, Why: "asks for licences (x)"},
	}}}
	r.s.cfg.World = c
	l := ask("")
	if len(l.Jobs) != 3 || l.Jobs[0].ID != "2" || l.Jobs[1].ID != "3" || l.Jobs[2].State != "waiting" || l.Jobs[1].Since != nil || !l.AsOf.Equal(at) || len(l.Nodes) != 1 {
		t.Errorf("%+v", l)
	}
	if w := l.Whys; len(w) != 2 || w[0] != (api.LeftWhy{Why: "asks for licences (x)", Running: 1, Waiting: 1, GPUs: 8}) || w[1].GPUs != 2 {
		t.Errorf("%+v", w)
	}
	if l := ask("?user=ana&limit=1"); len(l.Jobs) != 1 || l.Jobs[0].ID != "3" || l.More != 1 || len(l.Whys) != 1 {
		t.Errorf("%+v", l)
	}
	if l := ask("?team=vision"); len(l.Jobs) != 1 || l.Jobs[0].ID != "2" {
		t.Errorf("%+v", l)
	}
}
