package trace

import (
	"io"
	"strings"
	"time"

	"github.com/escala-sched/escala/workload"
)

// Format is one trace format.
type Format struct {
	// Name is what --format takes, Title one line for a list.
	Name, Title string
	// Detect tells from the first bytes (decompressed) and the file name whether
	// the input is of this format. Content decides; the name is a last resort.
	Detect func(head []byte, name string) bool
	// Read turns the input into a workload.
	Read func(in *Input) (*workload.Workload, error)
	// Write is the inverse, nil where escala does not write the format.
	Write func(out io.Writer, w *workload.Workload) error
}

// Input is one file to read.
type Input struct {
	// Name stands in messages, as the caller gave it.
	Name string
	// Data is the decompressed content. Workloads may keep substrings of it: it
	// must not be changed afterwards.
	Data    []byte
	Options Options
}

// Options change how an input is read. The zero value is right for most.
type Options struct {
	// Format overrides detection by content; "" = detect.
	Format string
	// Location is the time zone of calendar times that name none; nil = UTC.
	Location *time.Location
	// GPUOnly drops jobs that ask for no GPU (counted).
	GPUOnly bool
	// KeepUnscheduled keeps openb pods that never started, with the time from
	// creation to deletion as their duration.
	KeepUnscheduled bool
}

// headSize is how much of an input detection looks at.
const headSize = 64 << 10

// Formats returns all formats in the order in which they are tried.
func Formats() []Format {
	return []Format{
		escalaFormat, slurmFormat, swfFormat, heliosFormat, phillyFormat, phillyJSONFormat,
		acmeFormat, kalosConvertedFormat, muriFormat, openbFormat, csvFormat,
	}
}

// Lookup returns the format of that name.
func Lookup(name string) (Format, bool) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// FormatNames lists the names of all formats, for messages.
func FormatNames() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// choose returns the format asked for, or the first whose Detect says yes.
func choose(in *Input) (Format, error) {
	if in.Options.Format != "" {
		f, ok := Lookup(in.Options.Format)
		if !ok {
			return f, &Error{File: in.Name, Msg: "unknown format " + quote(in.Options.Format), Want: "one of " + FormatNames()}
		}
		return f, nil
	}
	if len(in.Data) == 0 {
		return Format{}, &Error{File: in.Name, Msg: "the file is empty", Want: "one of " + FormatNames()}
	}
	head := in.Data[:min(len(in.Data), headSize)]
	for _, f := range Formats() {
		if f.Detect(head, in.Name) {
			return f, nil
		}
	}
	return Format{}, &Error{File: in.Name, Line: 1, Msg: "no known format begins with " + quote(firstLine(head)),
		Want: "one of " + FormatNames() + " (or name the format)"}
}
