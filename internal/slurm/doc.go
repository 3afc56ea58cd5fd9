// Package slurm talks to a Slurm cluster through its own command-line tools: any version, any
// authentication, with the rights of whoever calls.
//
// # What is read, and how
//
// The queue is polled as text ([Client.Queue], one RPC). For 10,000 waiting jobs that takes slurmctld and
// the tool a tenth of what --json does. Text has a trap: names and comments of jobs are whatever their
// owners like, separators and line breaks included. So no format that reads many jobs has such a field;
// the comment of one job is asked for by itself ([Client.Comment]).
package slurm
