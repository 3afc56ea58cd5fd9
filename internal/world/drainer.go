package world

// Drainer is a world that can close nodes to others as well: to those whom the cluster's own scheduler would
// still let in.
type Drainer interface {
	// Drain tells, in their order, that people have closed nodes here, or opened them again. It returns at once.
	Drain(list ...Drained)
}

// Drained is a node that somebody closed, or opened.
type Drained struct {
	Node   int32
	Closed bool
	By     string
	// Text is why it was closed.
	Text string
}
