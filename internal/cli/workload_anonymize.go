package cli

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/escala-sched/escala/trace"
)

// keyVariable is the environment variable that may hold the key.
const keyVariable = "ESCALA_ANON_KEY"

// leastKey is the shortest key that is taken: one that nobody finds by trying.
const leastKey = 16

func workloadAnonymizeCommand(s *State) *cobra.Command {
	var read readFlags
	var write writeFlags
	var keyFile string
	var keepTimes bool
	c := &cobra.Command{
		Use:   "anonymize IN OUT",
		Short: "Replace all names by codes, so that a workload can be given away",
		Long: `Replaces users, teams, partitions, job IDs, node names and labels by codes made
with HMAC-SHA256 under a secret key: the same name gets the same code under the same
key, and without the key no code can be tied to a name. Times are moved so that the
first submission is 0, unless --keep-times is given.

Sizes, durations, priorities and outcomes stay; they are what a workload is for.
A rare shape can still betray its owner to somebody who knows it.

The key comes from --key-file or from the environment variable ` + keyVariable + `, never from
the command line, where others could read it.`,
		Example: `  head -c 32 /dev/urandom > key
  escala workload anonymize sacct.txt jobs.jsonl --key-file key
  ` + keyVariable + `="$SECRET" escala workload anonymize jobs.csv shared.csv`,
		Args: argCount(2, 2, "the file to read and the file to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			batch(s)
			format, err := write.target(args[1])
			if err != nil {
				return err
			}
			key, err := s.anonymKey(keyFile)
			if err != nil {
				return err
			}
			w, err := s.readWorkload(args[0], &read)
			if err != nil {
				return err
			}
			return s.writeWorkload(args[1], format, trace.Anonymize(w, key, !keepTimes))
		},
	}
	c.Flags().StringVar(&keyFile, "key-file", "", "`file` that holds the secret key (default: the environment variable "+keyVariable+")")
	c.Flags().BoolVar(&keepTimes, "keep-times", false, "keep points in time and the calendar")
	read.add(c)
	read.addServices(c)
	write.add(c)
	return c
}

// anonymKey returns the secret key. White space around it does not count.
func (s *State) anonymKey(path string) ([]byte, error) {
	key := []byte(s.Getenv(keyVariable))
	from := keyVariable
	if path != "" {
		data, err := s.ReadFile(path)
		if err != nil {
			return nil, badInput(noFile(err), "head -c 32 /dev/urandom > key, and --key-file key")
		}
		key, from = data, path
	}
	key = bytes.TrimSpace(key)
	switch {
	case len(key) == 0 && path == "":
		return nil, badUsage("head -c 32 /dev/urandom > key, and --key-file key", "no key: neither --key-file nor the environment variable %s is given", keyVariable)
	case len(key) < leastKey:
		return nil, badUsage("head -c 32 /dev/urandom > key, and --key-file key", "the key in %s has %s; want at least %d", from, plural(len(key), "byte"), leastKey)
	}
	return key, nil
}
