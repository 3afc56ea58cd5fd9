package services

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/escala-sched/escala/internal/yamlx"
	"github.com/escala-sched/escala/workload"
)

// Input is a services file and what lies around it.
type Input struct {
	// File is its name, for messages and as the place that other files are named from.
	File string
	Data []byte
	// Read reads a file of requests.
	Read func(path string) ([]byte, error)
	// Zone is the time zone in which weeks and days begin, where the workload has a
	// calendar; nil = UTC.
	Zone *time.Location
}

// Add returns the workload with the applications of a services file among its jobs,
// before those submitted at the same time. The workload given stays as it is. An error
// says file and line, what is wrong and what would be right.
func Add(w *workload.Workload, in Input) (*workload.Workload, error) {
	var f file
	root, err := yamlx.Decode(in.File, in.Data, &f)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(in.Data) {
		return nil, root.Errorf("save the file as UTF-8", "the file is no UTF-8 text")
	}
	if len(f.Services) == 0 {
		return nil, root.At("services").Errorf("list at least one, with name and demand", "no services in the file")
	}
	a := &adder{in: &in, w: w, taken: make(map[string]bool, len(w.Jobs)+len(f.Services)), sums: []string{w.Hash, yamlx.Hash(in.Data)}}
	for i := range w.Jobs {
		a.taken[w.Jobs[i].ID] = true
	}
	a.note("%s from %s.", count(len(f.Services), "real-time application comes", "real-time applications come"), filepath.Base(in.File))
	for i := range f.Services {
		if err := a.add(&f.Services[i], root.At("services", i)); err != nil {
			return nil, err
		}
	}
	if f.Name == "" {
		f.Name = yamlx.BaseName(in.File)
	}
	return a.merged(f.Name)
}

// adder gathers the jobs that a file makes.
type adder struct {
	in     *Input
	w      *workload.Workload
	jobs   []workload.Job
	actual []workload.Actual
	// taken are the IDs that are in use.
	taken map[string]bool
	// notes and sums (SHA-256 of what was read) end in the workload.
	notes, sums []string
}

func (a *adder) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// merged puts the applications before the jobs: the order of a file decides among equals.
func (a *adder) merged(name string) (*workload.Workload, error) {
	out := *a.w
	out.Name, out.Source = a.w.Name+" + "+name, a.w.Source+" + "+filepath.Base(a.in.File)
	out.Format = a.w.Format + " + services"
	out.Rows += len(a.jobs)
	out.Notes = slices.Concat(a.w.Notes, a.notes)
	sum := sha256.New()
	for _, s := range a.sums {
		_, _ = io.WriteString(sum, s) // a hash takes everything
	}
	out.Hash = hex.EncodeToString(sum.Sum(nil))
	out.Notes = append(out.Notes, "The SHA-256 is that of the SHA-256 sums of the workload, the services and their files, one after the other.")
	out.Jobs, out.Actual = slices.Concat(a.jobs, a.w.Jobs), slices.Concat(a.actual, a.w.Actual)
	out.Sort()
	if err := out.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", a.in.File, err)
	}
	return &out, nil
}

func (a *adder) add(app *application, n *yamlx.Node) error {
	if err := a.name(app.Name, n); err != nil {
		return err
	}
	from, to, err := a.life(app, n)
	if err != nil {
		return err
	}
	s, actual, err := a.service(app, n, from, to)
	if err != nil {
		return err
	}
	types, err := gpuTypes(app.GPU, n)
	if err != nil {
		return err
	}
	peak := s.Demand.Max(from, to)
	if actual != nil {
		peak = max(peak, actual.Max(from, to))
	}
	if peak == 0 {
		return n.Errorf("want a demand above 0 at some time of its life", "%s needs no GPU as long as it runs", app.Name)
	}
	life := to - from
	a.jobs = append(a.jobs, workload.Job{
		ID: app.Name, User: app.User, Team: app.Team, Partition: app.Partition, Kind: workload.KindRealtime, Submit: from,
		Need:     workload.Need{Tasks: peak, GPUs: 1, GPUTypes: types},
		Priority: app.Priority, Estimate: life,
		// It is not to be stopped for others as long as it runs.
		Contract: workload.Contract{MinRuntime: life, HasMinRuntime: true},
		Service:  s,
	})
	a.actual = append(a.actual, workload.Actual{Duration: life, Demand: actual, Start: workload.Unknown, End: workload.Unknown})
	return nil
}

func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
