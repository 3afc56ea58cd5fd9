package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"io"
)

// backupReader reads the parts of a backup; after an error it reads no more.
type backupReader struct {
	r   *bufio.Reader
	sum hash.Hash
	// buf is what was read last.
	buf []byte
	err error
}

// bytes reads n bytes. It does not trust n: memory is taken as bytes come.
func (in *backupReader) bytes(n int64) {
	in.buf = in.buf[:0]
	if in.err != nil {
		return
	}
	if n < 0 || n > 2*MaxBody {
		in.err = errors.New("a length is out of range")
		return
	}
	b := bytes.NewBuffer(in.buf)
	if _, in.err = io.CopyN(b, in.r, n); errors.Is(in.err, io.EOF) {
		in.err = errors.New("it was cut")
	}
	in.buf = b.Bytes()
	in.sum.Write(in.buf)
}

func (in *backupReader) frame() (id byte, n int64) {
	if in.bytes(9); in.err != nil {
		return 0, 0
	}
	return in.buf[0], int64(binary.LittleEndian.Uint64(in.buf[1:]))
}

// end checks that the backup says as many frames as there were, and has the right sum.
func (in *backupReader) end(said, frames int64) error {
	want := in.sum.Sum(nil)
	if in.bytes(int64(len(want))); in.err == nil && said == frames && bytes.Equal(in.buf, want) {
		return nil
	}
	return fail(ErrCorrupt, "the backup was cut or changed: its SHA-256 is another", "use another backup")
}
