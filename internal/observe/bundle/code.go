package bundle

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"

	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

// coder makes codes of names, the same as those of anonymised traces.
type coder struct {
	key []byte
}

func newCoder(key []byte) *coder { return &coder{key} }

// coded codes a job that has names to be coded.
func (c *coder) coded(j workload.Job) workload.Job {
	w := &workload.Workload{Jobs: []workload.Job{j}, Epoch: workload.Unknown}
	return trace.Anonymize(w, c.key, false).Jobs[0]
}

func (c *coder) node(name string) string {
	return c.coded(workload.Job{Need: workload.Need{Nodes: name}}).Need.Nodes
}

func (c *coder) team(name string) string { return c.coded(workload.Job{Team: name}).Team }

// named are labels of metrics that hold names.
var named = regexp.MustCompile(`\b(team|account|hook)="((?:[^"\\]|\\.)*)"`)

// metrics codes names in the text of metrics.
func (c *coder) metrics(text string) string {
	return named.ReplaceAllStringFunc(text, func(s string) string {
		m := named.FindStringSubmatch(s)
		if m[2] == "other" {
			return s
		}
		return m[1] + `="` + c.team(m[2]) + `"`
	})
}

// trace writes the jobs of the journal's last segments as a trace with codes for names.
func (s *Source) trace(ctx context.Context, w *writer, o Options) error {
	in, out := io.Pipe()
	go func() {
		out.CloseWithError(s.lines(ctx, o.JournalBytes, func(int64) (io.Writer, error) { return out, nil }))
	}()
	defer func() { _ = in.Close() }()
	r, err := journal.NewReader("journal", in)
	if err != nil {
		return err
	}
	jobs, _, err := journal.ToWorkload(r)
	if err != nil {
		return err
	}
	format, _ := trace.Lookup("escala")
	var b bytes.Buffer
	if err := format.Write(&b, trace.Anonymize(jobs, o.Key, false)); err != nil {
		return err
	}
	return w.text("trace.jsonl", strings.ToValidUTF8(b.String(), "\uFFFD"))
}
