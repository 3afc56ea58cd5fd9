package trace

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/escala-sched/escala/workload"
)

// maxInput bounds what a compressed input may unpack to, so that a few bytes
// cannot fill the memory. The largest public log (Philly's JSON) is about 1 GiB.
const maxInput = 8 << 30

// Read reads a trace file of any format, gzip or plain.
func Read(path string, opts Options) (*workload.Workload, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ReadBytes(path, data, opts)
}

// ReadBytes reads a trace from memory; name stands in messages. The workload may
// keep substrings of data, which must not be changed afterwards.
func ReadBytes(name string, data []byte, opts Options) (*workload.Workload, error) {
	plain, err := Unpack(name, data)
	if err != nil {
		return nil, err
	}
	in := &Input{Name: name, Data: bytes.TrimPrefix(plain, []byte("\ufeff")), Options: opts}
	f, err := choose(in)
	if err != nil {
		return nil, err
	}
	w, err := f.Read(in)
	if err != nil {
		return nil, err
	}
	w.Hash = hashOf(data)
	w.Format = f.Name
	if w.Source == "" {
		w.Source = in.base()
	}
	if w.Name == "" {
		w.Name = in.stem()
	}
	return w, nil
}

// Unpack undoes gzip, told by its magic bytes; other data is returned as it is.
// name stands in messages.
func Unpack(name string, data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
		return data, nil
	}
	broken := func(err error, unpacked int64) error {
		msg := "broken gzip after " + bytesText(unpacked) + " of text: " + strings.TrimPrefix(err.Error(), "gzip: ")
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			msg = "truncated gzip: the file ends after " + bytesText(int64(len(data))) + ", in the middle of the data"
		}
		return &Error{File: name, Msg: msg, Want: "a complete .gz file or plain text"}
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, broken(err, 0)
	}
	// The last four bytes name the size modulo 2^32; text rarely shrinks by more
	// than 64, so a lying trailer costs little.
	hint := int64(binary.LittleEndian.Uint32(data[len(data)-4:]))
	hint = min(hint, 64*int64(len(data)))
	var out bytes.Buffer
	out.Grow(int(hint) + bytes.MinRead)
	n, err := io.Copy(&out, io.LimitReader(z, maxInput+1))
	switch {
	case err != nil:
		return nil, broken(err, n)
	case n > maxInput:
		return nil, &Error{File: name, Msg: "unpacks to more than 8 GiB", Want: "a smaller file"}
	}
	return out.Bytes(), nil
}

func bytesText(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// base is the file's name without its folder: what is kept in a workload must
// not depend on where the file lay.
func (in *Input) base() string { return filepath.Base(in.Name) }

// stem is the base name without endings: "x.swf.gz" is "x".
func (in *Input) stem() string {
	s := strings.TrimSuffix(in.base(), ".gz")
	return strings.TrimSuffix(s, filepath.Ext(s))
}

// at renders a place in the input as Dropped.First keeps it.
func (in *Input) at(line int) string { return in.base() + ":" + strconv.Itoa(line) }

func (in *Input) fail(line int, msg, want string) *Error {
	return &Error{File: in.Name, Line: line, Msg: msg, Want: want}
}

func (in *Input) location() *time.Location {
	if in.Options.Location == nil {
		return time.UTC
	}
	return in.Options.Location
}

// zoneNote says how calendar times without a zone were read.
func (in *Input) zoneNote() string {
	return "Calendar times name no zone and were read as " + in.location().String() + "."
}

// firstLine returns the first line of the head, cut to what a message can hold.
func firstLine(head []byte) string {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return strings.TrimRight(string(line), "\r")
}

// dataLine returns the first line that is neither empty nor a '#' comment.
func dataLine(head []byte) string {
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return string(line)
		}
		head = rest
	}
	return ""
}

// quote renders foreign text for a message: quoted, and cut at 60 bytes.
func quote(s string) string {
	if len(s) > 60 {
		n := 57
		for n > 54 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "..."
	}
	return strconv.Quote(s)
}

// hashOf is the SHA-256 of a file's bytes as they are, in hex.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
