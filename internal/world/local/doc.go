// Package local is the world that runs real processes on this machine.
//
// Each run has a supervisor: the same program once more, started with the hidden argument
// [Command]. It outlives the daemon, starts the job in a session of its own, keeps its time limit,
// stops it when it is told to, and writes down how it ended. The daemon and the supervisors
// talk through files of the run's directory alone:
//
//	runs/<job>.<attempt>/
//	  order.json    what to run; it may hold secrets and is for the daemon's user only
//	  lock          locked (flock) as long as the supervisor lives; holds its process number
//	  started.json  the job's processes run
//	  stop.json     the daemon wants it to stop
//	  reason.json   why it is stopped, for the job to read
//	  ended.json    all its processes are gone; how it ended
//	  script        the job's script, where it is one
//	logs/<job>.<attempt>/log.<byte>   what it wrote from that byte on
//	checkpoints/<job>/                survives attempts
//
// The daemon makes the lock and hands it to the supervisor already locked, so that there is no
// time at which a run could begin and the lock be free. docs/local.md is for users.
package local
