package local

import (
	"context"
	"io"
	"time"
)

// Command is the hidden argument with which the program has to call [Supervise]. The directory
// of the run follows it.
const Command = "__run"

// Cgroups says whether runs get a cgroup each.
type Cgroups uint8

// Uses of cgroups.
const (
	// CgroupsAuto: where cgroup v2 can be written to.
	CgroupsAuto Cgroups = iota
	// CgroupsOff: never.
	CgroupsOff
	// CgroupsRequired: Open fails where they cannot be had.
	CgroupsRequired
)

// Options of the world. Dir, Payload and Now are required.
type Options struct {
	// Dir is where the state is kept: an absolute path, made if it is not there. The users of jobs
	// must be able to pass through the folders above it.
	Dir string
	// Payload returns what a job runs, as the JSON of a [Payload]. An error is nobody's fault:
	// the start fails and may be tried again.
	Payload func(job int32) ([]byte, error)
	// Now is the clock.
	Now func() time.Time

	// Node is the name of this machine; empty = its host name.
	Node string
	// Pretend is a number of GPUs that are not there, for machines without any; 0 = look for real ones.
	Pretend int
	// GPUType is the type of the GPUs; empty = as their name tells.
	GPUType string
	// SMI is the nvidia-smi to ask; empty = the one in PATH, "none" = do not ask.
	SMI string
	// Exporter returns the text of a DCGM exporter, if there is one. It measures better than nvidia-smi.
	Exporter func(ctx context.Context) (io.ReadCloser, error)

	// Grace is what a run at its time limit has between the request to stop and its end, if its
	// contract says nothing, and one that the journal does not know; 0 = 30 s.
	Grace time.Duration
	// LogSegment is the size of one file of a log, in bytes, LogSegments how many of them are kept
	// of a run; 0 = 8 MiB and 8.
	LogSegment  int64
	LogSegments int

	// Cgroups says whether runs get cgroups, CgroupParent where below the mount point; empty =
	// below the daemon's own.
	Cgroups      Cgroups
	CgroupParent string
	// AllowRoot lets jobs run as uid 0, where the daemon does. NewPrivileges lets programs of jobs gain
	// rights by setuid files, which is otherwise closed to them where the daemon is root.
	AllowRoot, NewPrivileges bool
	// Path is PATH for jobs that bring none; empty = the usual.
	Path string
	// Starts is how many supervisors are started at once; 0 = 8.
	Starts int
	// Executable is the program that supervises; empty = this one. SuperviseArgs go before the run's
	// directory; nil = [Command].
	Executable    string
	SuperviseArgs []string
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (o Options) withDefaults() Options {
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.LogSegment <= 0 {
		o.LogSegment = 8 << 20
	}
	if o.LogSegments <= 0 {
		o.LogSegments = 8
	}
	if o.Path == "" {
		o.Path = defaultPath
	}
	if o.Starts <= 0 {
		o.Starts = 8
	}
	if o.Executable == "" {
		o.Executable = "/proc/self/exe" // also right when the file was replaced by a newer version
	}
	if o.SuperviseArgs == nil {
		o.SuperviseArgs = []string{Command}
	}
	return o
}
