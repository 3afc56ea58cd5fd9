package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/escala-sched/escala/internal/api"
	"github.com/escala-sched/escala/internal/yamlx"
)

// directive begins the lines of a script that hold options.
const directive = "#ESCALA"

// maxScript is the longest script that the daemon takes.
const maxScript = 1_000_000

// what fills in what runs: the command after --, or a script with options of its own.
func (f *jobFlags) what(s *State, args []string, dashed bool, r *api.Run) (name string, err error) {
	if dashed {
		if len(args) == 0 {
			return "", badUsage("escala submit --gpus 1 -- python train.py", "there is no command after --")
		}
		r.Command = args
		return commandName(args), nil
	}
	if len(args) != 1 {
		return "", badUsage("escala submit --gpus 1 -- "+quoteArgs(args), "a command goes after --; before it there is one script at most, and its arguments go into --env")
	}
	script, err := s.script(args[0])
	if err != nil {
		return "", err
	}
	r.Script = string(script)
	return scriptName(args[0]), nil
}

// script reads a script; "-" is standard input.
func (s *State) script(path string) ([]byte, error) {
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(s.Stdin, maxScript+1))
	} else {
		data, err = s.ReadFile(path)
	}
	switch {
	case err != nil:
		return nil, badInput(noFile(err), "escala submit --gpus 1 -- "+quoteArgs([]string{path})+", if that is a command")
	case len(data) > maxScript:
		return nil, badUsage("escala submit --gpus 1 -- "+quoteArgs([]string{path}), "%s is larger than the %d bytes that a script may have", path, maxScript)
	case !bytes.HasPrefix(data, []byte("#!")):
		return nil, badUsage("a first line of #!/bin/sh, or escala submit --gpus 1 -- "+quoteArgs([]string{path}), "%s is no script: its first line does not begin with #!", path)
	}
	return data, nil
}

// directives takes the options in the head of a script. What the command line says goes before
// them; keys and values of both are taken.
func (f *jobFlags) directives(path string, script []byte) error {
	given := map[string]bool{}
	f.set.VisitAll(func(x *pflag.Flag) { given[x.Name] = x.Changed })
	for n, text := range strings.Split(string(script), "\n") {
		line := strings.TrimSpace(text)
		if line != "" && !strings.HasPrefix(line, "#") {
			return nil // the head ends with the first command
		}
		rest, ok := strings.CutPrefix(line, directive)
		if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		if err := f.line(rest, given); err != nil {
			return badUsage("escala submit --help lists what can stand there", "%s:%d: %s", path, n+1, err)
		}
	}
	return nil
}

// line takes the options of one line.
func (f *jobFlags) line(text string, given map[string]bool) error {
	args, err := splitWords(text)
	if err != nil {
		return err
	}
	in := pflag.NewFlagSet("line", pflag.ContinueOnError)
	in.Usage = func() {}
	in.SetOutput(io.Discard)
	f.set.VisitAll(in.AddFlag)
	err = in.ParseAll(args, func(x *pflag.Flag, value string) error {
		if list, ok := x.Value.(pflag.SliceValue); ok && given[x.Name] && (x.Name == "label" || x.Name == "env") {
			return list.Replace(append([]string{value}, list.GetSlice()...))
		}
		if given[x.Name] {
			return nil
		}
		return f.set.Set(x.Name, value)
	})
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return errors.New("--help can not stand in " + directive)
	case err != nil:
		return directiveError(in, err)
	case in.NArg() > 0:
		return fmt.Errorf("%s holds options alone, but has %q", directive, in.Arg(0))
	}
	return nil
}

// directiveError says which option of a line cannot be, and what would be right.
func directiveError(in *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if len(name) == 1 {
			return fmt.Errorf("%s has no option -%s", directive, name)
		}
		var known []string
		in.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := yamlx.Nearest(name, known); near != "" {
			return fmt.Errorf("%s has no option --%s; did you mean --%s?", directive, name, near)
		}
		return fmt.Errorf("%s has no option --%s", directive, name)
	}
	if text, ok := invalidValue(err); ok {
		return fmt.Errorf("%s %s", directive, text)
	}
	return fmt.Errorf("%s: %w", directive, err)
}

func scriptName(path string) string {
	if path == "-" {
		return "script"
	}
	return filepath.Base(path)
}

// interpreters say little of what runs: what they are given says more.
var interpreters = []string{"python", "python3", "bash", "sh", "zsh", "torchrun", "accelerate", "deepspeed", "uv", "run", "exec", "env", "nice", "time", "launch", "srun", "perl", "ruby", "node"}

// commandName is what a command is called where its owner does not say.
func commandName(args []string) string {
	name := filepath.Base(args[0])
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			break
		}
		name = filepath.Base(a)
		plain := true
		for _, i := range interpreters {
			plain = plain && name != i
		}
		if plain {
			break
		}
	}
	if r := []rune(name); len(r) > 60 {
		return string(r[:60])
	}
	return name
}
