// Package bundle makes one file of all that helps to find out what is wrong with a daemon. It
// holds no secrets: what jobs run, tokens and keys are never read.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/store"
)

// Source is what a bundle is made from.
type Source struct {
	Daemon *live.Daemon
	// Metrics serves them as text.
	Metrics http.Handler
	// Version and Revision of the program; World says in words what it schedules.
	Version, Revision, World string
	// Config is how the daemon was started, without secrets.
	Config map[string]any
	Now    func() time.Time
}

// Options say what goes in.
type Options struct {
	// JournalBytes is how much of the journal at most, by whole segments from the last back; that one
	// is always there.
	JournalBytes int64
	// Key makes codes of names, nil = names stay. The journal cannot be coded, since its snapshots
	// cannot: a trace of it takes its place.
	Key []byte
}

// dir is the folder that all of it lies in.
const dir = "escala-bundle/"

// writer writes files of the bundle.
type writer struct {
	tar  *tar.Writer
	now  time.Time
	code *coder
}

// Write writes a bundle, a tar file in gzip.
func Write(ctx context.Context, out io.Writer, s *Source, o Options) error {
	z := gzip.NewWriter(out)
	w := &writer{tar: tar.NewWriter(z), now: s.Now()}
	if o.Key != nil {
		w.code = newCoder(o.Key)
	}
	if err := s.write(ctx, w, o); err != nil {
		return err
	}
	if err := w.tar.Close(); err != nil {
		return err
	}
	return z.Close()
}

func (s *Source) write(ctx context.Context, w *writer, o Options) error {
	if err := w.text("README.txt", readme(w.code != nil)); err != nil {
		return err
	}
	version := map[string]string{"version": s.Version, "revision": s.Revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "world": s.World}
	if err := w.json("version.json", version); err != nil {
		return err
	}
	if w.code == nil { // it names people and hosts
		if err := w.json("config.json", s.Config); err != nil {
			return err
		}
	}
	status, err := s.status(ctx)
	if err == nil {
		err = w.json("status.json", status)
	}
	if err == nil {
		err = w.json("nodes.json", s.nodes(w.code))
	}
	if err == nil {
		err = w.text("metrics.txt", s.metrics(w.code))
	}
	if err == nil {
		err = w.profile("goroutine")
	}
	if err == nil && w.code == nil { // a heap profile tells where the program lies, which may be somebody's directory
		err = w.profile("heap")
	}
	if err != nil {
		return err
	}
	if w.code != nil {
		return s.trace(ctx, w, o)
	}
	return s.journal(ctx, w, o)
}

func readme(coded bool) string {
	text := `What helps to find out what is wrong with an escala daemon.

version.json   the program            status.json     how things stand
config.json    how it was started     nodes.json      nodes
metrics.txt    Prometheus metrics     goroutine.txt   what it is doing
heap.pprof     go tool pprof          journal.jsonl   the last segments of the journal

The journal can be replayed by the same version: escala replay --verify journal.jsonl

It holds names of people, teams, jobs and nodes, labels, and what people wrote beside what they
did. It holds no command lines, environments, logs of jobs, tokens or keys.
`
	if coded {
		text = `What helps to find out what is wrong with an escala daemon, with codes for names.

version.json   the program            status.json     how things stand
nodes.json     nodes                  goroutine.txt   what it is doing
metrics.txt    Prometheus metrics
trace.jsonl    the jobs that ended, of the last segments of the journal: escala simulate trace.jsonl

The key of the codes was forgotten: who does not know the names cannot find them by trying.
A rare shape of a job can still betray its owner to somebody who knows it.
`
	}
	return text
}

