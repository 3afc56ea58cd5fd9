package local

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Files of a run's directory.
const (
	orderFile   = "order.json"
	lockFile    = "lock"
	startedFile = "started.json"
	stopFile    = "stop.json"
	reasonFile  = "reason.json"
	endedFile   = "ended.json"
	scriptFile  = "script"
	noiseFile   = "supervisor.log"
	savedFile   = ".saved"
)

// ticket is all that a supervisor has to know (order.json).
type ticket struct {
	Job     int32  `json:"job"`
	Attempt int32  `json:"attempt"`
	ID      string `json:"id"`
	// Mark is the value of ESCALA_RUN, by which the run's processes are known.
	Mark string `json:"mark"`
	// Boot is the boot of the machine in which it began.
	Boot string `json:"boot"`

	Argv       []string `json:"argv,omitempty"`
	Script     string   `json:"script,omitempty"`
	Dir        string   `json:"dir"`
	Env        []string `json:"env"`
	Umask      int      `json:"umask"`
	Stdout     string   `json:"stdout,omitempty"`
	Stderr     string   `json:"stderr,omitempty"`
	Signal     int      `json:"signal"`
	ResumeExit int      `json:"resume_exit"`

	// Drop: run as UID, GID and Groups instead of as the daemon. NoNewPrivs: no rights by setuid files.
	Drop       bool     `json:"drop,omitempty"`
	UID        uint32   `json:"uid,omitempty"`
	GID        uint32   `json:"gid,omitempty"`
	Groups     []uint32 `json:"groups,omitempty"`
	NoNewPrivs bool     `json:"no_new_privs,omitempty"`

	Limit      time.Duration `json:"limit,omitempty"`
	LimitGrace time.Duration `json:"limit_grace,omitempty"`

	Logs          string `json:"logs"`
	LogSegment    int64  `json:"log_segment"`
	LogSegments   int    `json:"log_segments"`
	Checkpoint    string `json:"checkpoint"`
	OwnCheckpoint bool   `json:"own_checkpoint,omitempty"`

	// Cgroup is the path of the run's cgroup, empty for none. CPUMilli and MemoryMiB limit it, 0 = not.
	Cgroup    string `json:"cgroup,omitempty"`
	CPUMilli  int64  `json:"cpu_milli,omitempty"`
	MemoryMiB int64  `json:"memory_mib,omitempty"`
}

// startRecord says that a run's processes run (started.json).
type startRecord struct {
	At  time.Time `json:"at"`
	PID int       `json:"pid"`
	// Saved is when savedFile had been touched by an attempt before, zero for never.
	Saved time.Time `json:"saved,omitzero"`
}

// stopRecord is the request to stop a run (stop.json).
type stopRecord struct {
	Cause string        `json:"cause"`
	Why   string        `json:"why,omitempty"`
	Grace time.Duration `json:"grace"`
}

// reason is what a job may read about its stop (reason.json).
type reason struct {
	// Cause is that of the stop, or "limit".
	Cause    string    `json:"cause"`
	Sentence string    `json:"sentence"`
	Deadline time.Time `json:"deadline"`
}

// endRecord is how a run ended (ended.json). Started: it came up before.
type endRecord struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"` // "finished", "stopped" or "start-failed", as the journal calls them
	Outcome string    `json:"outcome,omitempty"`
	Cause   string    `json:"cause,omitempty"`
	Exit    int       `json:"exit"`
	Text    string    `json:"text,omitempty"`
	Node    int32     `json:"node"`
	Own     bool      `json:"own,omitempty"`
}

// readRecord reads a file of a run's directory; ok is false where there is none.
func readRecord(dir, name string, v any) (ok bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return true, nil
}

// writeRecord makes a file of a run's directory appear whole. durable: it also survives a power cut.
func writeRecord(dir, name string, v any, durable bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeWhole(dir, name, data, 0o600, -1, durable)
}

// writeWhole writes a file under another name and renames it. A uid of 0 or more owns it then.
func writeWhole(dir, name string, data []byte, mode os.FileMode, uid int, durable bool) (err error) {
	temp := filepath.Join(dir, "."+name+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && uid >= 0 {
		err = f.Chown(uid, -1)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp, filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(temp) // the first error is the one that tells
		return err
	}
	if durable {
		return syncDir(dir)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
