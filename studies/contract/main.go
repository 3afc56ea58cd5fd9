// Contract compares the policies legacy-priority and contract on a made-up research
// lab over many seeds, turns the knobs of contract one at a time, and writes what came
// of it: docs/studies/contract.md, its pictures, and the figures of each run as CSV.
//
//	go run ./studies/contract [--seeds 10] [--out docs/studies]
//	go run ./studies/contract --from docs/studies/contract.csv
//
// The same arguments give the same bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
)

func main() {
	log.SetFlags(0)
	o := options{lab: fullLab}
	flag.IntVar(&o.seeds, "seeds", 10, "seeds 1 to `n`; the knobs take the first three")
	flag.StringVar(&o.out, "out", "docs/studies", "`directory` to write contract.md, contract.csv and the pictures to")
	flag.StringVar(&o.from, "from", "", "write the document from a `contract.csv` of an earlier run instead of simulating")
	flag.IntVar(&o.parallel, "parallel", 2, "simulations at a time")
	flag.Parse()
	if flag.NArg() > 0 || o.seeds < 2 || o.parallel < 1 {
		log.Fatal("usage: go run ./studies/contract [--seeds 10] [--out docs/studies] [--from contract.csv] [--parallel 2]; at least 2 seeds")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	debug.SetGCPercent(400)
	if err := o.run(ctx); errors.Is(err, context.Canceled) {
		log.Fatal("interrupted; nothing was written")
	} else if err != nil {
		log.Fatal(err)
	}
}

type options struct {
	lab             lab
	seeds, parallel int
	out, from       string
}

func (o *options) run(ctx context.Context) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	s, err := o.study(ctx)
	if err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(o.out, f.name), f.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) study(ctx context.Context) (*study, error) {
	if o.from == "" {
		s := &study{lab: o.lab, seeds: o.seeds}
		return s, s.simulate(ctx, o.parallel)
	}
	data, err := os.ReadFile(o.from)
	if err != nil {
		return nil, err
	}
	s := &study{lab: o.lab}
	if err := s.read(string(data)); err != nil {
		return nil, fmt.Errorf("%s: %w", o.from, err)
	}
	return s, nil
}

// file is one that is written.
type file struct {
	name string
	data []byte
}

// files are the document, its pictures and the figures.
func (s *study) files() ([]file, error) {
	d, err := newDocument(s)
	if err != nil {
		return nil, err
	}
	d.write()
	out := []file{{"contract.md", []byte(d.String())}, {"contract.csv", []byte(s.csv())}}
	for _, p := range d.pictures {
		out = append(out, file{p.name, []byte(p.svg())})
	}
	for _, f := range out {
		if strings.Contains(string(f.data), "NaN") {
			return nil, fmt.Errorf("%s: a figure is not a number", f.name)
		}
	}
	return out, nil
}