// status is how things stand. It names nobody.
func (s *Source) status(ctx context.Context) (any, error) {
	d := s.Daemon
	head, err := d.Head(ctx)
	if err != nil {
		return nil, err
	}
	ok, trouble := d.Ready()
	p, _, tag := d.Policy()
	out := map[string]any{"now": d.Now().UTC(), "ready": ok, "shadow": d.Shadow(), "counts": d.Counts(), "policy": p.Name, "policy_tag": tag,
		"batches": head.Seq, "segment": head.Segment, "epoch": head.Epoch, "chain": hex.EncodeToString(head.Chain[:]), "listeners": d.Events().Listeners()}
	if !ok {
		out["trouble"] = trouble
	}
	if list, err := d.Store().Segments(ctx); err == nil {
		out["segments"] = list
	}
	return out, nil
}

type node struct {
	Name    string `json:"name"`
	GPUType string `json:"gpu_type,omitempty"`
	GPUs    int32  `json:"gpus"`
	Down    bool   `json:"down,omitempty"`
	Drained bool   `json:"drained,omitempty"`
	By      string `json:"by,omitempty"`
	Text    string `json:"text,omitempty"`
	Runs    int    `json:"runs"`
}

func (s *Source) nodes(code *coder) []node {
	spec := s.Daemon.Header().Cluster
	var out []node
	for i, n := range s.Daemon.Nodes() {
		if i >= len(spec.Nodes) {
			break
		}
		x := node{Name: spec.Nodes[i].Name, GPUType: spec.Nodes[i].GPUType, GPUs: spec.Nodes[i].GPUs, Down: n.Down, Drained: n.Drained, By: n.By, Text: n.Text, Runs: len(n.Runs)}
		if code != nil {
			x.Name, x.By, x.Text = code.node(x.Name), "", ""
		}
		out = append(out, x)
	}
	return out
}

func (s *Source) metrics(code *coder) string {
	r := httptest.NewRecorder()
	s.Metrics.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if code != nil {
		return code.metrics(r.Body.String())
	}
	return r.Body.String()
}

// segmentsOf are the last segments that are no larger than some bytes, at least one.
func segmentsOf(list []store.Segment, most int64) (from, to, size int64) {
	for i := len(list) - 1; i >= 0; i-- {
		g := &list[i]
		if i < len(list)-1 && size+g.Bytes > most {
			break
		}
		from, size = g.First, size+g.Bytes
		to = max(to, g.Last)
	}
	return from, to, size
}

// errEnd ends a reading where the size that was announced is reached.
var errEnd = errors.New("the end")

// lines writes the journal's last segments, as they were when it was asked how large they are.
func (s *Source) lines(ctx context.Context, most int64, head func(size int64) (io.Writer, error)) error {
	list, err := s.Daemon.Store().Segments(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	from, to, size := segmentsOf(list, most)
	out, err := head(size)
	if err != nil {
		return err
	}
	err = s.Daemon.Store().Read(ctx, from, func(b *store.Batch) error {
		if b.Seq > to {
			return errEnd
		}
		_, err := out.Write(b.Body)
		return err
	})
	if errors.Is(err, errEnd) {
		err = nil
	}
	return err
}

func (s *Source) journal(ctx context.Context, w *writer, o Options) error {
	return s.lines(ctx, o.JournalBytes, func(size int64) (io.Writer, error) {
		return w.tar, w.head("journal.jsonl", size)
	})
}

func (w *writer) head(name string, size int64) error {
	return w.tar.WriteHeader(&tar.Header{Name: dir + name, Mode: 0o600, Size: size, ModTime: w.now, Format: tar.FormatPAX})
}

func (w *writer) text(name, text string) error {
	if err := w.head(name, int64(len(text))); err != nil {
		return err
	}
	_, err := io.WriteString(w.tar, text)
	return err
}

func (w *writer) json(name string, v any) error {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return w.text(name, string(body)+"\n")
}

// profile writes where goroutines are, or what memory is used for.
func (w *writer) profile(name string) error {
	p := pprof.Lookup(name)
	var b bytes.Buffer
	file, debug := name+".txt", 1 // with counts, and without arguments, which may be anything
	if name == "heap" {
		file, debug = name+".pprof", 0
	}
	if p == nil {
		return nil
	}
	if err := p.WriteTo(&b, debug); err != nil {
		return err
	}
	return w.text(file, b.String())
}
