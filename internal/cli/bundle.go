package cli

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// bundleFlags are the options of escala support-bundle.
type bundleFlags struct {
	live      liveFlags
	out       string
	logs      []string
	journal   int64
	anonymize bool
}

// logBytes is how much of the end of a log is taken.
const logBytes = 16 << 20

func bundleCommand(s *State) *cobra.Command {
	f := &bundleFlags{}
	c := &cobra.Command{
		Use:     "support-bundle",
		GroupID: groupLive,
		Short:   "Gather what helps to find out what is wrong with the scheduler",
		Long: `Asks the scheduler for one file of version, configuration, status, nodes, metrics, what its
goroutines do, and the last segments of its journal, which the same version can replay. It
holds no command lines, environments, logs of jobs, tokens or keys. It does hold names of
people, teams, jobs and nodes, unless --anonymize puts codes in their place; a trace then
takes the place of the journal. For operators.`,
		Example: `  escala support-bundle --out bundle.tar.gz
  escala support-bundle --anonymize --out bundle.tar.gz
  journalctl -u escala > log && escala support-bundle --out bundle.tar.gz --log log`,
		Args: noArgs,
		RunE: f.live.ask(s, func(ctx context.Context, c *conn, _ []string) error { return f.run(ctx, s, c) }),
	}
	f.live.addServer(c)
	c.Flags().StringVarP(&f.out, "out", "o", "", "`file` to write")
	c.Flags().StringArrayVar(&f.logs, "log", nil, "also the end of this log, a `file`; it may be given again")
	c.Flags().Int64Var(&f.journal, "journal", 64, "how much of the journal at most, in `MiB`, by whole segments; the last one is always there")
	c.Flags().BoolVar(&f.anonymize, "anonymize", false, "codes for names of people, teams, jobs and nodes")
	return c
}

func (f *bundleFlags) run(ctx context.Context, s *State, c *conn) error {
	switch {
	case f.out == "":
		return badUsage("--out bundle.tar.gz", "it is not said where to write the bundle")
	case f.anonymize && len(f.logs) > 0:
		return badUsage("escala support-bundle --help", "logs cannot be anonymized: leave out --log, or --anonymize")
	case f.journal < 0 || f.journal > 4096:
		return badUsage("--journal 64", "--journal %d: want 0 to 4096 MiB", f.journal)
	}
	in, _, err := c.Stream(ctx, http.MethodGet, fmt.Sprintf("/support-bundle?journal_mib=%d&anonymize=%t", f.journal, f.anonymize), nil)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	// Names of people are in it: nobody else's business on this machine.
	out, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return badInput(err, "--out with a file that is not there yet")
	}
	err = errors.Join(f.copy(out, in), out.Close())
	if err != nil {
		return errors.Join(err, os.Remove(f.out))
	}
	s.say("%s: look through it before you give it away; README.txt in it says what it holds.\n", f.out)
	return nil
}

// copy adds logs to a bundle. It reads all of it, so that a bundle that broke off is noticed.
func (f *bundleFlags) copy(w io.Writer, r io.Reader) error {
	zr, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("the bundle broke off: %w", err)
	}
	zw := gzip.NewWriter(w)
	in, out := tar.NewReader(zr), tar.NewWriter(zw)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = out.WriteHeader(h)
		}
		if err == nil {
			_, err = io.Copy(out, in)
		}
		if err != nil {
			return fmt.Errorf("the bundle broke off: %w", err)
		}
	}
	if _, err := io.Copy(io.Discard, zr); err != nil { // the end of the stream and its sum
		return fmt.Errorf("the bundle broke off: %w", err)
	}
	for _, path := range f.logs {
		if err := addLog(out, path); err != nil {
			return badInput(err, "--log with a file that can be read")
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return zw.Close()
}

// addLog adds the end of a log.
func addLog(out *tar.Writer, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	size := min(info.Size(), logBytes)
	if _, err := in.Seek(-size, io.SeekEnd); err != nil {
		return err
	}
	h := &tar.Header{Name: "escala-bundle/logs/" + filepath.Base(path), Mode: 0o600, Size: size, ModTime: info.ModTime(), Format: tar.FormatPAX}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(out, in, size)
	return err
}
