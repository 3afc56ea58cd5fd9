//go:build unix

package auth

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// socketDir is a directory that other users can get at, with a short name.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "esc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve serves an Auth at a socket.
func (f *fixture) serve(path, group string) {
	f.t.Helper()
	l, err := ListenSocket(path, group)
	if err != nil {
		f.t.Fatal(err)
	}
	srv := &http.Server{Handler: f.Middleware(f.who()), ConnContext: ConnContext, ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	f.t.Cleanup(func() { _ = srv.Close(); <-done })
}

func overSocket(t *testing.T, path string, r *http.Request) (int, string) {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

func TestSocketOfOneself(t *testing.T) {
	f := newFixture(t, nil)
	path := filepath.Join(socketDir(t), "s")
	f.serve(path, "")
	if info, _ := os.Lstat(path); info.Mode().Perm() != 0o600 || info.Mode()&os.ModeSocket == 0 {
		t.Error(info.Mode())
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequest(http.MethodPost, "http://whatever/", nil)
	r.Header.Set("Origin", "http://whatever")
	if code, body := overSocket(t, path, r); code != 200 || !strings.HasPrefix(body, me.Username+" via socket, operator") {
		t.Errorf("%d %s", code, body)
	}
	// A token says to be somebody else, and then counts alone.
	s := f.token(NewToken{Name: "ci", User: "cat"})
	r.Header.Set("Authorization", "Bearer "+s.Reveal())
	if code, body := overSocket(t, path, r); code != 200 || body != "cat via token ci, user" {
		t.Errorf("%d %s", code, body)
	}
	r.Header.Set("Authorization", "Bearer esc_0")
	if code, _ := overSocket(t, path, r); code != 401 {
		t.Errorf("a wrong token fell back on the socket: %d", code)
	}
	r.Header.Del("Authorization")
	r.Header.Set("X-Forwarded-For", "1.2.3.4")
	if code, body := overSocket(t, path, r); code != 403 || !strings.Contains(body, "proxy") {
		t.Errorf("a proxy is an operator: %d %s", code, body)
	}
	if _, err := ListenSocket(path, ""); err == nil || !strings.Contains(err.Error(), "listens at") {
		t.Errorf("two daemons at a socket: %v", err)
	}
}

// Real credentials of another user, who gets in by the group.
func TestSocketOfAnother(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("needs root")
	}
	f := newFixture(t, func(c *Config) {
		c.Roles.Rules = []RoleRule{{Role: Manager, Path: "vision", Groups: []string{"mail"}}}
	})
	dir := socketDir(t)
	path := filepath.Join(dir, "s")
	f.serve(path, "60000")
	exe := filepath.Join(dir, "client")
	body, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(exe, body, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	as := func(cred syscall.Credential) string {
		cmd := exec.Command(exe)
		cmd.Env, cmd.Dir = []string{"ESCALA_TEST_SOCKET=" + path}, dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &cred}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	name := "uid:1"
	if u, err := user.LookupId("1"); err == nil {
		name = u.Username
	}
	if got := as(syscall.Credential{Uid: 1, Gid: 1, Groups: []uint32{60000}}); got != name+" via socket, user" {
		t.Error(got)
	}
	if got := as(syscall.Credential{Uid: 54321, Gid: 60000}); got != "uid:54321 via socket, user" {
		t.Error(got)
	}
	if got := as(syscall.Credential{Uid: 54321, Gid: 54321}); !strings.Contains(got, "permission denied") {
		t.Errorf("who is not in the group got in: %s", got)
	}
	if g, err := user.LookupGroup("mail"); err == nil && g.Gid == "8" {
		if got := as(syscall.Credential{Uid: 54321, Gid: 60000, Groups: []uint32{5, 8}}); !strings.Contains(got, "manager of vision") {
			t.Errorf("supplementary groups: %s", got)
		}
		many := make([]uint32, 300) // more than are asked for at first
		for i := range many {
			many[i] = uint32(70000 + i)
		}
		many[299] = 8
		if got := as(syscall.Credential{Uid: 54321, Gid: 60000, Groups: many}); !strings.Contains(got, "manager of vision") {
			t.Errorf("many groups: %s", got)
		}
	}
}

func TestListenSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := ListenSocket(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if l.Addr().String() != path {
		t.Error(l.Addr())
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
	// What a daemon that died left behind is replaced; what is no socket is not.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if l, err = ListenSocket(path, ""); err != nil {
		t.Fatal(err)
	}
	// One that was replaced in the meantime is not removed.
	os.Remove(path)
	os.WriteFile(path, nil, 0o600)
	l.Close()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if _, err := ListenSocket(path, ""); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Error(err)
	}
	if _, err := ListenSocket(filepath.Join(dir, "t"), "no such group"); err == nil {
		t.Error("no such group")
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("left behind: %v", list)
	}
}

func TestConnContextOfTCP(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, ok := peerOf(ConnContext(context.Background(), a)); ok {
		t.Error("a peer of what is no socket")
	}
}

func TestPeople(t *testing.T) {
	dir := t.TempDir()
	getent := filepath.Join(dir, "getent")
	script := "#!/bin/sh\necho x >> " + dir + "/calls\ncase \"$1 $2\" in\n'passwd 7001') echo 'dir-ann:x:7001:7001::/:';;\n'passwd 7002') echo 'a b:x:7002::';;\n'passwd 7003') echo 'root:x:0::';;\n'passwd 7004') echo 'uid:0:x:7004';;\n'group 7001') echo 'lab:x:7001:';;\n*) exit 2;;\nesac\n"
	if err := os.WriteFile(getent, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	clock := newClock()
	p := newPeople(clock.now)
	p.getent = getent
	calls := func() int {
		b, _ := os.ReadFile(dir + "/calls")
		return strings.Count(string(b), "x")
	}
	name, groups := p.look(t.Context(), &peer{uid: 7001, gid: 7001, groups: []int{7001, 0, 99999}})
	if name != "dir-ann" || !slices.Equal(groups, []string{"lab", "root"}) {
		t.Error(name, groups)
	}
	n := calls()
	p.look(t.Context(), &peer{uid: 7001, gid: 7001})
	if calls() != n {
		t.Error("asked again at once")
	}
	clock.add(peopleFor)
	p.look(t.Context(), &peer{uid: 7001, gid: 7001})
	if calls() != n+2 {
		t.Error("not asked again later")
	}
	for _, uid := range []int{7002, 7003, 7004, 7005} {
		if name, _ := p.look(t.Context(), &peer{uid: uid, gid: 7001}); name != uidPrefix+strconv.Itoa(uid) {
			t.Errorf("%d is %q", uid, name)
		}
	}
}
