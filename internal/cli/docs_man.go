package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// docsCommand makes documents of the commands, for packages.
func docsCommand(s *State) *cobra.Command {
	man := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a man page for each command",
		Example: "  escala docs man man1",
		Args:    argCount(1, 1, "a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return badInput(err, "a directory that can be written")
			}
			date := time.Unix(0, 0).UTC()
			if t, err := time.Parse(time.RFC3339, s.Build.Time); err == nil {
				date = t // the same commit has the same pages
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "escala " + s.Build.name(), Manual: "escala", Date: &date}, args[0])
		},
	}
	c := group("docs", "Write documents of the commands", "Writes documents of the commands, for those who make packages.", "  escala docs man man1", man)
	c.Hidden = true
	return c
}
