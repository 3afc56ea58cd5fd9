package webhook

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/escala-sched/escala/internal/auth"
	"github.com/escala-sched/escala/internal/yamlx"
)

// Hook is one receiver.
type Hook struct {
	// Name is its name in logs, metrics and the store.
	Name string
	URL  *url.URL
	// Secret signs what is sent.
	Secret auth.Secret
	// Types are the events that it wants, without "dev.escala.job."; Teams those whose jobs it wants
	// to hear of. Empty = all.
	Types, Teams []string
}

// Types of events.
const (
	Started   = "started"
	Preempted = "preempted"
	Finished  = "finished"
)

var types = []string{Started, Preempted, Finished}

// file is how hooks are written.
type file struct {
	Webhooks []entry `yaml:"webhooks"`
}

type entry struct {
	Name       string   `yaml:"name"`
	URL        string   `yaml:"url"`
	Secret     string   `yaml:"secret"`
	SecretFile string   `yaml:"secretFile"`
	Types      []string `yaml:"types"`
	Teams      []string `yaml:"teams"`
}

// leastSecret is the shortest secret that is taken, in bytes.
const leastSecret = 16

var nameRule = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Load reads a file of hooks.
func Load(path string) ([]Hook, error) { return yamlx.Load("webhooks", path, Parse) }

// Parse reads the text of such a file. Files of secrets are relative to its folder.
func Parse(name string, data []byte) ([]Hook, error) {
	var f file
	root, err := yamlx.Decode(name, data, &f)
	if err != nil {
		return nil, err
	}
	var out []Hook
	for i := range f.Webhooks {
		n := root.At("webhooks", i)
		h, err := f.Webhooks[i].hook(filepath.Dir(name))
		if err != nil {
			return nil, n.Errorf("name, url, secretFile; perhaps types and teams", "%s", err)
		}
		if slices.ContainsFunc(out, func(o Hook) bool { return o.Name == h.Name }) {
			return nil, n.Errorf("another name", "two webhooks are called %s", h.Name)
		}
		out = append(out, *h)
	}
	return out, nil
}

func (e *entry) hook(dir string) (*Hook, error) {
	if !nameRule.MatchString(e.Name) {
		return nil, fmt.Errorf("name %q: want small letters, digits and dashes", e.Name)
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil: // the error would show the URL, which may hold a secret
		return nil, fmt.Errorf("the url of %s cannot be read", e.Name)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the url of %s: want an http or https URL with a host", e.Name)
	case u.User != nil:
		return nil, fmt.Errorf("the url of %s holds a user or password, which logs of others may show", e.Name)
	}
	for _, t := range e.Types {
		if !slices.Contains(types, t) {
			return nil, fmt.Errorf("types of %s: %s", e.Name, yamlx.Choice(t, types))
		}
	}
	h := &Hook{Name: e.Name, URL: u, Types: e.Types, Teams: e.Teams}
	h.Secret, err = e.secret(dir)
	return h, err
}

func (e *entry) secret(dir string) (auth.Secret, error) {
	text := []byte(e.Secret)
	switch {
	case (e.Secret == "") == (e.SecretFile == ""):
		return auth.Secret{}, fmt.Errorf("%s: want either secretFile or secret", e.Name)
	case e.SecretFile != "":
		path := e.SecretFile
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return auth.Secret{}, fmt.Errorf("the secret of %s: %w", e.Name, err)
		}
		text = bytes.TrimSpace(data)
	}
	if len(text) < leastSecret {
		return auth.Secret{}, fmt.Errorf("the secret of %s has %d bytes; want at least %d", e.Name, len(text), leastSecret)
	}
	return auth.NewSecret(string(text)), nil
}
