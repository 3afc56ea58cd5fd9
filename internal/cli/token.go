package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/auth"
)

func tokenCommand(s *State) *cobra.Command {
	c := group("token", "Make, list and revoke tokens for the network",
		`Over the network a scheduler is asked with a token. These commands work on the file of
tokens in the state directory, so only whoever may read that can use them; a running
scheduler notices at once. docs/security.md says what a token may do.`,
		`  escala token create ana-laptop --user ana --days 90
  escala token list
  escala token revoke ana-laptop`,
		tokenCreateCommand(s), tokenListCommand(s), tokenRevokeCommand(s))
	c.GroupID = groupLive
	return c
}

// openTokens opens the file of tokens of a state directory.
func (s *State) openTokens(state string) (*auth.Tokens, error) {
	dir, err := s.stateDir(state)
	if err != nil {
		return nil, err
	}
	t, err := auth.OpenTokens(dir, time.Now)
	if err != nil {
		return nil, badInput(err, "--state of the scheduler, as the user that it runs as")
	}
	return t, nil
}

func stateFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "state", "", "state `directory` of the scheduler (default: "+stateDirText+")")
}

func tokenCreateCommand(s *State) *cobra.Command {
	var state, user, role, path string
	var days int
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token, and print it: it is shown once",
		Args:  argCount(1, 1, "a name for the token"),
		RunE: func(_ *cobra.Command, args []string) error {
			n := auth.NewToken{Name: args[0], User: user}
			if role != "" {
				g := auth.Grant{Path: path}
				if err := g.Role.UnmarshalText([]byte(role)); err != nil {
					return badUsage("--role viewer, user, manager, operator or admin", "--role %s: %s", role, err)
				}
				n.Grant = &g
			}
			if days < 0 {
				return badUsage("--days 90", "--days %d: want a number of 0 or more", days)
			}
			if days > 0 {
				n.Expires = time.Now().Add(time.Duration(days) * 24 * time.Hour)
			}
			t, err := s.openTokens(state)
			if err != nil {
				return err
			}
			secret, _, err := t.Create(n)
			if err != nil {
				return badInput(err, "escala token create --help")
			}
			return s.print("%s\n", secret.Reveal())
		},
	}
	stateFlag(c, &state)
	c.Flags().StringVar(&user, "user", "", "`user` that it stands for (required)")
	c.Flags().StringVar(&role, "role", "", "`role` that it has at most, instead of what the user has: viewer, user, manager, operator, admin")
	c.Flags().StringVar(&path, "path", "", "of a manager: the `account` below which it counts")
	c.Flags().IntVar(&days, "days", 0, "how many days it holds; 0 = until it is revoked")
	_ = c.MarkFlagRequired("user")
	return c
}

func tokenListCommand(s *State) *cobra.Command {
	var state string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tokens; what they are is not kept",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			t, err := s.openTokens(state)
			if err != nil {
				return err
			}
			list, err := t.List()
			if err != nil {
				return err
			}
			out := table{header: []string{"NAME", "USER", "ROLE", "CREATED", "EXPIRES"}}
			for _, x := range list {
				role, expires := "the user's", "never"
				if x.Grant != nil {
					role = x.Grant.String()
				}
				if !x.Expires.IsZero() {
					expires = x.Expires.Local().Format(time.DateOnly)
				}
				out.add(x.Name, x.User, role, x.Created.Local().Format(time.DateTime), expires)
			}
			return s.showTable(&out)
		},
	}
	stateFlag(c, &state)
	return c
}

func tokenRevokeCommand(s *State) *cobra.Command {
	var state string
	c := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Revoke a token: from the next request on it is worth nothing",
		Args:  argCount(1, 1, "the name of a token"),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := s.openTokens(state)
			if err != nil {
				return err
			}
			if err := t.Revoke(args[0]); errors.Is(err, auth.ErrNoToken) {
				return badUsage("escala token list", "there is no token %s", args[0])
			} else if err != nil {
				return fmt.Errorf("revoking %s: %w", args[0], err)
			}
			return s.print("%s is revoked\n", args[0])
		},
	}
	stateFlag(c, &state)
	return c
}
