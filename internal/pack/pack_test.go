package pack

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

type thing struct {
	a    int64
	b    int32
	c    uint64
	d, e bool
	f    float64
	s, t string
	near int64
	list []int64
}

func (x *thing) code(c *Coder) {
	c.Int(&x.a)
	c.Int32(&x.b)
	c.Uint(&x.c)
	c.Flags(&x.d, &x.e)
	c.Float(&x.f)
	c.Text(&x.s)
	c.Text(&x.t)
	c.From(&x.near, 1000)
	List(c, &x.list, c.Int)
}

func (x *thing) same(y *thing) bool {
	return x.a == y.a && x.b == y.b && x.c == y.c && x.d == y.d && x.e == y.e && math.Float64bits(x.f) == math.Float64bits(y.f) &&
		x.s == y.s && x.t == y.t && x.near == y.near && slices.Equal(x.list, y.list)
}

func TestThereAndBack(t *testing.T) {
	for _, x := range []thing{
		{},
		{a: math.MinInt64, b: math.MinInt32, c: math.MaxUint64, d: true, f: math.Inf(-1), s: "a", t: "a", near: math.MinInt64, list: []int64{1, -1}},
		{a: math.MaxInt64, b: math.MaxInt32, e: true, f: math.Copysign(0, -1), s: "\xff", near: math.MaxInt64},
	} {
		w := Writer(nil)
		x.code(w)
		var y thing
		r := Reader(w.Bytes())
		if y.code(r); !r.Done() || !x.same(&y) {
			t.Errorf("%+v came back as %+v (%t)", x, y, r.Done())
		}
	}
}

// FuzzReader reads any bytes; what is taken is written as the same value.
func FuzzReader(f *testing.F) {
	w := Writer(nil)
	(&thing{a: -5, b: 7, c: 300, d: true, f: 1.5, s: "x", t: "x", near: 999, list: []int64{3, 4}}).code(w)
	f.Add(w.Bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var x, y thing
		r := Reader(bytes.Clone(b))
		if x.code(r); !r.Done() {
			return
		}
		w := Writer(nil)
		x.code(w)
		again := Reader(w.Bytes())
		if y.code(again); !again.Done() || !x.same(&y) {
			t.Fatalf("%q is %+v, and comes back as %+v", b, x, y)
		}
	})
}
