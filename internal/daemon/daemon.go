// Package daemon puts the parts of escala serve together: journal, spool, world, loop, HTTP.
package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/escala-sched/escala/budget"
	"github.com/escala-sched/escala/cluster"
	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/live"
	"github.com/escala-sched/escala/internal/server"
	"github.com/escala-sched/escala/internal/spool"
	"github.com/escala-sched/escala/internal/store"
	"github.com/escala-sched/escala/internal/world/local"
	"github.com/escala-sched/escala/policy"
	"github.com/escala-sched/escala/sim"
)

// Options say what to serve. State, Policy, Version, Now and Log are required.
type Options struct {
	// State is the directory of all that is kept.
	State string
	// Journal is where the journal is: a path or a DSN; empty = in State.
	Journal string
	// Listen are the addresses of the API besides the socket in State: "host:port".
	Listen []string
	// SocketGroup may use the socket besides the daemon's own user; empty = nobody may.
	SocketGroup string
	// CertFile and KeyFile make it TLS.
	CertFile, KeyFile string
	// Pretend is a number of GPUs that are not there; 0 = look for real ones.
	Pretend int
	// Policy and Budgets hold where the journal is new.
	Policy  *policy.Policy
	Budgets *budget.Tree
	Assume  sim.Assumptions
	// Slurm is the cluster of which is decided, nil = this machine.
	Slurm *SlurmOptions
	// Shadow: everything is decided, and nothing done. Cluster is what there is then, nil = this
	// machine.
	Shadow  bool
	Cluster *cluster.Spec
	// AllowRoot lets jobs run as uid 0.
	AllowRoot bool
	Limits    live.Limits
	// Rates bound what one user may ask for; nil = [server.DefaultRates].
	Rates    *server.Rates
	Roles    auth.Roles
	Hosts    []string
	SubmitTo auth.SubmitTo
	// Issuers are OpenID providers whose tokens are taken.
	Issuers []auth.Issuer
	// Keep says how long the journal's detail and ended jobs are kept.
	Keep live.Retention
	// KeepRuns says how long logs and checkpoints of ended jobs are; nil = [DefaultRuns].
	KeepRuns *local.Retention
	// pruneAfter is for tests: when that is looked after first.
	pruneAfter time.Duration
	// Cgroups says whether runs get a cgroup each.
	Cgroups local.Cgroups
	// Observe says how the daemon is watched.
	Observe Observe
	Version string
	Now     func() time.Time
	Log     *slog.Logger
	// Ready is told once requests are answered.
	Ready func(*Info)
	// Beside runs beside the daemon, as a client of it; nil = nothing does.
	Beside func(ctx context.Context, d *live.Daemon) error
}

// Info is where a daemon can be reached, and what it serves.
type Info struct {
	World     string
	Policy    string
	Socket    string
	Addresses []string
	TokenFile string
	Journal   string
	Alive     int
}

// SocketName and JournalName are files of the state directory.
const (
	SocketName  = "escala.sock"
	JournalName = "journal.db"
)

// Misconfigured is a daemon that cannot be started as it was asked for.
type Misconfigured struct{ Err error }

func (e *Misconfigured) Error() string { return e.Err.Error() }
func (e *Misconfigured) Unwrap() error { return e.Err }

// Run serves until the context ends. What runs goes on without it.
func Run(ctx context.Context, o Options) error {
	for _, l := range o.Listen { // before anything is made
		if err := auth.CheckListen(l, o.CertFile != ""); err != nil {
			return &Misconfigured{err}
		}
	}
	if err := os.MkdirAll(o.State, 0o711); err != nil {
		return &Misconfigured{err}
	}
	if o.Rates == nil {
		rates := server.DefaultRates()
		o.Rates = &rates
	}
	if o.KeepRuns == nil {
		keep := DefaultRuns()
		o.KeepRuns = &keep
	}
	if o.Journal == "" {
		o.Journal = filepath.Join(o.State, "journal", JournalName)
	}
	st, err := store.Open(ctx, o.Journal)
	if err != nil {
		return &Misconfigured{fmt.Errorf("the journal: %w", err)}
	}
	defer func() { _ = st.Close() }()
	sp, err := spool.Open(ctx, filepath.Join(o.State, "spool", "spool.db"))
	if err != nil {
		return &Misconfigured{fmt.Errorf("the spool: %w", err)}
	}
	defer func() { _ = sp.Close() }()
	w, err := openPlace(ctx, &o, sp)
	if err != nil {
		return err
	}
	defer w.close()
	meter := newMeter(w.measured(), o.Log)
	seen, err := newWatch(ctx, &o, meter.last)
	if err != nil {
		return &Misconfigured{err}
	}
	defer seen.close()
	host, _ := os.Hostname()
	d, err := live.Open(ctx, live.Config{Store: st, World: w.world, Spool: sp, Policy: o.Policy, Budgets: o.Budgets, Assume: o.Assume, Version: o.Version,
		Holder: fmt.Sprintf("pid %d on %s", os.Getpid(), host), Now: o.Now, Log: o.Log, Limits: o.Limits, Shadow: o.Shadow, Observers: seen.observers()})
	if err != nil {
		var other *live.OtherCluster
		var mode *live.OtherMode
		if errors.As(err, &other) || errors.As(err, &mode) {
			return &Misconfigured{err}
		}
		return err
	}
	a, tokens, err := authOf(&o, d)
	if err != nil {
		return &Misconfigured{err}
	}
	seen.begin(d)
	served := server.Config{Daemon: d, World: w.world, WorldText: w.text, Auth: a, Activity: meter.last,
		Metrics: seen.metrics.Handler(), Settings: settings(&o), Rates: *o.Rates, Version: o.Version, Revision: o.Observe.Revision, Log: o.Log}
	runs := !o.Shadow && w.here != nil
	if runs { // else nothing is kept of what somebody else will run
		served.Payload, served.Command = payload, command(sp)
	}
	srv := server.New(served)
	listeners, err := listen(ctx, &o)
	if err != nil {
		return &Misconfigured{err}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error { d.Foresee(ctx); return nil })
	g.Go(func() error { d.Retain(ctx, o.Keep); return nil })
	if runs {
		g.Go(func() error { prune(ctx, w.here, d, cmp.Or(o.pruneAfter, pruneAfter), *o.KeepRuns, o.Log); return nil })
	}
	g.Go(func() error { meter.run(ctx); return nil })
	g.Go(func() error { return a.Run(ctx) })
	for _, l := range listeners {
		g.Go(func() error { return serve(ctx, l, a.Middleware(seen.around(srv.Handler())), o.Log) })
	}
	seen.run(ctx, g, d)
	if o.Beside != nil {
		g.Go(func() error { return o.Beside(ctx, d) })
	}
	if o.Ready != nil {
		info := &Info{World: w.text, Policy: d.Header().Policy.Name, Socket: filepath.Join(o.State, SocketName), Journal: o.Journal, TokenFile: auth.FirstToken(o.State)}
		for _, l := range listeners[1:] {
			info.Addresses = append(info.Addresses, l.Addr().String())
		}
		c := d.Counts()
		info.Alive = c.Waiting + c.Running + c.Held + c.Blocked
		o.Ready(info)
	}
	err = g.Wait()
	return errors.Join(err, tokens.Flush())
}

