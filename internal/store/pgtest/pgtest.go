// Package pgtest starts PostgreSQL servers for tests, on a socket in a temporary folder.
package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// Server is one. It is made by [New].
type Server struct {
	// Why it cannot run; empty = it does.
	Why string

	bin, dir string
	as       *syscall.SysProcAttr
	cmd      *exec.Cmd
	schemas  atomic.Int64
}

// New makes a database cluster in a folder ("" = that of temporary files) and starts it. PostgreSQL
// does not run as root.
func New(in string) *Server {
	p := &Server{as: &syscall.SysProcAttr{}}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if at, err := exec.LookPath("initdb"); err == nil {
		if at, err = filepath.EvalSymlinks(at); err == nil {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		p.Why = "no initdb in PATH or /usr/lib/postgresql"
		return p
	}
	p.bin = filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp(in, "escala-pg")
	if err != nil {
		p.Why = err.Error()
		return p
	}
	p.dir = dir
	if os.Getuid() == 0 {
		if err := p.other(); err != nil {
			p.Why = err.Error()
			return p
		}
	}
	init := exec.Command(filepath.Join(p.bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "escala", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	init.SysProcAttr, init.Dir = p.as, dir
	if out, err := init.CombinedOutput(); err != nil {
		p.Why = fmt.Sprintf("initdb: %v: %s", err, out)
		return p
	}
	if err := p.Start(); err != nil {
		p.Why = err.Error()
	}
	return p
}

// other makes another user of what runs, and gives it the folder.
func (p *Server) other() error {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			p.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
			return os.Chown(p.dir, uid, gid)
		}
	}
	return fmt.Errorf("as root it needs a user postgres or nobody")
}

// Start starts the server and waits until it answers.
func (p *Server) Start() error {
	var last error
	for range 50 { // after a kill -9, memory of the old one may still be in use
		var log bytes.Buffer
		p.cmd = exec.Command(filepath.Join(p.bin, "postgres"), "-D", filepath.Join(p.dir, "data"), "-k", p.dir, "-c", "listen_addresses=", "-c", "max_connections=60", "-c", "shared_buffers=16MB", "-c", "dynamic_shared_memory_type=mmap")
		p.cmd.SysProcAttr, p.cmd.Dir, p.cmd.Stderr, p.cmd.Stdout = p.as, p.dir, &log, &log
		if err := p.cmd.Start(); err != nil {
			return err
		}
		gone := make(chan error, 1)
		go func() { gone <- p.cmd.Wait() }()
		for range 100 {
			db, err := sql.Open("pgx", p.DSN(""))
			if err != nil {
				return err
			}
			last = db.Ping()
			_ = db.Close()
			if last == nil {
				return nil
			}
			select {
			case last = <-gone:
				last = fmt.Errorf("postgres: %w: %s", last, log.String())
			case <-time.After(50 * time.Millisecond):
				continue
			}
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return last
}

// Kill ends the server by a signal; its postmaster goes at once, the rest as they notice.
func (p *Server) Kill(sig syscall.Signal) {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	for range 200 {
		if p.cmd.Process.Signal(syscall.Signal(0)) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// DSN is how to reach it, with a schema as the search path; "" = the usual one.
func (p *Server) DSN(schema string) string {
	q := url.Values{"host": {p.dir}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	return "postgres://escala@/postgres?" + q.Encode()
}

// Schema makes an empty schema and returns the DSN that has it as search path.
func (p *Server) Schema(t testing.TB) string {
	t.Helper()
	db, err := sql.Open("pgx", p.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	name := fmt.Sprintf("t%d", p.schemas.Add(1))
	if _, err := db.ExecContext(context.Background(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	return p.DSN(name)
}

// Remove ends the server and takes away its files.
func (p *Server) Remove() error {
	p.Kill(syscall.SIGINT)
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}
