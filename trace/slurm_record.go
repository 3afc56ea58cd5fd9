package trace

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/escala-sched/escala/workload"
)

// SlurmRecord is one record of Slurm's accounting: one run of one job, or a job
// that never ran. A job that was requeued has several (sacct -D). Texts are the
// reader's: copy what is to be kept.
type SlurmRecord struct {
	// Line it begins in.
	Line int
	// Fault says why the record cannot be read at all, "" otherwise; then nothing
	// else is set.
	Fault string
	// ID as sacct prints it: 123, 123_7 (task of an array), 123+1 (part of a
	// heterogeneous job), 123.batch (a step), 123_[1-9] (tasks not split off yet).
	ID                                     string
	User, Account, Partition, QOS, Cluster string
	// State is the last one, one word: COMPLETED.
	State string
	// Points in time in Unix milliseconds, [workload.Unknown] where not told.
	Submit, Eligible, Start, End workload.Time
	// NoStart and NoEnd: the record says that there was none, as opposed to nothing.
	NoStart, NoEnd bool
	// Elapsed is the run time without suspension, -1 where not told.
	Elapsed workload.Span
	// Limit is the time limit, 0 = none.
	Limit    workload.Span
	Priority int64
	// Nodes allocated and processors, 0 where not told; lists of resources tell more.
	Nodes, CPUs int64
	// ReqMem as sacct prints it, with n (per node) or c (per core) behind it or not.
	ReqMem                                 string
	ReqTRES, AllocTRES, ReqGRES, AllocGRES string
	// NodeList is where it ran ("n[1-4]"), "" where nowhere.
	NodeList string
	// Constraints are the features of nodes that it asks for.
	Constraints string
	// Comment is the owner's.
	Comment  string
	Licenses string
	// Reserved: it asked for a reservation.
	Reserved bool
}

// SlurmSource says what the records came from.
type SlurmSource struct {
	// JSON or text.
	JSON bool
	// Version of Slurm, "" where it is not told.
	Version string
}

// ScanSlurm reads Slurm's accounting, text or JSON, record by record, and needs
// memory for a few of them only. Calendar times without a zone are of loc (nil =
// UTC). An error of each ends it.
func ScanSlurm(name string, in io.Reader, loc *time.Location, each func(*SlurmRecord) error) (SlurmSource, error) {
	b := bufio.NewReaderSize(in, headSize)
	head, err := b.Peek(headSize)
	if err != nil && err != io.EOF { //nolint:errorlint // Peek returns it bare
		return SlurmSource{}, err
	}
	if bytes.HasPrefix(head, bom) {
		_, _ = b.Discard(len(bom))
		head = head[len(bom):]
	}
	input := &Input{Name: name, Options: Options{Location: loc}}
	switch {
	case len(head) == 0:
		return SlurmSource{}, input.fail(0, "the file is empty", "what sacct -P or sacct --json writes")
	case isSacctJSON(head):
		return scanSacctJSON(input, b, each)
	case sacctHeader(firstLine(head)) || isXDMoD(firstLine(head)):
		return SlurmSource{}, scanSacctText(input, firstLine(head), b, each)
	}
	return SlurmSource{}, input.fail(1, "this is no accounting of Slurm: it begins with "+quote(firstLine(head)), "the text of "+sacctCommand+", or the JSON of sacct --json")
}

var bom = []byte("\ufeff")

// isStep tells a step of a job by its ID.
func isStep(id string) bool { return strings.Contains(id, ".") }

// noNodes tells whether a list of nodes names none.
func noNodes(s string) bool {
	switch s {
	case "", "None assigned", "None", "(null)", "N/A", "n/a":
		return true
	}
	return false
}
