package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/horizon"
	"github.com/escala-sched/escala/horizon/scenario"
	"github.com/escala-sched/escala/trace"
)

const planHint = "docs/horizon.md has every key and rule"

// planReading are the options that settle what the rules leave open.
type planReading struct {
	blocks, swaps     string
	overrun, complete bool
}

func (f *planReading) add(c *cobra.Command) {
	fs := c.Flags()
	fs.Var(newChoice(&f.blocks, "aligned", "unaligned", "any-size"), "blocks", "where blocks of a power of two may lie: aligned (at multiples of their size), unaligned (anywhere);\nany-size: as many GPUs as a job asks for, not rounded up to a power of two")
	fs.BoolVar(&f.overrun, "overrun", false, "jobs may run past the end of the horizon (the default)")
	fs.BoolVar(&f.complete, "complete", false, "jobs must end within the horizon")
	fs.Var(newChoice(&f.swaps, "identities", "count"), "swaps", "how real-time swaps count: identities (each GPU gained and each lost), count (the change in number)")
	_ = c.RegisterFlagCompletionFunc("blocks", words("aligned", "unaligned", "any-size"))
	_ = c.RegisterFlagCompletionFunc("swaps", words("identities", "count"))
}

func (f *planReading) settle() error {
	if f.overrun && f.complete {
		return badUsage("one of them", "--overrun and --complete: a job may run past the end of the horizon, or may not")
	}
	return nil
}

func (f *planReading) reading() horizon.Reading {
	return horizon.Reading{Unaligned: f.blocks == "unaligned", AnySize: f.blocks == "any-size", Complete: f.complete, CountSwaps: f.swaps == "count"}
}

// loadProblem makes a horizon of what a command line names: a scenario, or a workload on
// a cluster.
func (f *planFlags) loadProblem(ctx context.Context, s *State, path string, given func(string) bool) (*horizon.Problem, error) {
	q, err := loadScenario(s, path, f.read.reading())
	switch wanted := f.workload.given(given); {
	case errors.Is(err, errNoScenario) && path == "-":
		return nil, badUsage(planHint, "standard input is no scenario: want one JSON object with gpus, steps, jobs and rt")
	case errors.Is(err, errNoScenario):
	case err == nil && wanted != "":
		return nil, badUsage("without it", "--%s: %s is a scenario, which says that itself", wanted, path)
	default:
		return q, err
	}
	powerOfTwo := given("blocks") && f.read.blocks != "any-size"
	q, err = f.workload.problem(ctx, s, path, powerOfTwo, given)
	if err != nil {
		return nil, err
	}
	r := f.read.reading()
	r.AnySize = !powerOfTwo
	q.Reading = r
	if err := q.Check(); err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", path, err), planHint)
	}
	return q, nil
}

// errNoScenario: the file is something else.
var errNoScenario = errors.New("no scenario")

func loadScenario(s *State, path string, r horizon.Reading) (*horizon.Problem, error) {
	data, err := s.readInput(path)
	if err != nil {
		return nil, err
	}
	if path == "-" {
		path = "standard input"
	}
	if data, err = trace.Unpack(path, data); err != nil {
		return nil, badInput(err, planHint)
	}
	switch text := bytes.TrimSpace(data); {
	case len(text) == 0:
		return nil, badUsage(planHint, "%s: the file is empty; want a scenario", path)
	case text[0] != '{' || isJournal(data) || isLines(text):
		return nil, errNoScenario
	}
	q, err := scenario.Read(bytes.NewReader(data))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, badUsage(planHint, "%s:%d: the file ends before the scenario does", path, 1+bytes.Count(bytes.TrimSpace(data), []byte("\n")))
	case q == nil:
		return nil, badInput(inFile(path, err), planHint)
	}
	// What was read was checked by the rules as they are by default; these count.
	q.Reading = r
	if err := q.Check(); err != nil {
		return nil, badInput(inFile(path, err), planHint)
	}
	return q, nil
}

// inFile puts the file, and the line where one is known, before an error, and says in
// plain words what is wrong with its JSON.
func inFile(path string, err error) error {
	text := err.Error()
	var n int
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if line, after, ok := strings.Cut(rest, ": "); ok {
			if _, bad := fmt.Sscanf(line, "%d", &n); bad == nil {
				path, text = fmt.Sprintf("%s:%d", path, n), after
			}
		}
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		field := kind.Field
		if field == "" {
			field = "the scenario"
		}
		text = fmt.Sprintf("%s: %s; want %s", field, kind.Value, jsonKind(kind.Type.Kind().String()))
	}
	return fmt.Errorf("%s: %s", path, strings.TrimPrefix(text, "json: "))
}

// jsonKind names what a Go kind is in JSON.
func jsonKind(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "slice":
		return "a list"
	case kind == "struct":
		return "an object"
	case kind == "bool":
		return "true or false"
	}
	return "a " + kind
}

// isLines tells whether a file holds one JSON object a line, as workloads do.
func isLines(text []byte) bool {
	line, rest, many := bytes.Cut(text, []byte("\n"))
	return many && json.Valid(line) && bytes.HasPrefix(bytes.TrimSpace(rest), []byte("{"))
}
