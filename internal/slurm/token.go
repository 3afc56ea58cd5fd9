package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// TokenFile is a [REST.Token] that reads a file which somebody else keeps fresh, as "scontrol token > file" does. It is
// read anew each time; one that everybody may read is refused.
func TokenFile(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		about, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if about.Mode().Perm()&0o004 != 0 {
			return "", fmt.Errorf("%s: everybody may read it (chmod o-r)", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		token := strings.TrimPrefix(strings.TrimSpace(string(data)), "SLURM_JWT=")
		if token == "" || strings.ContainsAny(token, " \r\n\t") {
			return "", errors.New(path + " has no token")
		}
		return token, nil
	}
}
