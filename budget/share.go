package budget

import (
	"math/big"
	"math/bits"
)

// ProductShare is a node's share of everything: the product of its normalised
// shares down from the root, as a fraction in lowest terms. It is exact, unless the
// lowest terms need more than 62 bits (deep trees of shares with many digits): then
// it is rounded down to a multiple of 2^-62, and the tree has a note that says so.
func (t *Tree) ProductShare(node int32) (num, den uint64) {
	n := &t.Nodes[node]
	return n.num, n.den
}

// CompareShare compares GPU-time with a node's share of a whole: -1 where used is
// below ProductShare x whole, 0 where equal, 1 above. The whole is usually what
// the window has offered. Negative amounts count as 0.
func (t *Tree) CompareShare(node int32, used, whole int64) int {
	n := &t.Nodes[node]
	return cmpProducts(clamp(used), n.den, n.num, clamp(whole))
}

// CompareRatio compares usedA/shareA with usedB/shareB of two siblings: -1 where A
// is served less for its share. A share of 0 counts as served above any other
// (its work goes only when no sibling with a share waits); two of them by use.
func CompareRatio(usedA, shareA, usedB, shareB int64) int {
	switch {
	case shareA == 0 && shareB == 0:
		return cmpProducts(clamp(usedA), 1, clamp(usedB), 1)
	case shareA == 0:
		return 1
	case shareB == 0:
		return -1
	}
	return cmpProducts(clamp(usedA), clamp(shareB), clamp(usedB), clamp(shareA))
}

// cmpProducts compares a x b with c x d in 128 bits.
func cmpProducts(a, b, c, d uint64) int {
	hi, lo := bits.Mul64(a, b)
	return Sum{hi, lo}.Cmp(product(c, d))
}

// mulDiv is a x b / c rounded down. c must be above 0 and the result fit 64 bits.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, c)
	return q
}

func clamp(v int64) uint64 { return uint64(max(v, 0)) }

// shareBits bounds the fractions kept: it leaves room for a product with an int64.
const shareBits = 62

// multiply sets every node's product share and returns those that are not exact.
func (t *Tree) multiply() (rounded []int32) {
	exact := make([]*big.Rat, len(t.Nodes))
	exact[0] = big.NewRat(1, 1)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		var level int64
		for _, c := range n.Children {
			level += t.Nodes[c].Share
		}
		for _, c := range n.Children {
			exact[c] = new(big.Rat).Mul(exact[i], big.NewRat(t.Nodes[c].Share, level))
		}
		num, den := exact[i].Num(), exact[i].Denom()
		if den.BitLen() > shareBits {
			den = new(big.Int).Lsh(big.NewInt(1), shareBits)
			num = new(big.Int).Div(new(big.Int).Mul(exact[i].Num(), den), exact[i].Denom())
			rounded = append(rounded, int32(i))
		}
		n.num, n.den = num.Uint64(), den.Uint64()
	}
	return rounded
}

// FairShare is a node's share of an amount, rounded down.
func (t *Tree) FairShare(node int32, whole int64) int64 {
	n := &t.Nodes[node]
	return int64(mulDiv(n.num, clamp(whole), n.den))
}
