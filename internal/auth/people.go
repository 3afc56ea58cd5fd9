package auth

import (
	"bytes"
	"context"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// peopleFor is how long names are believed, strangersFor that there is none.
	peopleFor    = 5 * time.Minute
	strangersFor = 30 * time.Second
	// peopleMost bounds memory.
	peopleMost = 10_000
	// uidPrefix begins the name of a user whom nobody knows by name. No issuer may use it.
	uidPrefix = "uid:"
)

// people knows the login names of uids and the names of gids.
type people struct {
	now    func() time.Time
	getent string
	mu     sync.Mutex
	by     map[person]known
}

type person struct {
	group bool
	id    int
}

type known struct {
	name  string
	until time.Time
}

func newPeople(now func() time.Time) *people {
	return &people{now: now, getent: "/usr/bin/getent", by: map[person]known{}}
}

// look names a peer and its groups; a uid without a name that could be used is called uid:N.
func (p *people) look(ctx context.Context, who *peer) (name string, groups []string) {
	if name = p.name(ctx, person{false, who.uid}); name == "" {
		name = uidPrefix + strconv.Itoa(who.uid)
	}
	seen := map[int]bool{}
	for _, g := range append([]int{who.gid}, who.groups...) {
		if !seen[g] {
			seen[g] = true
			if n := p.name(ctx, person{true, g}); n != "" {
				groups = append(groups, n)
			}
		}
	}
	return name, groups
}

func (p *people) name(ctx context.Context, key person) string {
	p.mu.Lock()
	k, ok := p.by[key]
	p.mu.Unlock()
	now := p.now()
	if ok && now.Before(k.until) {
		return k.name
	}
	n := known{p.ask(ctx, key), now.Add(peopleFor)}
	if n.name == "" {
		n.until = now.Add(strangersFor)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.by) >= peopleMost {
		clear(p.by)
	}
	p.by[key] = n
	return n.name
}

// ask looks in the files, then asks getent, as directories (LDAP, SSSD) are only reached through
// the C library, which this program does without.
func (p *people) ask(ctx context.Context, key person) string {
	id, database := strconv.Itoa(key.id), "passwd"
	name := ""
	if key.group {
		database = "group"
		if g, err := user.LookupGroupId(id); err == nil {
			name = g.Name
		}
	} else if u, err := user.LookupId(id); err == nil {
		name = u.Username
	}
	if name == "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, p.getent, database, id).Output()
		if err == nil {
			name = entry(out, id)
		}
	}
	if CheckUser(name) != nil || strings.HasPrefix(name, uidPrefix) {
		return ""
	}
	return name
}

// entry takes the name out of a line name:password:id:...
func entry(line []byte, id string) string {
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if f := strings.Split(string(line), ":"); len(f) > 2 && f[2] == id {
		return f[0]
	}
	return ""
}
