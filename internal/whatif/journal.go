package whatif

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/workload"
)

// Journal is the bytes of one. Its segments may be several.
type Journal struct {
	// Name is the file's, for messages.
	Name string
	// Header is the first; it tells the cluster and the calendar.
	Header *journal.Header
	// First is the time of the first line below the header, End that of the last.
	First, End workload.Time
	data       []byte
}

// Read looks at a journal from both ends.
func Read(name string, data []byte) (*Journal, error) {
	r, err := journal.NewReader(name, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	e, err := r.Next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the journal holds nothing yet", name)
	} else if err != nil {
		return nil, err
	}
	j := &Journal{Name: name, Header: r.Header(), First: e.At, data: data}
	last := bytes.TrimSuffix(data, []byte("\n"))
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	var line struct {
		T *workload.Time `json:"t"`
	}
	if err := json.Unmarshal(last, &line); err != nil || line.T == nil {
		return nil, fmt.Errorf("%s: the last line is cut, or is none of a journal", name)
	}
	j.End = *line.T
	return j, nil
}

// hash is the SHA-256 of all bytes, in hex.
func (j *Journal) hash() string {
	sum := sha256.Sum256(j.data)
	return hex.EncodeToString(sum[:])
}
