package slurmtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// freePorts finds ports that nobody listens on. They are below those that outgoing connections get: such a
// one could take a port while its daemon is being started again.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var out []int
	for try := 0; len(out) < n; try++ {
		if try > 100*n {
			t.Fatal("no free ports were found")
		}
		port := 10_000 + rand.IntN(22_000) //nolint:gosec // not a secret
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }()
		out = append(out, port)
	}
	return out
}