// authOf makes the first token, and says who may do what.
func authOf(o *Options, d *live.Daemon) (*auth.Auth, *auth.Tokens, error) {
	tokens, err := auth.OpenTokens(o.State, o.Now)
	if err != nil {
		return nil, nil, err
	}
	me := "root"
	if u, err := user.Current(); err == nil {
		me = u.Username
	}
	if made, err := tokens.EnsureFirst(me); err != nil {
		return nil, nil, err
	} else if made {
		o.Log.Info("a token for the command line on this machine was made", "file", auth.FirstToken(o.State))
	}
	a, err := auth.New(auth.Config{Now: o.Now, Log: o.Log, Tokens: tokens, Roles: o.Roles, Hosts: o.Hosts, Open: []string{"/healthz", "/readyz"}, SubmitTo: o.SubmitTo, Issuers: o.Issuers,
		Budgets: func() *budget.Tree { t, _, _ := d.Budgets(); return t }})
	return a, tokens, err
}

// listen opens the socket, and the addresses that were asked for.
func listen(ctx context.Context, o *Options) ([]net.Listener, error) {
	l, err := auth.ListenSocket(filepath.Join(o.State, SocketName), o.SocketGroup)
	if err != nil {
		return nil, err
	}
	out := []net.Listener{l}
	for _, addr := range o.Listen {
		l, err := listenTCP(ctx, o, addr)
		if err != nil {
			for _, l := range out {
				_ = l.Close()
			}
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func listenTCP(ctx context.Context, o *Options, addr string) (net.Listener, error) {
	if err := auth.CheckListen(addr, o.CertFile != ""); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the API cannot listen at %s: %w", addr, err)
	}
	if o.CertFile == "" {
		return l, nil
	}
	c, err := auth.TLSConfig(o.CertFile, o.KeyFile, o.Now, o.Log)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return tls.NewListener(l, c), nil
}

// serve answers requests of one listener until the context ends; those under way get a moment.
func serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	slots := bound(l, mostConns)
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ConnContext: auth.ConnContext, ConnState: slots.state, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
	}()
	if err := s.Serve(slots); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}

// leastUID is the least uid that people have: no name that came with a token or from an OpenID
// provider makes a job run as one of the system's own users.
const leastUID = 1000

// payload is what the local world runs, and as whom: as whoever is at the other end of the socket
// for their own jobs, else as the user of this machine whose name it is for.
func payload(run *api.Run, who *auth.Identity, name string) ([]byte, error) {
	if run == nil {
		return nil, errors.New("say what is to run: a command or a script")
	}
	p := local.Payload{Argv: run.Command, Script: run.Script, Dir: run.Dir, Env: run.Env, Signal: run.Signal, ResumeExit: run.ResumeExit}
	uid, gid := who.UID, who.GID
	if uid < 0 || name != who.User {
		var err error
		if uid, gid, err = account(name); err != nil {
			return nil, err
		}
	}
	id, group := uint32(uid), uint32(max(gid, 0))
	p.UID, p.GID = &id, &group
	if err := p.Check(); err != nil {
		return nil, err
	}
	return json.Marshal(&p)
}

// account finds a person of this machine by name. The daemon's own user is always one.
func account(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, fmt.Errorf("user %s is not known on this machine, so that nothing can run for them", name)
	}
	if uid, err = strconv.Atoi(u.Uid); err == nil {
		gid, err = strconv.Atoi(u.Gid)
	}
	if err == nil && uid < leastUID && uid != os.Getuid() {
		err = fmt.Errorf("%s is one of the system's own users (uid %d), and jobs run for people", name, uid)
	}
	return uid, gid, err
}

// command reads the command line of a job.
func command(sp *spool.Spool) func(ctx context.Context, job int32) ([]string, error) {
	return func(ctx context.Context, job int32) ([]string, error) {
		body, err := sp.Get(ctx, job)
		if err != nil {
			return nil, err
		}
		p, err := local.ParsePayload(body)
		if err != nil {
			return nil, err
		}
		if p.Script != "" {
			return []string{"(script)"}, nil
		}
		return p.Argv, nil
	}
}
