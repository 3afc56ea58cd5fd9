package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/daemon"
	"github.com/escala-sched/escala/internal/store"
)

// journalAt says which journal a command works on without asking a daemon.
type journalAt struct{ state, journal string }

func (f *journalAt) add(c *cobra.Command) {
	c.Flags().StringVar(&f.state, "state", "", "state `directory` of the scheduler (default: "+stateDirText+")")
	c.Flags().StringVar(&f.journal, "journal", "", "`where` the journal is: a file, or postgres://... (default: in the state directory)")
}

func (f *journalAt) dsn(s *State) (string, error) {
	if f.journal != "" {
		return f.journal, nil
	}
	dir, err := s.stateDir(f.state)
	return filepath.Join(dir, "journal", daemon.JournalName), err
}

func journalBackupCommand(s *State) *cobra.Command {
	f := &journalAt{}
	var force bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all of the journal's store into one file, while it is in use",
		Long: `Copies journal, ledger by hour and history of ended jobs as they are at one moment into
a file that "escala journal restore" reads, into SQLite or PostgreSQL. The scheduler need
not be stopped. What jobs keep secret (command lines, environments) is not in it. A file
that is there already is left as it is, unless --force has it replaced by the whole new one.`,
		Example: `  escala journal backup escala.backup
  escala journal backup --journal postgres://escala@db/escala escala.backup`,
		Args: argCount(1, 1, "the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dsn, err := f.dsn(s)
			if err != nil {
				return err
			}
			st, err := f.open(cmd, dsn, true)
			if err != nil {
				return err
			}
			defer func() { _ = st.Close() }()
			if info, err := os.Lstat(args[0]); err == nil && !force {
				if info.IsDir() {
					return badUsage("escala journal backup "+filepath.Join(args[0], "escala.backup"), "%s is a directory: name a file in it", args[0])
				}
				return badUsage("another name, or --force", "%s is there already, of %s", args[0], s.wall().text(info.ModTime()))
			}
			if err := store.BackupFile(cmd.Context(), st, args[0]); err != nil {
				return err
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return err
			}
			return s.print("%s: %s\n", args[0], bytesText(info.Size()))
		},
	}
	f.add(c)
	c.Flags().BoolVar(&force, "force", false, "replace a file that is there")
	return c
}

// open opens a journal. One that is to be read has to be there.
func (f *journalAt) open(cmd *cobra.Command, dsn string, there bool) (store.Store, error) {
	if _, err := os.Stat(dsn); there && filepath.IsAbs(dsn) && err != nil {
		return nil, badInput(fmt.Errorf("no journal at %w", noFile(err)), "--state or --journal of the scheduler")
	}
	st, err := store.Open(cmd.Context(), dsn)
	if err != nil {
		return nil, badInput(err, "--journal FILE, or --journal postgres://...")
	}
	return st, nil
}

func journalRestoreCommand(s *State) *cobra.Command {
	f := &journalAt{}
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Fill an empty journal's store from a backup, and verify it",
		Long: `Reads a file of "escala journal backup" into a store that is empty, SQLite or PostgreSQL,
and verifies every batch of its chain. The scheduler that is started on it goes on from
where the backup was made: jobs that waited then wait again. What their command lines were
is not in a backup: keep the spool beside it.`,
		Example: `  escala journal restore --journal /var/lib/escala/journal/journal.db escala.backup
  escala journal restore --journal postgres://escala@db/escala escala.backup`,
		Args: argCount(1, 1, "a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dsn, err := f.dsn(s)
			if err != nil {
				return err
			}
			in, err := os.Open(args[0])
			if err != nil {
				return badInput(noFile(err), "a file of escala journal backup")
			}
			defer func() { _ = in.Close() }()
			st, err := f.open(cmd, dsn, false)
			if err != nil {
				return err
			}
			defer func() { _ = st.Close() }()
			if err := st.Restore(cmd.Context(), in); err != nil {
				return badInput(fmt.Errorf("%s: %w", args[0], err), "an empty store, and a whole backup")
			}
			h, err := st.Head(cmd.Context())
			if err != nil {
				return err
			}
			return s.print("%s: %s restored and verified\n", dsn, pick(h.Seq == 1, "1 batch", grouped(h.Seq)+" batches"))
		},
	}
	f.add(c)
	return c
}

func bytesText(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
