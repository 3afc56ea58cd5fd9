package budget

import "github.com/escala-sched/escala/workload"

// protections are runs that cannot be stopped before a time. Per node they are two
// sums, so that what is outstanding at any time is one product: milli is the sum of
// milli-GPU, until that of milli-GPU x end, modulo 2^64 (the difference that counts
// fits 63 bits).
type protections struct {
	milli []int64
	until []uint64
	// heap has the ends, the next one first. An Unprotect is an entry of its own that
	// cancels another when both end: nothing is searched for.
	heap []protection
}

type protection struct {
	until workload.Time
	milli int64
	leaf  int32
}

// Protect tells that a start of so many milli-GPU is protected until a time. The
// start is charged by Change; this is about what is not charged yet. It is
// amortised O(depth + log n).
func (l *Ledger) Protect(leaf int32, milli int64, until workload.Time) {
	if milli == 0 || l.begun && until <= l.now {
		return
	}
	p := protection{until, milli, leaf}
	l.protected.add(p, 1, l.parent)
	l.protected.push(p)
}

// Unprotect takes a Protect with the same arguments back: the run has ended before
// its time. One whose protection is over already is no matter.
func (l *Ledger) Unprotect(leaf int32, milli int64, until workload.Time) {
	l.Protect(leaf, -milli, until)
}

// Outstanding is the sum of milli x remaining protection below a node, in milli-GPU
// x ms. What is protected is what was so at the latest change; a time before it
// counts the remains from that time on, a later one leaves out what has ended by then.
func (l *Ledger) Outstanding(node int32, at workload.Time) int64 {
	p := &l.protected
	milli, until := p.milli[node], p.until[node]
	if at > l.now {
		p.over(0, at, node, l.last[node], &milli, &until)
	}
	return int64(until - uint64(milli)*uint64(at))
}

// over subtracts what ends by a time: the top of the heap, read without taking it off.
func (p *protections) over(i int, at workload.Time, node, last int32, milli *int64, until *uint64) {
	if i >= len(p.heap) || p.heap[i].until > at {
		return
	}
	if e := &p.heap[i]; e.leaf >= node && e.leaf <= last {
		*milli -= e.milli
		*until -= uint64(e.milli) * uint64(e.until)
	}
	p.over(2*i+1, at, node, last, milli, until)
	p.over(2*i+2, at, node, last, milli, until)
}

func (p *protections) add(e protection, sign int64, parent []int32) {
	for n := e.leaf; n >= 0; n = parent[n] {
		p.milli[n] += sign * e.milli
		p.until[n] += uint64(sign*e.milli) * uint64(e.until)
	}
}

// expire takes off what has ended.
func (p *protections) expire(at workload.Time, parent []int32) {
	for len(p.heap) > 0 && p.heap[0].until <= at {
		p.add(p.heap[0], -1, parent)
		p.pop()
	}
}

func (p *protections) push(e protection) {
	p.heap = append(p.heap, e)
	for i := len(p.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if p.heap[up].until <= p.heap[i].until {
			return
		}
		p.heap[up], p.heap[i] = p.heap[i], p.heap[up]
		i = up
	}
}

func (p *protections) pop() {
	n := len(p.heap) - 1
	p.heap[0] = p.heap[n]
	p.heap = p.heap[:n]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
			if p.heap[c].until < p.heap[least].until {
				least = c
			}
		}
		if least == i {
			return
		}
		p.heap[i], p.heap[least] = p.heap[least], p.heap[i]
		i = least
	}
}
