package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/yamlx"
)

func journalCommand(s *State) *cobra.Command {
	c := group("journal", "Read the journal of a live scheduler, and check it",
		`All facts and all decisions are in the journal. What is exported can be replayed,
explained and accounted for as the journal of a simulation can.`,
		`  escala journal export -o journal.jsonl
  escala journal segments
  escala journal verify`,
		journalExportCommand(s), journalSegmentsCommand(s), journalVerifyCommand(s), journalBackupCommand(s), journalRestoreCommand(s))
	c.GroupID = groupLive
	return c
}

func journalExportCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	var out, since string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the journal as JSON lines",
		Example: `  escala journal export -o journal.jsonl
  escala journal export --since 7d | gzip > week.jsonl.gz`,
		Args: noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error {
			q := url.Values{}
			if since != "" {
				t, err := s.wall().parseSince(since)
				if err != nil {
					return badUsage("--since 7d", "--since %s", err)
				}
				q.Set("since", t.UTC().Format(time.RFC3339))
			}
			path := "/journal"
			if len(q) > 0 {
				path += "?" + q.Encode()
			}
			return s.export(ctx, c, path, out)
		}),
	}
	c.Flags().StringVarP(&out, "out", "o", "", "`file` to write (default: standard output)")
	c.Flags().StringVar(&since, "since", "", "`time` from which on it must tell: 7d, 2026-12-01; it begins with the segment that holds it")
	f.addServer(c)
	return c
}

// export copies a stream into a file, which appears whole or not at all.
func (s *State) export(ctx context.Context, c *conn, path, to string) error {
	if to == "-" {
		to = ""
	}
	files, err := s.begin(to)
	if err != nil {
		return err
	}
	defer files.abort()
	in, _, err := c.Stream(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if to == "" {
		_, err = io.Copy(s.Stdout, in)
		return err
	}
	var n int64
	if err := files.write(to, func(w *bufio.Writer) (err error) { n, err = io.Copy(w, in); return err }); err != nil {
		return files.cut(err)
	}
	if err := files.commit(); err != nil {
		return err
	}
	s.say("%s: %s bytes\n", to, grouped(n))
	return nil
}

// parseSince reads a time that has been: a duration before now, or a date.
func (c wallClock) parseSince(text string) (time.Time, error) {
	if d, err := yamlx.ParseDuration(text); err == nil {
		return c.now.Add(-time.Duration(d) * time.Millisecond), nil
	}
	for _, layout := range momentLayouts {
		if t, err := time.ParseInLocation(layout, text, c.loc); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q: want a duration such as 7d, or a date such as 2026-12-01", text)
}

func journalSegmentsCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	c := &cobra.Command{
		Use:     "segments",
		Short:   "List the stretches of the journal that can be read by themselves",
		Example: "  escala journal segments",
		Args:    noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error {
			var out struct {
				Segments []struct {
					First int64 `json:"first_batch"`
					Last  int64 `json:"last_batch"`
					From  time.Time
					To    time.Time
					Lines int64
					Bytes int64
				}
			}
			raw, err := fetch(ctx, c, "/journal/segments", nil, &out)
			if err != nil {
				return err
			}
			if f.output == "json" {
				return s.printRaw(raw)
			}
			clock := s.wall()
			l := &list{columns: []column{{title: "FROM"}, {title: "TO"}, {title: "BATCHES", right: true}, {title: "LINES", right: true}, {title: "BYTES", right: true}}}
			for _, g := range out.Segments {
				l.add(cell{clock.text(g.From), ""}, cell{clock.text(g.To), ""}, cell{fmt.Sprintf("%d-%d", g.First, g.Last), ""}, cell{grouped(g.Lines), ""}, cell{grouped(g.Bytes), ""})
			}
			return s.showList(l)
		}),
	}
	f.add(c)
	return c
}

func journalVerifyCommand(s *State) *cobra.Command {
	f := &liveFlags{}
	c := &cobra.Command{
		Use:     "verify",
		Short:   "Have the scheduler read all of its journal and check the chain of hashes",
		Example: "  escala journal verify",
		Args:    noArgs,
		RunE: f.ask(s, func(ctx context.Context, c *conn, _ []string) error {
			var raw json.RawMessage
			if _, err := c.Call(ctx, http.MethodPost, "/journal/verify", nil, &raw, nil); err != nil {
				return err
			}
			if f.output == "json" {
				return s.printRaw(raw)
			}
			var v struct {
				Batches, Lines, Bytes int64
				Chain                 string
			}
			if err := json.Unmarshal(raw, &v); err != nil {
				return err
			}
			return s.print("The journal is whole: %s batches, %s lines, %s bytes, chain %s\n", grouped(v.Batches), grouped(v.Lines), grouped(v.Bytes), v.Chain)
		}),
	}
	f.add(c)
	return c
}
