package cli

import (
	"bufio"
	"os"
	"strings"

	"golang.org/x/term"
)

// asks tells whether somebody is there to be asked.
func (s *State) asks() bool {
	f, ok := s.Stdin.(*os.File)
	return ok && s.Stderr.TTY && term.IsTerminal(int(f.Fd()))
}

// confirm asks whether to go on; where nobody is there to be asked the command line must have said so.
func (s *State) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !s.asks() {
		return badUsage("the same with --yes", "nobody is here to be asked: %s", question)
	}
	s.say("%s [y/N] ", question)
	answer, _ := bufio.NewReader(s.Stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return badUsage("", "nothing was changed")
}
