package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
)

func budgetEditCommand(s *State) *cobra.Command {
	f := &setFlags{}
	c := &cobra.Command{
		Use:     "edit",
		Short:   "Change the budgets in force in an editor",
		Long:    `Opens the text in $VISUAL or $EDITOR, then does as "budget set" does.`,
		Example: "  escala budget edit",
		Args:    noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error {
			b, err := inForce(ctx, c)
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "escala-budget-")
			if err != nil {
				return err
			}
			path := filepath.Join(dir, b.text.Name+".yaml")
			text, err := s.edit(ctx, path, b.tagged())
			if err == nil && text == b.tagged() {
				s.say("Nothing was changed.\n")
			} else if err == nil {
				err = f.set(ctx, s, c, path, text)
			}
			if err != nil { // what was written is not lost
				return badInput(err, "escala budget set "+path+", which has what was written")
			}
			return os.RemoveAll(dir)
		}),
	}
	f.add(c, "the budgets were")
	return c
}

// edit has a text edited.
func (s *State) edit(ctx context.Context, path, text string) (string, error) {
	editor := s.Getenv("VISUAL")
	if editor == "" {
		editor = s.Getenv("EDITOR")
	}
	if editor == "" {
		return "", errors.New("neither VISUAL nor EDITOR names an editor")
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	// As other programs do: the variable may hold options too.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout.Writer, s.Stderr.Writer
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the editor: %w", err)
	}
	data, err := os.ReadFile(path)
	return string(data), err
}
