package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	tokensName = "tokens.json"
	lockName   = "tokens.lock"
	firstName  = "token"
	// maxTokenFile and maxTokens bound what is read and made.
	maxTokenFile = 16 << 20
	maxTokens    = 10_000
)

// record is a token in the file.
type record struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	SHA256   digest    `json:"sha256"`
	User     string    `json:"user"`
	Grant    *Grant    `json:"grant,omitempty"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`
	LastUsed time.Time `json:"last_used,omitzero"`
}

type tokenFile struct {
	Version int      `json:"version"`
	Tokens  []record `json:"tokens"`
}

// MarshalText is hexadecimal.
func (d digest) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", d[:]), nil }

// UnmarshalText takes it.
func (d *digest) UnmarshalText(b []byte) error {
	var out []byte
	if n, err := fmt.Sscanf(string(b), "%x", &out); err != nil || n != 1 || len(out) != len(d) || len(b) != 2*len(d) {
		return errors.New("a digest is not 64 hexadecimal digits")
	}
	copy(d[:], out)
	return nil
}

// checkOwn refuses a file that somebody else could read or could have written.
func checkOwn(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	if p := info.Mode().Perm(); p&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o, so that others can get at it: chmod 600 %s, and make new tokens if somebody may have read it", path, p, path)
	}
	if uid, ok := ownerOf(info); ok && uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d, not to the user that runs this (uid %d)", path, uid, os.Geteuid())
	}
	return nil
}

// checkDir refuses a state directory in which others could replace files.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if p := info.Mode().Perm(); p&0o022 != 0 {
		return fmt.Errorf("%s has mode %04o, so that others can replace the files in it: chmod 700 %s", dir, p, dir)
	}
	return nil
}

// readTokens reads the file; one that is not there is empty.
func readTokens(path string) ([]record, fs.FileInfo, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if err := checkOwn(path, info); err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxTokenFile {
		return nil, nil, fmt.Errorf("%s is larger than %d bytes", path, maxTokenFile)
	}
	var t tokenFile
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if t.Version != 1 {
		return nil, nil, fmt.Errorf("%s has version %d; this program reads version 1", path, t.Version)
	}
	for i := range t.Tokens {
		r := &t.Tokens[i]
		if err := r.check(); err != nil {
			return nil, nil, fmt.Errorf("%s: token %q: %w", path, r.Name, err)
		}
	}
	return t.Tokens, info, nil
}

func (r *record) check() error {
	if r.ID == "" || r.Name == "" || r.SHA256 == (digest{}) {
		return errors.New("want id, name and sha256")
	}
	if err := CheckUser(r.User); err != nil {
		return err
	}
	if r.Grant != nil {
		return r.Grant.check()
	}
	return nil
}

// writeTokens replaces the file, on disk when it returns.
func writeTokens(path string, list []record) error {
	body, err := json.MarshalIndent(tokenFile{Version: 1, Tokens: list}, "", " ")
	if err != nil {
		return err
	}
	return writeOwn(path, append(body, '\n'))
}

// writeOwn writes a file that nobody else can read, whole or not at all.
func writeOwn(path string, body []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".tokens-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error tells
		return err
	}
	return syncDir(dir)
}
