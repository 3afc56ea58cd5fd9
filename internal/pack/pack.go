// Package pack turns values into bytes and back by one description for both ways: a
// function that names the fields of a value, in order, writes it with a [Coder] that
// writes, and fills it in with one that reads. Equal values give equal bytes.
package pack

import (
	"encoding/binary"
	"math"
)

// Coder writes values, or reads them. One that reads never panics: after a fault all it
// gives is zero, and [Coder.Done] is false.
type Coder struct {
	b       []byte
	i       int
	reading bool
	bad     bool
	// known and texts are the texts so far, which are written once.
	known map[string]int
	texts []string
}

// Writer appends to b.
func Writer(b []byte) *Coder { return &Coder{b: b, known: map[string]int{}} }

// Reader reads all of b, which it does not keep.
func Reader(b []byte) *Coder { return &Coder{b: b, reading: true} }

// Reading tells which of the two it is.
func (c *Coder) Reading() bool { return c.reading }

// Bytes are those written.
func (c *Coder) Bytes() []byte { return c.b }

// Fail marks what is read as faulty.
func (c *Coder) Fail() { c.bad = true }

// Bad tells whether there was a fault.
func (c *Coder) Bad() bool { return c.bad }

// Done tells whether all was read, without a fault.
func (c *Coder) Done() bool { return !c.bad && c.i == len(c.b) }

// Uint codes a number; small ones take a byte.
func (c *Coder) Uint(v *uint64) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	*v = 0
	if c.bad {
		return
	}
	u, n := binary.Uvarint(c.b[c.i:])
	if n <= 0 {
		c.bad = true
		return
	}
	*v = u
	c.i += n
}

// Int codes a number of either sign.
func (c *Coder) Int(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63)
	c.Uint(&u)
	*v = int64(u>>1) ^ -int64(u&1)
}

// From codes a number that is mostly near another, which may be any.
func (c *Coder) From(v *int64, base int64) {
	d := *v - base // wraps round, and back again
	c.Int(&d)
	*v = base + d
}

// Int32 codes a number of 32 bits.
func (c *Coder) Int32(v *int32) {
	w := int64(*v)
	c.Int(&w)
	if w < math.MinInt32 || w > math.MaxInt32 {
		c.bad, w = true, 0
	}
	*v = int32(w)
}

// Byte codes a number below most.
func (c *Coder) Byte(v *uint8, most uint8) {
	u := uint64(*v)
	c.Uint(&u)
	if u >= uint64(most) {
		c.bad, u = true, 0
	}
	*v = uint8(u)
}

// Bool codes a truth.
func (c *Coder) Bool(v *bool) {
	var u uint8
	if *v {
		u = 1
	}
	c.Byte(&u, 2)
	*v = u == 1
}

// Flags codes several truths as one number.
func (c *Coder) Flags(vs ...*bool) {
	var u uint64
	for i, v := range vs {
		if *v {
			u |= 1 << i
		}
	}
	c.Uint(&u)
	if u>>len(vs) != 0 {
		c.bad, u = true, 0
	}
	for i, v := range vs {
		*v = u>>i&1 == 1
	}
}

// Float codes a number bit by bit.
func (c *Coder) Float(v *float64) {
	u := math.Float64bits(*v)
	c.Uint(&u)
	*v = math.Float64frombits(u)
}

// Raw codes a fixed number of bytes.
func (c *Coder) Raw(v []byte) {
	switch {
	case !c.reading:
		c.b = append(c.b, v...)
	case c.bad || len(c.b)-c.i < len(v):
		c.bad = true
	default:
		c.i += copy(v, c.b[c.i:])
	}
}

// Plain codes a text.
func (c *Coder) Plain(v *string) {
	n := c.Len(len(*v), 1)
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	*v = string(c.b[c.i : c.i+n])
	c.i += n
}

// Text codes a text that others may be the same as.
func (c *Coder) Text(v *string) {
	if !c.reading {
		u := uint64(c.known[*v])
		c.Uint(&u)
		if u == 0 {
			c.known[*v] = len(c.known) + 1
			c.Plain(v)
		}
		return
	}
	var u uint64
	switch c.Uint(&u); {
	case u == 0:
		c.Plain(v)
		c.texts = append(c.texts, *v)
	case u > uint64(len(c.texts)):
		c.bad, *v = true, ""
	default:
		*v = c.texts[u-1]
	}
}

// Len codes the length of a list whose elements take so many bytes at least: no more is
// read than there can be.
func (c *Coder) Len(n, least int) int {
	u := uint64(n)
	c.Uint(&u)
	if c.reading && u > uint64((len(c.b)-c.i)/least) {
		c.bad, u = true, 0
	}
	if c.bad {
		return 0
	}
	return int(u)
}

// List codes a list; nil and an empty one are the same.
func List[T any](c *Coder, v *[]T, each func(*T)) {
	n := c.Len(len(*v), 1)
	if c.reading {
		if *v = nil; n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		if each(&(*v)[i]); c.bad {
			return
		}
	}
}
