package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/trace"
	"github.com/escala-sched/escala/workload"
)

func replayCommand(s *State) *cobra.Command {
	var verify bool
	c := &cobra.Command{
		Use:     "replay JOURNAL",
		GroupID: groupRun,
		Short:   "Read a journal back, and decide everything again to see that it comes to the same",
		Long: `Reads a journal that "escala simulate" wrote, and shows what it holds and its hash.
With --verify every decision is taken again and compared with the recorded one; the
first that differs is shown with its line, and the exit code is 1. Only the version
that wrote a journal must come to the same.`,
		Example: `  escala replay run1/journal.jsonl
  escala replay run1/journal.jsonl --verify`,
		Args: argCount(1, 1, "a journal"),
		RunE: func(_ *cobra.Command, args []string) error {
			batch(s)
			in, err := s.Open(args[0])
			if err != nil {
				return badInput(noFile(err), "")
			}
			defer func() { _ = in.Close() }()
			plain, err := unzipped(args[0], in)
			if err != nil {
				return err
			}
			return s.replay(args[0], plain, verify)
		},
	}
	c.Flags().BoolVar(&verify, "verify", false, "take every decision again and compare")
	return c
}

// unzipped undoes gzip, told by its magic bytes.
func unzipped(path string, in io.Reader) (io.Reader, error) {
	b := bufio.NewReader(in)
	if magic, _ := b.Peek(2); string(magic) != "\x1f\x8b" {
		return b, nil
	}
	data, err := io.ReadAll(b)
	if err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", path, err), "")
	}
	data, err = trace.Unpack(path, data)
	return bytes.NewReader(data), badInput(err, "a journal that escala simulate wrote")
}

func (s *State) replay(path string, in io.Reader, verify bool) error {
	const hint = "a journal that escala simulate wrote"
	r, err := journal.NewReader(path, in)
	if err != nil {
		return broken(err, hint)
	}
	got, err := journal.Replay(r, verify)
	if err != nil {
		return broken(err, hint)
	}
	h := r.Header()
	err = s.print("%-10s %s\n%-10s %s\n%-10s %s\n%-10s %s facts, %s actions, up to %s\n%-10s %s\n",
		"Workload", h.Workload.Name, "Policy", h.Policy.Name, "Cluster", h.Cluster.Name,
		"Holds", grouped(got.Facts), grouped(got.Actions), untilText(got.Now), "SHA-256", r.Hash())
	if err == nil && verify {
		err = s.print("%-10s %s decisions taken again, all the same\n", "Verified", grouped(got.Decisions))
	}
	return err
}

func untilText(t workload.Time) string {
	if t == workload.Unknown {
		return "nothing"
	}
	return fmt.Sprintf("%s s", seconds(t))
}

// broken marks a journal that cannot be read as bad input; a decision that
// differs is no fault of the input.
func broken(err error, hint string) error {
	var e *journal.Error
	if errors.As(err, &e) {
		return badInput(err, hint)
	}
	return err
}
