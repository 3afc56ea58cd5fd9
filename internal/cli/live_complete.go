package cli

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/internal/api"
)

// completeFor is how long a shell waits for the daemon: less than its user does.
const completeFor = 500 * time.Millisecond

// offer asks the daemon what a shell can offer; where it does not answer that is nothing.
func (f *liveFlags) offer(s *State, do func(ctx context.Context, c *conn) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		parent := cmd.Context()
		if parent == nil {
			parent = context.Background()
		}
		ctx, cancel := context.WithTimeout(parent, completeFor)
		defer cancel()
		c, err := f.dial(ctx, s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return do(ctx, c), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeJobs offers the IDs of jobs, with what they are.
func (f *liveFlags) completeJobs(s *State, states ...string) cobra.CompletionFunc {
	return f.offer(s, func(ctx context.Context, c *conn) []string {
		var out []string
		for _, state := range states {
			var page api.Jobs
			if _, err := fetch(ctx, c, "/jobs", url.Values{"state": {state}, "limit": {"200"}}, &page); err != nil {
				return out
			}
			for i := range page.Jobs {
				j := &page.Jobs[i]
				out = append(out, j.ID+"\t"+j.Name+" of "+j.User+", "+j.State)
			}
		}
		return out
	})
}

func (f *liveFlags) completeNodes(s *State) cobra.CompletionFunc {
	return f.offer(s, func(ctx context.Context, c *conn) []string {
		var list api.Nodes
		if _, err := fetch(ctx, c, "/nodes", nil, &list); err != nil {
			return nil
		}
		var out []string
		for i := range list.Nodes {
			out = append(out, list.Nodes[i].Name+"\t"+list.Nodes[i].State)
		}
		return out
	})
}

// completeTeams offers the accounts that take jobs.
func (f *liveFlags) completeTeams(s *State) cobra.CompletionFunc {
	return f.completeAccounts(s, func(n *budget.Node) bool { return n.Leaf() && !n.Person })
}

func (f *liveFlags) completeAccounts(s *State, take func(*budget.Node) bool) cobra.CompletionFunc {
	return f.offer(s, func(ctx context.Context, c *conn) []string {
		b, err := inForce(ctx, c)
		if err != nil {
			return nil
		}
		var out []string
		for i := range b.tree.Nodes {
			if n := &b.tree.Nodes[i]; take(n) {
				out = append(out, n.Name)
			}
		}
		return out
	})
}
