package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/client"
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

// putRules sets a document in the place of the one with the tag, "" = whatever is in force.
func putRules(ctx context.Context, c *conn, path, tag string, t api.Text) (*rules, error) {
	h := http.Header{}
	if tag != "" {
		h.Set("If-Match", tag)
	}
	r := &rules{}
	_, err := c.Call(ctx, http.MethodPut, path, t, &r.raw, h)
	var p *client.Problem
	if errors.As(err, &p) && p.Status == http.StatusPreconditionFailed {
		return nil, badInput(err, "look at what is in force now, or --force")
	}
	if err != nil {
		return nil, err
	}
	return r, json.Unmarshal(r.raw, &r.text)
}

// tagLine begins a comment by which a file tells which document in force it was made from.
const tagLine = "# escala: was in force as "

// tagged is a document with that comment.
func (r *rules) tagged() string { return tagLine + r.text.Tag + "\n" + r.text.YAML }

// untagged takes the comment off again; tag is "" where there is none.
func untagged(text string) (tag, rest string) {
	first, rest, ok := strings.Cut(text, "\n")
	if tag, found := strings.CutPrefix(first, tagLine); found && ok {
		return strings.TrimSpace(tag), rest
	}
	return "", text
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
