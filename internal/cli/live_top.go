package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

func topCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	var once bool
	c := &cobra.Command{
		Use:     "top",
		GroupID: groupLive,
		Short:   "Watch the cluster: GPUs, what runs, what waits, who has how much",
		Long: `Shows the cluster as it is, and goes on as things happen. A letter is a GPU in use, by the
team that has it. Where there is no terminal it prints one look at it.

  tab          next of: running, queue, teams
  up, down     choose a job; enter shows all about it, esc goes back
  /            show jobs alone that have this text; esc shows all
  c            cancel the chosen job, after asking
  q            leave`,
		Example: "  escala top\n  escala top --once",
		Args:    noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error {
			if f.output == "json" || once || !s.Stdout.TTY || !s.asks() {
				return f.look(ctx, s, c)
			}
			return s.watchTop(ctx, c)
		}),
	}
	c.Flags().BoolVar(&once, "once", false, "print one look and leave")
	f.add(c)
	return c
}

// look prints one look.
func (f *liveFlags) look(ctx context.Context, s *State, c *conn) error {
	d, err := readTop(ctx, c, s.wall().now)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return s.printJSON(d)
	}
	m := &topModel{width: s.Stdout.width(), data: d}
	if m.width == 0 {
		m.width = 120
	}
	return s.print("%s\n", strings.TrimRight(m.view(s.wall(), s.colored(s.Stdout)), "\n"))
}
