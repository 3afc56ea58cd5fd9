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

// put writes a number, get reads one.
func (c *Coder) put(u uint64) { c.b = binary.AppendUvarint(c.b, u) }

func (c *Coder) get() uint64 {
	if c.bad {
		return 0
	}
	u, n := binary.Uvarint(c.b[c.i:])
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.i += n
	return u
}

// below reads a number below most.
func (c *Coder) below(most uint64) uint64 {
	u := c.get()
	if u >= most {
		c.bad, u = true, 0
	}
	return u
}

func (c *Coder) putSigned(v int64) { c.put(uint64(v)<<1 ^ uint64(v>>63)) }

func (c *Coder) getSigned() int64 {
	u := c.get()
	return int64(u>>1) ^ -int64(u&1)
}

// Uint codes a number; small ones take a byte. What is written is not touched.
func (c *Coder) Uint(v *uint64) {
	if !c.reading {
		c.put(*v)
		return
	}
	*v = c.get()
}

// Int codes a number of either sign.
func (c *Coder) Int(v *int64) { c.From(v, 0) }

// From codes a number that is mostly near another, which may be any.
func (c *Coder) From(v *int64, base int64) {
	if !c.reading {
		c.putSigned(*v - base) // wraps round, and back again
		return
	}
	*v = base + c.getSigned()
}

// Int32 codes a number of 32 bits.
func (c *Coder) Int32(v *int32) {
	if !c.reading {
		c.putSigned(int64(*v))
		return
	}
	w := c.getSigned()
	if w < math.MinInt32 || w > math.MaxInt32 {
		c.bad, w = true, 0
	}
	*v = int32(w)
}

// Byte codes a number below most.
func (c *Coder) Byte(v *uint8, most uint8) {
	if !c.reading {
		c.put(uint64(*v))
		return
	}
	*v = uint8(c.below(uint64(most)))
}

// Bool codes a truth.
func (c *Coder) Bool(v *bool) { c.Flags(v) }

// Flags codes several truths as one number.
func (c *Coder) Flags(vs ...*bool) {
	if c.reading {
		u := c.below(1 << len(vs))
		for i, v := range vs {
			*v = u>>i&1 == 1
		}
		return
	}
	var u uint64
	for i, v := range vs {
		if *v {
			u |= 1 << i
		}
	}
	c.put(u)
}

// Float codes a number bit by bit.
func (c *Coder) Float(v *float64) {
	if !c.reading {
		c.put(math.Float64bits(*v))
		return
	}
	*v = math.Float64frombits(c.get())
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
		c.put(u)
		if u == 0 {
			c.known[*v] = len(c.known) + 1
			c.Plain(v)
		}
		return
	}
	switch u := c.get(); {
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
	if !c.reading {
		c.put(uint64(n))
		return n
	}
	u := c.get()
	if u > uint64((len(c.b)-c.i)/least) { // of what is left behind it
		c.bad, u = true, 0
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
