package slurm

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Signal is what a job asks for by --signal: by which signal it wants to be told that its end is near, and how long before.
type Signal struct {
	// Name without SIG, or a number; "" = it asked for none.
	Name string
	// Batch: only the shell that runs its script gets it; else all its steps do, and that shell does not.
	Batch bool
	// Before its end.
	Before time.Duration
}

// signalNames that Slurm knows.
var signalNames = []string{"HUP", "INT", "QUIT", "ABRT", "KILL", "ALRM", "TERM", "USR1", "USR2", "URG", "CONT", "STOP", "TSTP", "TTIN", "TTOU"}

// Bounds of what sbatch takes, and what it fills in.
const (
	mostSignal   = 64
	mostSeconds  = 65535
	signalBefore = 60 * time.Second
)

// ParseSignal reads "[B:]SIGNAL[@SECONDS]" as sbatch does. R, which is about reservations, says nothing here.
func ParseSignal(text string) (s Signal, err error) {
	const want = "want [B:]SIGNAL[@SECONDS], such as B:USR1@90"
	name, at, timed := strings.Cut(text, "@")
	if how, rest, ok := strings.Cut(name, ":"); ok {
		if how == "" || strings.Trim(how, "BRbr") != "" {
			return Signal{}, fmt.Errorf("%q is no signal; %s", text, want)
		}
		s.Batch, name = strings.ContainsAny(how, "Bb"), rest
	}
	s.Name, s.Before = strings.TrimPrefix(strings.ToUpper(name), "SIG"), signalBefore
	if n, err := strconv.ParseUint(name, 10, 8); err == nil {
		if n < 1 || n > mostSignal {
			return Signal{}, fmt.Errorf("%q is no signal; want 1 to %d, or a name", text, mostSignal)
		}
		s.Name = strconv.FormatUint(n, 10)
	} else if !slices.Contains(signalNames, s.Name) {
		return Signal{}, fmt.Errorf("%q is no signal; %s; there are %s", text, want, strings.Join(signalNames, ", "))
	}
	if timed {
		n, err := strconv.ParseUint(at, 10, 16)
		if err != nil {
			return Signal{}, fmt.Errorf("%q is no signal; %s, at most %d of them", text, want, mostSeconds)
		}
		s.Before = time.Duration(n) * time.Second
	}
	return s, nil
}

// signalOfScript is what the head of a script asks for: the last of its lines #SBATCH that does.
func signalOfScript(script string) (s Signal) {
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			break // from here on sbatch reads no more
		}
		rest, ok := strings.CutPrefix(line, "#SBATCH")
		if !ok {
			continue
		}
		if found := signalOfWords(strings.Fields(rest)); found.Name != "" {
			s = found
		}
	}
	return s
}

// signalOfLine is what a command line asks for. What stands behind the script is the script's own.
func signalOfLine(line, script string) Signal {
	words := strings.Fields(line)
	for i, w := range words {
		if i > 0 && script != "" && w[0] != '-' && path.Base(w) == path.Base(script) {
			words = words[:i]
			break
		}
	}
	return signalOfWords(words)
}

// signalOfWords finds the last option --signal that can be read. Long options may be cut short.
func signalOfWords(words []string) (s Signal) {
	for i, w := range words {
		if strings.HasPrefix(w, "#") {
			break
		}
		key, value, ok := strings.Cut(w, "=")
		if len(key) < len("--sig") || !strings.HasPrefix("--signal", key) {
			continue
		}
		if !ok && i+1 < len(words) {
			value = words[i+1]
		}
		if found, err := ParseSignal(strings.Trim(value, `"'`)); err == nil {
			s = found
		}
	}
	return s
}
