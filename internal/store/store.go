// Package store keeps what a live daemon must not lose: its journal in batches, the
// history of ended jobs, the ledger by hour, idempotency keys and small documents. It is
// one SQLite file, or a PostgreSQL database; both keep the same promises, and the
// same tests hold them to those.
//
// # Promises
//
//   - What Append, PutDoc and Drop have returned from is on disk. A batch and its rows are
//     there together or not at all.
//   - There is one writer: Claim makes the appends of every earlier one fail.
//   - An append whose outcome is not known (the connection broke) is repeated as it was.
//   - Every batch carries a SHA-256 over itself and the one before, so that rot, a
//     missing batch and a changed one are found, and named by number.
//
// It keeps bytes and does not know what the lines of a journal mean. It never asks the
// clock. Times are in milliseconds of the journal's clock.
package store

import (
	"context"
	"io"
)

// Batch is what became true together: whole lines of the journal, written at once.
type Batch struct {
	// Seq counts the batches from 1, without gaps.
	Seq int64
	// Segment is the Seq of the batch that begins the segment this one is in; its own Seq
	// begins a new one. A segment can be folded without those before it.
	Segment int64
	// Epoch of the writer, as Claim returned it.
	Epoch int64
	// At is the time of the last line; it does not go back from batch to batch.
	At int64
	// Lines is the number of lines in Body, each ended by a newline; at least one.
	Lines int
	Body  []byte
	// Chain is the SHA-256 of the Chain before (zeros before the first), Seq, Segment, Epoch,
	// At and Lines as 8 bytes each, lowest first, and Body. Append fills it in.
	Chain [32]byte
}

// Head is where a store ends. Every field of an empty store is zero.
type Head struct {
	// Epoch and Holder of the latest Claim; 0 before the first.
	Epoch  int64
	Holder string
	// Seq, Segment, At and Chain of the last batch.
	Seq, Segment, At int64
	Chain            [32]byte
}

// Segment is a run of batches that can be folded alone.
type Segment struct {
	// First and Last batch.
	First, Last int64
	// From and To are the times of these.
	From, To int64
	// Lines and Bytes of the batches.
	Lines, Bytes int64
	// Open: it is the last one, and grows.
	Open bool
}

// Rows are written in the transaction of a batch. A row that is there already under the
// same key is replaced.
type Rows struct {
	Ended []EndedRow
	Keys  []KeyRow
	Hours []HourRow
}

// EndedRow is a job that has come to its end.
type EndedRow struct {
	// Number of the job, its key; ID is its name for people.
	Number int32
	ID     string
	// User and Team it was for; State is how it ended.
	User, Team, Name, State string
	// Submitted, Started and Ended.
	Submitted, Started, Ended int64
	// GPUMilliMs is what it used, in thousandths of a GPU x ms.
	GPUMilliMs int64
	// Body is the job as the API shows it; the store does not look into it.
	Body []byte
}

// KeyRow remembers the answer to a request, so that the same request again changes nothing.
type KeyRow struct {
	Key  string
	At   int64
	Body []byte
}

// HourRow is what one user of one account had in one hour, in thousandths of a GPU x ms.
type HourRow struct {
	// Hour is the time at which the hour begins, a multiple of 3,600,000. Hour, Account and User are
	// the key.
	Hour                                 int64
	Account, User                        string
	Allocated, Unallocated, Lost, Demand int64
}

// EndedFilter chooses ended jobs; what is empty or zero chooses nothing.
type EndedFilter struct {
	User, Team, State string
	// IDPrefix is what the ID begins with.
	IDPrefix string
	// From <= the end < To.
	From, To int64
}

// Verified is what Verify has looked at.
type Verified struct {
	// First and Last batch; 0 for none.
	First, Last int64
	// Batches in the chain, their lines and the bytes of their bodies.
	Batches, Lines, Bytes int64
	// Rows of everything else.
	Rows int64
}

// Store is safe for use by several goroutines. Errors of what went wrong are of type [*Error]
// and wrap one of the Err values; a call whose context ended returns the context's error, and
// what it was to write may or may not be there.
type Store interface {
	// Claim makes the caller the writer and returns its epoch. Appends of an earlier epoch fail
	// with ErrStale from then on. Holder is for people: who that is.
	Claim(ctx context.Context, holder string) (epoch int64, err error)
	// Head returns where the store ends.
	Head(ctx context.Context) (Head, error)
	// Append writes the next batch and its rows in one transaction. They are on disk when it
	// returns nil. It fills in b.Chain. The same batch again succeeds and writes nothing,
	// another at a Seq that exists is ErrConflict, one that does not follow is ErrInvalid.
	Append(ctx context.Context, b *Batch, rows Rows) error
	// Read calls fn with each batch from Seq from on (0 = the first there is) to the last one there
	// was when it began. It checks the chain. The batch and its Body are fn's until it
	// returns. An error of fn ends it and is returned as it is. ErrDropped: batches before the
	// first there is were asked for.
	Read(ctx context.Context, from int64, fn func(*Batch) error) error
	// Segments lists the segments, oldest first.
	Segments(ctx context.Context) ([]Segment, error)
	// Verify reads everything and checks it: the chain, the sums of the other rows, and what the
	// database can check of itself. The first broken batch or row is an *Error with Seq that wraps
	// ErrCorrupt. progress (may be nil) is told now and then which batch it is at.
	Verify(ctx context.Context, progress func(seq, last int64)) (Verified, error)

	// Drop removes all segments before the one that begins with batch before, and puts
	// hours in place in the same transaction. What is left can still be verified.
	Drop(ctx context.Context, before int64, hours []HourRow) error
	// Hours returns from <= hour < to, by hour, account and user.
	Hours(ctx context.Context, from, to int64) ([]HourRow, error)

	// Ended returns jobs by their end, newest first, then by number. It returns at most limit
	// rows (0 = 100, at most 1,000). next is where the next page begins, to be given as after;
	// "" begins at the newest and says that there is no more. Jobs that end in the meantime
	// move no page.
	Ended(ctx context.Context, f EndedFilter, after string, limit int) (rows []EndedRow, next string, err error)
	// EndedJob returns one job; ErrNotFound.
	EndedJob(ctx context.Context, number int32) (EndedRow, error)
	// EndedByID returns the job of that ID, of several the one that ended last; ErrNotFound.
	EndedByID(ctx context.Context, id string) (EndedRow, error)
	// DropEnded forgets jobs that ended before a time, and returns how many.
	DropEnded(ctx context.Context, before int64) (int64, error)

	// Keys returns the keys of a time or later, oldest first.
	Keys(ctx context.Context, since int64) ([]KeyRow, error)
	// DropKeys forgets keys from before a time, and returns how many.
	DropKeys(ctx context.Context, before int64) (int64, error)

	// Doc returns a document and its version; 0 and nil where there is none.
	Doc(ctx context.Context, name string) (version int64, body []byte, err error)
	// PutDoc replaces version of a document (0 = there is none yet) and returns the new one.
	// ErrConflict: it has another version.
	PutDoc(ctx context.Context, name string, version int64, body []byte) (int64, error)

	// Backup writes everything as it is at one moment, while the store is in use.
	Backup(ctx context.Context, w io.Writer) error
	// Restore reads a backup into this store, which must be empty, and verifies it. An error
	// leaves it empty.
	Restore(ctx context.Context, r io.Reader) error

	// Size is what the store takes on disk, in bytes.
	Size(ctx context.Context) (int64, error)
	Close() error
}
