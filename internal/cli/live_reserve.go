package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/api"
)

// reserveFlags say which nodes are kept, when and for whom.
type reserveFlags struct {
	liveFlags
	nodes, only               []string
	from, until, name, reason string
}

func reserveCommand(s *State) *cobra.Command {
	f := &reserveFlags{}
	c := &cobra.Command{
		Use:     "reserve",
		GroupID: groupLive,
		Short:   "Keep nodes for a time: for maintenance, or for some teams and users",
		Long: `Keeps nodes from a time until another. Without --for it is maintenance: nothing may run
there in between. With it only jobs of these teams and users may; they ask for nothing
special. Until then other jobs run there that are sure to be gone in time, and what is
there and may be stopped is asked to stop early enough. A run that was promised to be
safe longer, before the reservation was made, stays until its protection ends.

See docs/windows.md.`,
		Example: `  escala reserve --nodes n1,n2 --from 14:00 --until +4h --reason 'new power supplies'
  escala reserve --nodes n3 --until +2h --for team:vision,user:ana --name demo
  escala reserve list
  escala reserve lift demo`,
		Args: noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error { return f.reserve(ctx, s, c) }),
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.nodes, "nodes", nil, "`names` of nodes")
	fl.StringVar(&f.from, "from", "", "`time` from which on: 14:35, +2h, 2026-12-01T08:00 (default: now)")
	fl.StringVar(&f.until, "until", "", "`time` until which: 18:00, 2026-12-01T08:00; +4h is that long after --from")
	fl.StringSliceVar(&f.only, "for", nil, "who may run there: `team:NAME or user:NAME`, several with commas (default: nobody)")
	fl.StringVar(&f.name, "name", "", "one word by which to lift it (default: one is made up)")
	fl.StringVar(&f.reason, "reason", "", "why, for others to read")
	_ = c.RegisterFlagCompletionFunc("nodes", f.completeNodes(s))
	f.add(c)
	c.AddCommand(reserveListCommand(s), reserveLiftCommand(s))
	return c
}

// reserve asks for it.
func (f *reserveFlags) reserve(ctx context.Context, s *State, c *conn) error {
	in, err := f.request(s.wall())
	if err != nil {
		return err
	}
	var r api.Reservation
	if _, err := c.Call(ctx, http.MethodPost, "/reservations", in, &r, nil); err != nil {
		return err
	}
	if f.output == "json" {
		return s.printJSON(r)
	}
	clock := s.wall()
	if err := s.print("Reservation %s: %s %s kept for %s from %s until %s.\n", r.Name, strings.Join(r.Nodes, ", "), pick(len(r.Nodes) == 1, "is", "are"), r.For, clock.text(r.From), clock.text(r.Until)); err != nil {
		return err
	}
	for _, x := range r.Stays {
		if err := s.print("Job %s is protected until %s and stays until then.\n", x.Job, clock.text(x.Until)); err != nil {
			return err
		}
	}
	return nil
}

// request is what the options ask for.
func (f *reserveFlags) request(clock wallClock) (in api.NewReservation, err error) {
	in = api.NewReservation{Name: f.name, Nodes: f.nodes, From: clock.now, Text: f.reason}
	switch {
	case len(f.nodes) == 0:
		return in, badUsage("--nodes n1,n2", "no nodes are named")
	case f.until == "":
		return in, badUsage("--until +4h", "no end is given")
	}
	if f.from != "" {
		if in.From, err = clock.parseWhen(f.from); err != nil {
			return in, badUsage("--from 14:00", "--from %s", err)
		}
	}
	clock.now = in.From // an end is after the beginning
	if in.Until, err = clock.parseWhen(f.until); err != nil {
		return in, badUsage("--until +4h", "--until %s", err)
	}
	for _, who := range f.only {
		kind, name, ok := strings.Cut(who, ":")
		switch {
		case ok && name != "" && kind == "team":
			in.Teams = append(in.Teams, name)
		case ok && name != "" && kind == "user":
			in.Users = append(in.Users, name)
		default:
			return in, badUsage("--for team:vision,user:ana", "--for %q: want team:NAME or user:NAME", who)
		}
	}
	return in, nil
}

func reserveListCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List what is kept, now, later and lately",
		Example: "  escala reserve list",
		Args:    noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error {
			var r api.Reservations
			raw, err := fetch(ctx, c, "/reservations", nil, &r)
			if err != nil {
				return err
			}
			if f.output == "json" {
				return s.printRaw(raw)
			}
			return s.showList(reservationList(r.Reservations, s.wall()))
		}),
	}
	f.add(c)
	return c
}

// reservationList is reservations for people, those first that are not over.
func reservationList(rs []api.Reservation, clock wallClock) *list {
	l := &list{columns: []column{{title: "NAME"}, {title: "STATE"}, {title: "FROM"}, {title: "UNTIL"}, {title: "FOR"}, {title: "NODES", rest: true}, {title: "WHY", rest: true}}}
	rs = slices.Clone(rs)
	past := func(r *api.Reservation) bool { return r.State == "over" || r.State == "lifted" }
	slices.SortStableFunc(rs, func(a, b api.Reservation) int {
		switch x, y := past(&a), past(&b); {
		case x != y && x:
			return 1
		case x != y:
			return -1
		}
		return a.From.Compare(b.From)
	})
	for i := range rs {
		r := &rs[i]
		why := unprintable(r.Text)
		if r.By != "" {
			why = strings.TrimPrefix(why+", by "+r.By, ", ")
		}
		for _, x := range r.Stays {
			why += ", job " + x.Job + " stays until " + clock.text(x.Until)
		}
		l.add(cell{r.Name, styleBold}, cell{r.State, ""}, cell{clock.text(r.From), ""}, cell{clock.text(r.Until), ""}, cell{r.For, ""},
			cell{strings.Join(r.Nodes, " "), ""}, cell{why, styleFaint})
	}
	return l
}

func reserveLiftCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	c := &cobra.Command{
		Use:     "lift NAME...",
		Short:   "Give back what is kept, before its time",
		Example: "  escala reserve lift demo",
		Args:    argCount(1, -1, "names of reservations"),
		RunE: f.ask(s, func(ctx context.Context, c *conn, args []string) error {
			var results []changeResult
			for _, name := range args {
				var out api.Changed
				if _, err := c.Call(ctx, http.MethodDelete, "/reservations/"+url.PathEscape(name), nil, &out, nil); err != nil {
					return err
				}
				results = append(results, changeResult{ID: name, Changed: out.Changed})
				if f.output == "json" {
					continue
				}
				if err := s.print("Reservation %s is lifted.\n", name); err != nil {
					return err
				}
			}
			if f.output == "json" {
				return s.printJSON(results)
			}
			return nil
		}),
	}
	f.add(c)
	return c
}

// keptText says for what a node is kept.
func keptText(list []api.Kept, clock wallClock) string {
	var out []string
	for _, k := range list {
		from := " from " + clock.text(k.From)
		if k.From.Before(clock.now) {
			from = ""
		}
		until := " to " + clock.text(k.Until)
		if from == "" {
			until = " until " + clock.text(k.Until)
		}
		out = append(out, fmt.Sprint(k.For, from, until))
	}
	return strings.Join(out, ", ")
}
