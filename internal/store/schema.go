package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// steps are the changes of the schema, in order; step n is steps[n-1].
var steps = func() (steps []string) {
	names, err := fs.Glob(schemaFiles, "schema/*.sql") // sorted
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		text, err := schemaFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		steps = append(steps, string(text))
	}
	return steps
}()

// migrate brings the schema to the latest step. All in one transaction: two daemons that
// begin at once, and a crash in the middle, do no harm.
func (s *store) migrate(ctx context.Context) error {
	const op = "prepare the schema"
	return s.write(ctx, op, func(tx *sql.Tx) error {
		has, err := s.begin(ctx, tx)
		if err != nil {
			return err
		}
		var at int
		if has {
			if err := tx.QueryRowContext(ctx, `SELECT step FROM schema_step`).Scan(&at); err != nil {
				return err
			}
		}
		switch {
		case at > len(steps):
			return fail(ErrNewer, fmt.Sprintf("it has schema %d and this program knows %d", at, len(steps)), "use the escala that wrote it, or a later one")
		case at == len(steps):
			return nil
		case at == 0:
			if _, err := tx.ExecContext(ctx, s.schema.Replace("CREATE TABLE schema_step (step {int} NOT NULL) {end};\nINSERT INTO schema_step (step) VALUES (0)")); err != nil {
				return err
			}
		}
		for _, step := range steps[at:] {
			if _, err := tx.ExecContext(ctx, s.schema.Replace(step)); err != nil {
				return err
			}
		}
		if at == 0 {
			if err := s.insert(ctx, tx, headTable, false, headRow(&head{})); err != nil {
				return err
			}
			if err := s.insert(ctx, tx, anchorTable, false, anchorRow(0, [32]byte{})); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, s.sql(`UPDATE schema_step SET step = ?`), len(steps))
		return err
	})
}
