package cluster

import "math/bits"

// Grant is what a job gets of one node.
type Grant struct {
	// Node index in the cluster; -1 on a cluster without nodes, where only Count counts.
	Node int32
	// Milli is the part that is given of each GPU in the set, in thousandths: 1000 for whole ones.
	Milli int32
	// GPUs is the set of GPUs given, bit i = GPU i of the node.
	GPUs uint64
	// Count is the number of GPUs given.
	Count int32
	// CPU in milli-cores and Memory in MiB.
	CPU, Memory int64
}

// WholeGrant returns a grant of the whole GPUs in the set.
func WholeGrant(node int32, gpus uint64) Grant {
	return Grant{Node: node, Milli: 1000, GPUs: gpus, Count: int32(bits.OnesCount64(gpus))}
}
