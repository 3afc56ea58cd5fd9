// Package slurm talks to a Slurm cluster through its own command-line tools: any version, any
// authentication, with the rights of whoever calls.
//
// # What is read, and how
//
// The queue is polled as text ([Client.Queue], one RPC). For 10,000 waiting jobs that takes slurmctld and
// the tool a tenth of what --json does. Text has a trap: names and comments of jobs are whatever their
// owners like, separators and line breaks included. So no format that reads many jobs has such a field,
// but for [Client.Texts], whose separator is drawn anew for each call. [Client.Jobs] puts all together.
//
// [DecodeJobs] and its kin read the JSON of Slurm 21.08 to 25.05 into the same structs, [REST] gets it
// from slurmrestd. That a live cluster tells the same each way is tested.
//
// # Arrays
//
// Waiting tasks of an array are one record as long as nothing was changed for some of them. squeue shows those
// that were set apart in the same line all the same, unless it is told --array-unique. To scontrol the ID of an array
// stands for all of its tasks, those that were set apart included.
//
// # What is changed
//
// [Client.UpdateEach] changes many jobs by one process, and tells apart what went wrong with which. All failures of a tool
// are a [ToolError], which is one of [ErrNoJob], [ErrEnded], [ErrDenied], [ErrBusy], [ErrInvalid], [ErrAway] where its
// words are known. [Limited] keeps the calls down to so many a second.
package slurm
