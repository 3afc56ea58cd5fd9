package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// chain is the Chain of b after a batch that has the chain prev.
func (b *Batch) chain(prev [32]byte) (sum [32]byte) {
	var fixed [32 + 5*8]byte
	copy(fixed[:], prev[:])
	for i, v := range [...]int64{b.Seq, b.Segment, b.Epoch, b.At, int64(b.Lines)} {
		binary.LittleEndian.PutUint64(fixed[32+8*i:], uint64(v))
	}
	h := sha256.New()
	h.Write(fixed[:])
	h.Write(b.Body)
	h.Sum(sum[:0])
	return sum
}

// follows tells why b cannot come after a batch like prev, "" if it can.
func (b *Batch) follows(prev *Head) string {
	switch {
	case b.Seq != prev.Seq+1:
		return fmt.Sprintf("its number is %d where %d is next", b.Seq, prev.Seq+1)
	case b.Segment != b.Seq && b.Segment != prev.Segment:
		return fmt.Sprintf("its segment is %d; want %d, or %d to begin one", b.Segment, prev.Segment, b.Seq)
	case b.Segment < 1:
		return "the first batch must begin a segment"
	case b.Epoch < prev.Epoch:
		return fmt.Sprintf("its epoch %d is less than %d before", b.Epoch, prev.Epoch)
	case b.At < prev.At:
		return fmt.Sprintf("its time %d ms is less than %d ms before", b.At, prev.At)
	case len(b.Body) == 0 || b.Body[len(b.Body)-1] != '\n':
		return "its last line is not ended by a newline"
	}
	if n := bytes.Count(b.Body, []byte{'\n'}); n != b.Lines {
		return fmt.Sprintf("it says %d lines and has %d", b.Lines, n)
	}
	return ""
}
