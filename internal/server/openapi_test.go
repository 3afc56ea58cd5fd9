package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// docs/openapi.json is the description of the API as this version has it. What changes there changes
// what others build on: look at the difference before writing it with -update.
func TestOpenAPIFile(t *testing.T) {
	r := newRig(t, nil)
	got, err := New(Config{Daemon: r.d, World: r.cfg.World, Auth: r.auth, Version: "1", Metrics: http.NotFoundHandler(), Log: r.cfg.Log}).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	const file = "../../docs/openapi.json"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s is not what the server says of itself; if that is meant: go test ./internal/server -run OpenAPIFile -update", file)
	}
}

// Answers are what the description says: every field is there that has to be, of its type, and none that it
// does not know.
func TestAnswersAreAsDescribed(t *testing.T) {
	r := newRig(t, nil)
	doc := r.s.api.OpenAPI()
	seen := map[string]bool{}
	check := func(method, path, pattern string, body any) *httptest.ResponseRecorder {
		t.Helper()
		w := r.call("ana", auth.Operator, method, path, body)
		item := doc.Paths["/api/v1"+pattern]
		if item == nil {
			t.Fatalf("%s is not described", pattern)
		}
		o := map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "DELETE": item.Delete}[method]
		seen[o.OperationID] = true
		resp := o.Responses[strconv.Itoa(w.Code)]
		if resp == nil {
			t.Errorf("%s %s is answered %d, of which the description knows nothing: %s", method, path, w.Code, w.Body)
			return w
		}
		kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		media := resp.Content[kind]
		if media == nil {
			t.Errorf("%s %s is answered as %q, of which the description knows nothing", method, path, kind)
			return w
		}
		var v any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Errorf("%s %s: %v", method, path, err)
			return w
		}
		var res huma.ValidateResult
		huma.Validate(doc.Components.Schemas, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &res)
		for _, err := range res.Errors {
			t.Errorf("%s %s, answered %d: %v", method, path, w.Code, err)
		}
		return w
	}
	zero := int64(0)
	full := api.Submit{Name: "n", Need: api.Need{GPUs: 16}, EstimateSeconds: 60, Labels: map[string]string{"a": "b"}, Contract: api.Contract{MinRuntimeSeconds: &zero}}
	var done api.Submitted
	w := check("POST", "/jobs", "/jobs", full)
	if err := json.Unmarshal(w.Body.Bytes(), &done); err != nil || w.Code != http.StatusCreated {
		t.Fatal(err, w.Body)
	}
	check("POST", "/jobs", "/jobs", api.Submit{Need: api.Need{GPUs: 1000}})
	check("POST", "/jobs", "/jobs", api.Submit{Need: api.Need{GPUs: -1}})
	check("POST", "/jobs", "/jobs", api.Submit{Need: api.Need{GPUs: 1}, After: []api.After{{Job: "nobody"}}})
	check("POST", "/jobs/batch", "/jobs/batch", api.Batch{Jobs: []api.Submit{full, full, {Need: api.Need{GPUs: 1}, Kind: "training"}}})
	held := check("POST", "/jobs", "/jobs", api.Submit{Need: api.Need{GPUs: 1}, Hold: true, Retries: 3})
	if err := json.Unmarshal(held.Body.Bytes(), &done); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/status", "/nodes", "/queue", "/budgets", "/policy", "/journal/segments", "/jobs", "/jobs?state=ended", "/jobs?limit=1", "/jobs?limit=0", "/jobs?state=x&cursor=!"} {
		pattern, _, _ := strings.Cut(path, "?")
		check("GET", path, pattern, nil)
	}
	check("GET", "/jobs/"+done.ID, "/jobs/{id}", nil)
	check("GET", "/jobs/1", "/jobs/{id}", nil)
	check("GET", "/jobs/nobody", "/jobs/{id}", nil)
	for _, what := range []string{"release", "hold", "requeue", "checkpointed", "cancel", "cancel"} {
		check("POST", "/jobs/"+done.ID+"/"+what, "/jobs/{id}/"+what, api.Reason{Text: "why"})
	}
	check("POST", "/nodes/nowhere/drain", "/nodes/{name}/drain", api.Reason{})
	node := r.cfg.World.Cluster().Nodes[0].Name
	check("POST", "/nodes/"+node+"/drain", "/nodes/{name}/drain", api.Reason{Text: "a fan"})
	check("POST", "/nodes/"+node+"/resume", "/nodes/{name}/resume", api.Reason{})
	check("POST", "/policy/try", "/policy/try", api.Text{Name: "fifo"})
	check("PUT", "/policy", "/policy", api.Text{Name: "nothing"})
	check("PUT", "/policy", "/policy", api.Text{Name: "fifo"})
	check("PUT", "/budgets", "/budgets", api.Text{YAML: "name: x"})
	check("POST", "/journal/verify", "/journal/verify", nil)
	if len(seen) < 15 {
		t.Errorf("only %d operations were looked at", len(seen))
	}
}
