// Package slurm talks to a Slurm cluster through its own command-line tools: any version, any
// authentication, with the rights of whoever calls.
//
// # What is read, and how
//
// The queue is polled as text ([Client.Queue], one RPC): 10,000 jobs that wait are a quarter of a second and 6 MiB, where
// squeue --json takes 5 s and 32 MiB, and to decode it 3.6 s. [Client.Jobs] puts together all that there is to know, in 2 s.
//
// Text has a trap. Names and comments of jobs are whatever their owners like, separators and line breaks included; so are,
// where accounting does not check them, accounts, labels and types of GPUs. Whoever can write a line of the queue decides
// what runs. So what separates the fields is drawn anew for each call, and where scontrol mixes what it knows with what
// owners wrote, that is first read with such separators and then taken out.
//
// Times are read as seconds since 1970: squeue, scontrol and sacct heed SLURM_TIME_FORMAT, sdiag tells both, JSON always
// has numbers. No other option that somebody set in the environment reaches the tools.
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
// words are known.
package slurm
