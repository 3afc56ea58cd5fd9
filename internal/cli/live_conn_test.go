package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/escala-sched/escala/internal/client"
)

// TestHintsOfWhatIsDenied holds that whoever is not let in is told what they could do.
func TestHintsOfWhatIsDenied(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "escala.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	problem := func(status int, detail string) error { return &client.Problem{Status: status, Detail: detail} }
	for name, c := range map[string]struct {
		err        error
		text, hint string
	}{
		"socket": {&client.Unreachable{Where: socket, Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", fs.ErrPermission)}},
			"the socket " + socket + " is not open to you: permission denied", "--token-file"},
		"no socket": {&client.Unreachable{Where: socket, Err: fs.ErrNotExist}, "no scheduler answers at", "escala serve"},
		"no token":  {problem(401, "a token is needed"), "a token is needed", "--token-file"},
		"role":      {problem(403, "ana may not drain nodes: that takes an operator"), "that takes an operator", "escala status says who you are"},
		"team":      {problem(403, "ana may not submit for team x: that takes a team"), "may not submit", "--team"},
		"array":     {problem(404, "job 12 is an array of 100: name an element, such as 12_3"), "name an element", "escala status 12 lists"},
		"element":   {problem(404, "there is no job 12_7: array 12 has 3 elements, 12_0 to 12_2"), "array 12", "escala status 12 lists"},
		"job":       {problem(404, "there is no job 9"), "no job 9", "escala queue"},
	} {
		got := judged(c.err)
		hint := ""
		var bad *inputError
		var other *hinted
		if errors.As(got, &bad) {
			hint = bad.hint
		} else if errors.As(got, &other) {
			hint = other.hint
		}
		if !strings.Contains(got.Error(), c.text) || !strings.Contains(hint, c.hint) {
			t.Errorf("%s: %v; try %q", name, got, hint)
		}
	}
	s := &State{ReadFile: func(path string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}, Getenv: func(string) string { return "" }}
	_, err = (&liveFlags{tokenFile: "/etc/escala/t"}).token(s, false, false)
	var bad *inputError
	if fmt.Sprint(err) != "the token file /etc/escala/t: permission denied" || !errors.As(err, &bad) || !strings.Contains(bad.hint, "escala token create") {
		t.Errorf("%v", err)
	}
}

// TestProblemsSpeakOfOptions holds that whoever gave options is not told of fields.
func TestProblemsSpeakOfOptions(t *testing.T) {
	for _, c := range []struct{ location, message, want string }{
		{"body.need.gpus", "expected number <= 1e+06", "--gpus: expected number <= 1000000"},
		{"body.need.gpu_types[3]", "expected length <= 9", "--gpu-type: expected length <= 9"},
		{"body.run.resume_exit", "expected number <= 255", "--resume-exit: expected number <= 255"},
		{"body.estimate_seconds", "expected number <= 315360000", "--estimate: expected number <= 315360000"},
		{"body.name", "expected length <= 200", "--name: expected length <= 200"},
		{"body.after", "there is no job 99", "--after: there is no job 99"},
		{"body.need", "a gang of no GPUs", "a gang of no GPUs"},
		{"query.limit", "too many", "validation failed; query.limit: too many"},
	} {
		p := &client.Problem{Status: 422, Detail: "validation failed"}
		if err := json.Unmarshal([]byte(fmt.Sprintf(`[{"location":%q,"message":%q}]`, c.location, c.message)), &p.Errors); err != nil {
			t.Fatal(err)
		}
		if got := inFlags(p).Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestNamesOfVariables(t *testing.T) {
	w := newWorld(t)
	for text, ok := range map[string]bool{"A=1": true, "_x9=": true, "PATH": true, "1A=2": false, "a-b=2": false, "a b=2": false, "ä=1": false, "=2": false} {
		f := newJobFlags()
		f.env = []string{text}
		if _, err := f.run(w.State, true); (err == nil) != ok {
			t.Errorf("--env %q: %v", text, err)
		}
	}
}
