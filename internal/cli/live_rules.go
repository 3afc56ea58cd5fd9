package cli

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/api"
)

// rules is a document in force, with the tag that a change of it must name.
type rules struct {
	text api.Text
	tag  string
	raw  json.RawMessage
}

// getRules asks for the budgets or the policy in force.
func getRules(ctx context.Context, c *conn, path string) (*rules, error) {
	r := &rules{}
	h, err := c.Call(ctx, http.MethodGet, path, nil, &r.raw, nil)
	if err != nil {
		return nil, err
	}
	r.tag = h.Get("ETag")
	return r, json.Unmarshal(r.raw, &r.text)
}

// budgets are those in force.
type budgets struct {
	*rules
	tree *budget.Tree
}

func inForce(ctx context.Context, c *conn) (*budgets, error) {
	r, err := getRules(ctx, c, "/budgets")
	if err != nil {
		return nil, err
	}
	t, err := budget.Parse(r.text.Name+".yaml", []byte(r.text.YAML))
	if err != nil {
		return nil, err
	}
	return &budgets{r, t}, nil
}
