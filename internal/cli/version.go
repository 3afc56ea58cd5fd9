package cli

import "github.com/spf13/cobra"

func versionCommand(s *State) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version, the commit and the compiler",
		Example: "  escala version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := s.Build
			err := s.print("escala %s\n", b.name())
			if err == nil && b.Revision != "" {
				dirty := ""
				if b.Modified {
					dirty = ", with local changes"
				}
				err = s.print("commit %s of %s%s\n", b.Revision, b.Time, dirty)
			}
			if err == nil {
				err = s.print("%s %s\n", b.Go, b.Platform)
			}
			return err
		},
	}
}
