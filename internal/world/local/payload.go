package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// ResumeExit is the exit code by which a job asks to be resumed later, unless its payload
// names another: EX_TEMPFAIL.
const ResumeExit = 75

// Payload is what a job runs, as its submitter gave it. Its JSON is what Options.Payload returns.
type Payload struct {
	// Argv is the command and its arguments, or Script the text of a script; one of them.
	Argv   []string `json:"argv,omitempty"`
	Script string   `json:"script,omitempty"`
	// Dir is the working directory, absolute; empty = the user's home.
	Dir string `json:"dir,omitempty"`
	// Env is added to a small environment. What begins with ESCALA_ and the choice of GPUs is not
	// the job's to set.
	Env map[string]string `json:"env,omitempty"`
	// Umask in octal digits, such as "027"; empty = "022".
	Umask string `json:"umask,omitempty"`
	// Stdout and Stderr name files of the user that output is appended to, instead of the log. %j is
	// the job's name, %n its number, %a the attempt, %u the user, %% a percent sign. Relative names
	// are below Dir. Stderr goes where Stdout goes unless it is named.
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	// Signal asks the job to stop: a name such as "TERM" or "SIGUSR1", or a number; empty = SIGTERM.
	Signal string `json:"signal,omitempty"`
	// ResumeExit is the exit code that asks to be resumed; nil = 75, -1 = none does.
	ResumeExit *int `json:"resume_exit,omitempty"`
	// Checkpoint is where the job keeps its state, absolute; empty = a directory of its own.
	Checkpoint string `json:"checkpoint,omitempty"`
	// UID and GID are the submitter's. A daemon that is root requires them.
	UID *uint32 `json:"uid,omitempty"`
	GID *uint32 `json:"gid,omitempty"`
}

// ParsePayload reads a payload strictly. An error is the job's own fault.
func ParsePayload(data []byte) (*Payload, error) {
	var p Payload
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("payload: more than one JSON value")
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	return &p, nil
}

// Check returns the first thing that makes the payload unusable.
func (p *Payload) Check() error {
	if (len(p.Argv) > 0) == (p.Script != "") {
		return errors.New("want either argv or script")
	}
	if len(p.Argv) > 0 && p.Argv[0] == "" {
		return errors.New("the command is empty")
	}
	for _, a := range p.Argv {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("argument %q has a zero byte", a)
		}
	}
	for k, v := range p.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.ContainsRune(v, 0) {
			return fmt.Errorf("environment: %q is no name, or its value has a zero byte", k)
		}
	}
	for _, path := range []string{p.Dir, p.Checkpoint} {
		if path != "" && !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
			return fmt.Errorf("%q: want an absolute path", path)
		}
	}
	if _, err := p.umask(); err != nil {
		return err
	}
	if _, err := ParseSignal(p.Signal); err != nil {
		return err
	}
	if c := p.ResumeExit; c != nil && (*c < -1 || *c == 0 || *c > 255) {
		return fmt.Errorf("resume_exit %d: want 1..255, or -1 for none", *c)
	}
	return nil
}

func (p *Payload) umask() (int, error) {
	if p.Umask == "" {
		return 0o022, nil
	}
	m, err := strconv.ParseUint(p.Umask, 8, 12)
	if err != nil || m > 0o777 {
		return 0, fmt.Errorf("umask %q: want octal digits such as 027", p.Umask)
	}
	return int(m), nil
}

// signals are those that may ask a job to stop, by their numbers on Linux.
var signals = map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "USR1": 10, "USR2": 12, "ALRM": 14, "TERM": 15, "CONT": 18, "WINCH": 28}

// ParseSignal reads the signal that asks a job to stop: a name with or without SIG, or a
// number 1..64. Empty is SIGTERM.
func ParseSignal(s string) (int, error) {
	if s == "" {
		return signals["TERM"], nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= 64 {
		return n, nil
	}
	if n, ok := signals[strings.TrimPrefix(strings.ToUpper(s), "SIG")]; ok {
		return n, nil
	}
	return 0, fmt.Errorf("signal %q: want a name such as TERM, INT, USR1 or USR2, or a number 1..64", s)
}

// expand fills in a pattern for a file name.
func expand(pattern, id, user string, job, attempt int32) string {
	if pattern == "" {
		return ""
	}
	return strings.NewReplacer("%%", "%", "%j", strings.ReplaceAll(id, "/", "_"), "%u", user,
		"%n", strconv.Itoa(int(job)), "%a", strconv.Itoa(int(attempt))).Replace(pattern)
}
