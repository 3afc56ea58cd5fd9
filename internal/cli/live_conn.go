package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/client"
	"github.com/escala-sched/escala/internal/daemon"
)

// liveFlags say which daemon is asked, and how its answers are printed.
type liveFlags struct{ server, tokenFile, output string }

// add adds the options of every command that asks the daemon.
func (f *liveFlags) add(c *cobra.Command) {
	f.addServer(c)
	c.Flags().VarP(newChoice(&f.output, "table", "json"), "output", "o", "what to print: table, json")
	_ = c.RegisterFlagCompletionFunc("output", words("table", "json"))
}

func (f *liveFlags) addServer(c *cobra.Command) {
	c.Flags().StringVar(&f.server, "server", "", "`address` of the scheduler: unix:/path, http://host:port or https://host:port (default: $ESCALA_SERVER, else the socket of this machine's)")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "`file` with the token, which a socket needs none of (default: $ESCALA_TOKEN)")
}

// conn is a connection to a daemon.
type conn struct {
	*client.Client
	// local: jobs run on this machine, so that its directories and environment mean something.
	local bool
}

// ask makes a command of what is asked of a daemon.
func (f *liveFlags) ask(s *State, do func(ctx context.Context, c *conn, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := f.dial(cmd.Context(), s)
		if err != nil {
			return err
		}
		return judged(do(cmd.Context(), c, args))
	}
}

// dial finds the daemon. Whether it answers shows with the first request.
func (f *liveFlags) dial(ctx context.Context, s *State) (*conn, error) {
	server := f.server
	if server == "" {
		server = s.Getenv("ESCALA_SERVER")
	}
	if server == "" {
		path, err := s.findSocket(ctx)
		if err != nil {
			return nil, err
		}
		server = "unix:" + path
	}
	local := strings.HasPrefix(server, "unix:") || loopback(server)
	token, err := f.token(s, strings.HasPrefix(server, "unix:"), local)
	if err != nil {
		return nil, err
	}
	c, err := client.New(server, token)
	if err != nil {
		return nil, badInput(err, "--server http://127.0.0.1:7421")
	}
	return &conn{Client: c, local: local}, nil
}

// token is what the daemon knows us by. The one that it made for this machine goes to no other.
func (f *liveFlags) token(s *State, socket, local bool) (string, error) {
	if f.tokenFile != "" {
		data, err := s.ReadFile(f.tokenFile)
		if errors.Is(err, fs.ErrPermission) {
			return "", badInput(fmt.Errorf("the token file %w", noFile(err)), "a token of your own: one of the scheduler's admins makes it with escala token create; on the scheduler's machine its socket needs none")
		}
		if err != nil {
			return "", badInput(fmt.Errorf("the token file %w", noFile(err)), "--token-file with a file that can be read")
		}
		return strings.TrimSpace(string(data)), nil
	}
	if t := s.Getenv("ESCALA_TOKEN"); t != "" || socket || !local {
		return t, nil
	}
	if dir, err := s.stateDir(""); err == nil {
		if data, err := s.ReadFile(auth.FirstToken(dir)); err == nil {
			return strings.TrimSpace(string(data)), nil
		}
	}
	return "", nil
}

// findSocket is the socket of this user's daemon, else of the demo or of the machine's, where
// that answers.
func (s *State) findSocket(ctx context.Context) (string, error) {
	dir, err := s.stateDir("")
	if err != nil {
		return "", err
	}
	first := filepath.Join(dir, daemon.SocketName)
	found := first
	for _, path := range []string{first, filepath.Join(dir, "demo", daemon.SocketName), filepath.Join(machineState, daemon.SocketName)} {
		err := answers(ctx, path)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, fs.ErrPermission) { // there is one, which is worth more to be told of than that there is none
			found = path
		}
	}
	return found, nil
}

// machineState is the state directory of root's daemon.
const machineState = "/var/lib/escala"

func answers(ctx context.Context, path string) error {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
	}
	return err
}

// closedTo says what those may do who may not use a socket.
func closedTo(path string) string {
	group := ""
	if info, err := os.Stat(path); err == nil {
		group = auth.GroupOf(info)
	}
	if group == "" || group == "root" {
		return "ask whoever runs the scheduler to start it with --socket-group and a group of yours, or for a token: --server http://127.0.0.1:7421 --token-file FILE"
	}
	return "ask to be put into the group " + group + ", which may use the socket (then log in anew), or for a token: --server http://127.0.0.1:7421 --token-file FILE"
}

func loopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// judged adds to an error of the daemon whose fault it is, and what to try.
func judged(err error) error {
	var p *client.Problem
	var gone *client.Unreachable
	switch {
	case errors.As(err, &gone) && errors.Is(err, fs.ErrPermission):
		return &hinted{fmt.Errorf("the socket %s is not open to you: %w", gone.Where, fs.ErrPermission), closedTo(gone.Where)}
	case errors.As(err, &gone):
		return &hinted{err, "escala serve, or --server with the address of one that runs"}
	case !errors.As(err, &p) || !p.Bad():
		return err
	}
	switch p.Status {
	case http.StatusUnauthorized:
		return badInput(err, "--token-file FILE, or ESCALA_TOKEN; on the scheduler's own machine its socket needs no token")
	case http.StatusForbidden:
		if strings.Contains(err.Error(), "may not submit") {
			return badInput(err, "--team with one that is named here; escala budget show lists teams and their users")
		}
		return badInput(err, "escala status says who you are here, and in which role; operators give roles (docs/security.md)")
	case http.StatusNotFound:
		if of, ok := arrayIn(err.Error()); ok {
			return badInput(err, "escala status "+of+" lists its jobs")
		}
		return badInput(err, "escala queue and escala history list jobs, escala nodes lists nodes")
	}
	return badInput(err, "")
}

// fetch asks for something, and keeps what came as it came.
func fetch(ctx context.Context, c *conn, path string, query url.Values, out any) (json.RawMessage, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var raw json.RawMessage
	if err := c.Get(ctx, path, &raw); err != nil {
		return nil, err
	}
	return raw, json.Unmarshal(raw, out)
}

// printRaw prints an answer of the daemon as it is, indented.
func (s *State) printRaw(raw json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return err
	}
	return s.print("%s\n", b.String())
}

// me is the user's name on this machine.
func (s *State) me() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return s.Getenv("USER")
}

// environ is the environment of the caller.
func (s *State) environ() []string {
	if s.Environ != nil {
		return s.Environ()
	}
	return os.Environ()
}

var arrayWords = regexp.MustCompile(`(?:^job (\S+) is an array of|array (\S+) has \d+ elements)`)

// arrayIn is the array of which an answer speaks.
func arrayIn(text string) (id string, ok bool) {
	m := arrayWords.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1] + m[2], true
}
