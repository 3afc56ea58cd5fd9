package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
)

func nodesCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	c := &cobra.Command{
		Use:     "nodes",
		GroupID: groupLive,
		Short:   "List the nodes: GPUs in use, how busy they are, what is out of use and why",
		Example: "  escala nodes",
		Args:    noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error {
			var n api.Nodes
			raw, err := fetch(ctx, c, "/nodes", nil, &n)
			if err != nil {
				return err
			}
			if f.output == "json" {
				return s.printRaw(raw)
			}
			return s.showList(nodeList(n.Nodes, s.wall()))
		}),
	}
	f.add(c)
	return c
}

// nodeList is the nodes for people.
func nodeList(nodes []api.Node, clock wallClock) *list {
	l := &list{columns: []column{{title: "NODE"}, {title: "TYPE", wide: 60}, {title: "GPUS", right: true}, {title: "USED", right: true},
		{title: "BUSY", right: true, wide: 60}, {title: "STATE"}, {title: "JOBS", rest: true}, {title: "WHY", rest: true}}}
	for i := range nodes {
		n := &nodes[i]
		why := ""
		if n.State != "up" {
			why = unprintable(n.Text)
			if n.By != "" {
				why = strings.TrimPrefix(why+", by "+n.By, ", ")
			}
			if n.Since != nil {
				why = strings.TrimPrefix(why+", since "+clock.text(*n.Since), ", ")
			}
		}
		why = strings.TrimPrefix(strings.Join([]string{why, keptText(n.Kept, clock)}, ", "), ", ")
		why = strings.TrimSuffix(why, ", ")
		l.add(cell{n.Name, ""}, cell{n.GPUType, ""}, cell{fmt.Sprint(n.GPUs), ""}, cell{trimNumber(n.Used, 2), ""}, cell{busyText(n.Busy), ""},
			cell{n.State, stateStyle(n.State)}, cell{strings.Join(n.Jobs, " "), ""}, cell{why, styleFaint})
	}
	return l
}

// busyText is how busy the GPUs of a node are on average.
func busyText(list []api.GPU) string {
	sum, n := 0.0, 0
	for i := range list {
		if p := list[i].Percent; p != nil {
			sum += *p
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", sum/float64(n))
}

// nodeCommands are the commands that take nodes out of use, put them back, and keep them for a time.
func nodeCommands(s *State) []*cobra.Command {
	out := []*cobra.Command{reserveCommand(s)}
	for _, v := range []verb{
		{word: "drain", short: "Take nodes out of use: nothing more starts there", past: "is out of use; what runs there ends by the policy's rules", reason: true,
			example: "  escala drain node07 --reason 'a fan is broken'"},
		{word: "resume", short: "Put nodes back into use", past: "is in use again", example: "  escala resume node07"},
	} {
		f := &changeFlags{verb: v, path: "/nodes/", noun: "node"}
		c := f.command(s)
		c.Use = v.word + " NODE..."
		c.Args = argCount(1, -1, "names of nodes")
		c.ValidArgsFunction = f.completeNodes(s)
		out = append(out, c)
	}
	return out
}
