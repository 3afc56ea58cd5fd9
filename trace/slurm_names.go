package trace

import (
	"crypto/hmac"
	"crypto/sha256"
)

// Names gives the codes that [Anonymize] gives under a key, for what belongs to a workload and is
// kept beside it: a cluster, budgets.
type Names struct{ c coder }

// NewNames returns the codes under a key.
func NewNames(key []byte) *Names {
	return &Names{coder{mac: hmac.New(sha256.New, key), known: map[[2]string]string{}}}
}

// User is the code of a user.
func (n *Names) User(name string) string { return n.c.code("user", name) }

// Team is the code of a team or account.
func (n *Names) Team(name string) string { return n.c.code("team", name) }

// Partition is the code of a partition.
func (n *Names) Partition(name string) string { return n.c.code("partition", name) }

// Node is the code of a node.
func (n *Names) Node(name string) string { return n.c.code("node", name) }
