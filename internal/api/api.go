// Package api is what goes over the wire between the daemon and its clients: the bodies of
// requests and answers of /api/v1. Times are RFC 3339 in UTC, lengths of time whole seconds
// unless a name says otherwise, GPUs whole devices. A field that is not there is not known, or
// does not apply.
package api

import "time"

// Submit is a job, or an array of jobs, to be queued.
type Submit struct {
	Name      string `json:"name,omitempty" maxLength:"200" doc:"what people call it"`
	User      string `json:"user,omitempty" maxLength:"100" doc:"whom it is for; only operators may name somebody else"`
	Team      string `json:"team,omitempty" maxLength:"200" doc:"account of the budgets that it is charged to; the user's name where there is none"`
	Partition string `json:"partition,omitempty" maxLength:"100"`
	Kind      string `json:"kind,omitempty" enum:"training,batch-inference,quantization,interactive" doc:"kind of work"`
	Need      Need   `json:"need" doc:"what it needs at once"`
	Priority  int64  `json:"priority,omitempty" doc:"larger goes first among the jobs of one account"`

	EstimateSeconds int64      `json:"estimate_seconds,omitempty" minimum:"0" maximum:"315360000" doc:"how long it is expected to run; it predicts, and does not kill"`
	LimitSeconds    int64      `json:"limit_seconds,omitempty" minimum:"0" maximum:"315360000" doc:"a run that lasts this long is ended"`
	Deadline        *time.Time `json:"deadline,omitempty"`
	Contract        Contract   `json:"contract,omitempty" required:"false"`

	After    []After           `json:"after,omitempty" maxItems:"1000" doc:"jobs that must have ended before it may start"`
	Labels   map[string]string `json:"labels,omitempty" maxProperties:"64" doc:"free for the owner: experiment, mlflow.run_id, wandb.run_id"`
	Hold     bool              `json:"hold,omitempty" doc:"it waits until its owner releases it"`
	Begin    *time.Time        `json:"begin,omitempty" doc:"it does not start before"`
	Retries  int               `json:"retries,omitempty" minimum:"0" maximum:"1000" doc:"how often it is tried again when it fails"`
	Indices  []int32           `json:"array,omitempty" maxItems:"10000" doc:"indices of an array of jobs; empty = one job"`
	Throttle int               `json:"array_throttle,omitempty" minimum:"0" maximum:"10000" doc:"how many of an array may run at once; 0 = all"`

	Run *Run `json:"run,omitempty" doc:"what runs; needed where the scheduler runs processes itself"`
}

// Need is what a job needs at once.
type Need struct {
	GPUs      int32    `json:"gpus,omitempty" minimum:"0" maximum:"1000000" doc:"GPUs in all, or of each task where there are tasks"`
	Tasks     int32    `json:"tasks,omitempty" minimum:"0" maximum:"1000000" doc:"size of the gang"`
	MinTasks  int32    `json:"min_tasks,omitempty" minimum:"0" maximum:"1000000"`
	MaxTasks  int32    `json:"max_tasks,omitempty" minimum:"0" maximum:"1000000"`
	PerNode   int32    `json:"tasks_per_node,omitempty" minimum:"0" maximum:"1000000" doc:"tasks that one node takes at most; 0 = as many as it holds"`
	GPUMilli  int32    `json:"gpu_milli,omitempty" minimum:"0" maximum:"1000" doc:"part of one GPU, in thousandths"`
	CPUMilli  int64    `json:"cpu_milli,omitempty" minimum:"0" maximum:"1000000000000"`
	MemoryMiB int64    `json:"memory_mib,omitempty" minimum:"0" maximum:"1000000000000"`
	GPUTypes  []string `json:"gpu_types,omitempty" maxItems:"32" doc:"types allowed; empty = any"`
	Within    string   `json:"within,omitempty" doc:"level of the topology in one place of which all tasks must lie"`
	Nodes     []string `json:"nodes,omitempty" maxItems:"10000" doc:"nodes allowed; empty = any"`
	Span      bool     `json:"span,omitempty" doc:"the GPUs may be cut over nodes in any way"`
}

// Contract says how a job may be interrupted.
type Contract struct {
	MinRuntimeSeconds  *int64 `json:"min_runtime_seconds,omitempty" minimum:"0" maximum:"315360000" doc:"how long a start is safe; 0 = unallocated: charged to nobody, never safe"`
	CheckpointSeconds  int64  `json:"checkpoint_seconds,omitempty" minimum:"0" maximum:"315360000" doc:"it saves its state after each such stretch of work"`
	CheckpointOnStop   bool   `json:"checkpoint_on_stop,omitempty" doc:"it saves its state when asked to stop"`
	RestartCostSeconds int64  `json:"restart_cost_seconds,omitempty" minimum:"0" maximum:"315360000"`
	GraceSeconds       int64  `json:"grace_seconds,omitempty" minimum:"0" maximum:"86400" doc:"time between the request to stop and the kill"`
	NotResumable       bool   `json:"not_resumable,omitempty" doc:"a stopped run is lost, and the job ends with it"`
}

// After makes a job wait for the end of another.
type After struct {
	Job  string `json:"job" minLength:"1" maxLength:"64"`
	When string `json:"when,omitempty" enum:"any,ok,not-ok" doc:"any: however it ended; ok: completed; not-ok: otherwise"`
}

// Run is the process of a job. It is kept from everybody but its owner and operators.
type Run struct {
	Command []string          `json:"command,omitempty" maxItems:"10000" doc:"program and arguments"`
	Script  string            `json:"script,omitempty" maxLength:"1000000" doc:"a script, instead of a command"`
	Dir     string            `json:"dir,omitempty" maxLength:"4096" doc:"working directory"`
	Env     map[string]string `json:"env,omitempty" maxProperties:"10000"`
	Signal  string            `json:"signal,omitempty" maxLength:"16" doc:"signal that asks it to stop; SIGTERM if empty"`
	// ResumeExit is a pointer so that 0 can be told from nothing.
	ResumeExit *int `json:"resume_exit,omitempty" minimum:"1" maximum:"255" doc:"exit code that says: queue me again; 75 if empty"`
}

// Submitted is the answer to a submission.
type Submitted struct {
	ID       string   `json:"id" doc:"of the job, or of the array"`
	Jobs     []string `json:"jobs" doc:"IDs of all jobs"`
	Again    bool     `json:"again,omitempty" doc:"the idempotency key was used before: nothing new was queued"`
	Warnings []string `json:"warnings,omitempty"`
}

// Batch is several submissions at once.
type Batch struct {
	Jobs []Submit `json:"jobs" minItems:"1" maxItems:"10000"`
}

// BatchResult says of each submission of a batch, in its order, what became of it.
type BatchResult struct {
	Results []BatchItem `json:"results"`
}

// BatchItem is one of them: an ID, or an error.
type BatchItem struct {
	ID    string `json:"id,omitempty"`
	Error string `json:"error,omitempty"`
}

// Job is what is known of a job.
type Job struct {
	ID        string   `json:"id"`
	Number    int32    `json:"number"`
	Name      string   `json:"name"`
	User      string   `json:"user"`
	Team      string   `json:"team,omitempty"`
	Partition string   `json:"partition,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	State     string   `json:"state" doc:"waiting, held, blocked, clearing, starting, running, stopping, parked, refused, completed, failed, cancelled, timeout, node-fail, preempted"`
	Need      string   `json:"need" doc:"what it needs, in words"`
	GPUs      int32    `json:"gpus"`
	Nodes     []string `json:"nodes,omitempty" doc:"where it runs, or ran last"`
	Priority  int64    `json:"priority,omitempty"`

	EstimateSeconds   int64  `json:"estimate_seconds,omitempty"`
	LimitSeconds      int64  `json:"limit_seconds,omitempty"`
	MinRuntimeSeconds *int64 `json:"min_runtime_seconds,omitempty"`

	Submitted   time.Time  `json:"submitted"`
	Started     *time.Time `json:"started,omitempty" doc:"its first start"`
	Running     *time.Time `json:"running_since,omitempty" doc:"start of the present run"`
	Ended       *time.Time `json:"ended,omitempty"`
	Protected   *time.Time `json:"protected_until,omitempty" doc:"until when the present run is safe"`
	Unallocated bool       `json:"unallocated,omitempty" doc:"the run is charged to nobody, and may be stopped at any time"`
	LeavesBy    *time.Time `json:"leaves_by,omitempty" doc:"by when a run that was told to stop must have left"`

	Waiting  *Waiting          `json:"waiting,omitempty" doc:"where it stands in the queue"`
	Holds    []string          `json:"holds,omitempty"`
	HeldBy   string            `json:"held_by,omitempty"`
	Attempt  int32             `json:"attempt,omitempty" doc:"number of the present or last run"`
	Stops    int               `json:"stops,omitempty" doc:"how often it was stopped and queued again"`
	Exit     *int32            `json:"exit,omitempty" doc:"exit code, or 128 + the signal that ended it"`
	Text     string            `json:"text,omitempty" doc:"what there is to read about its end"`
	By       string            `json:"cancelled_by,omitempty"`
	GPUHours float64           `json:"gpu_hours" doc:"GPU-hours it has had"`
	Labels   map[string]string `json:"labels,omitempty"`
	Command  string            `json:"command,omitempty" doc:"for its owner and operators only"`
	Real     *Observed         `json:"real,omitempty" doc:"in shadow: what another scheduler really did with it"`
	Runs     []JobRun          `json:"runs,omitempty" doc:"only where one job is asked for"`
}

// Waiting is where a waiting job stands.
type Waiting struct {
	Rank     int        `json:"rank,omitempty" doc:"1 = next; 0 = not ranked yet"`
	Of       int        `json:"of,omitempty" doc:"jobs in line"`
	Why      string     `json:"why" doc:"why it does not run, in a sentence"`
	Code     string     `json:"code,omitempty"`
	Promised *time.Time `json:"promised,omitempty" doc:"date of its reservation"`
	// Start is the estimate of its start: half of the futures have it by P50, nine in ten by P90.
	P50     *time.Time `json:"start_p50,omitempty"`
	P90     *time.Time `json:"start_p90,omitempty"`
	Futures int        `json:"futures,omitempty" doc:"how many futures the estimate rests on"`
	Few     bool       `json:"few_data,omitempty" doc:"too few jobs have ended here for their run times to tell much: take the times for rough"`
	AsOf    *time.Time `json:"as_of,omitempty" doc:"the state that rank and estimate are of"`
}

// JobRun is one run of a job.
type JobRun struct {
	Attempt     int32      `json:"attempt"`
	Decided     time.Time  `json:"decided"`
	Started     *time.Time `json:"started,omitempty"`
	Ended       *time.Time `json:"ended,omitempty"`
	Nodes       []string   `json:"nodes,omitempty"`
	GPUs        int32      `json:"gpus"`
	Unallocated bool       `json:"unallocated,omitempty"`
	Why         string     `json:"why" doc:"why it was started"`
	StopWhy     string     `json:"stop_why,omitempty" doc:"why it was told to stop"`
	End         string     `json:"end,omitempty" doc:"how it ended: an outcome, or the cause of the stop"`
	Exit        *int32     `json:"exit,omitempty"`
	Text        string     `json:"text,omitempty"`
	LostSeconds int64      `json:"lost_seconds,omitempty" doc:"run time that has to be done again"`
}

// Jobs is a page of jobs.
type Jobs struct {
	Jobs []Job      `json:"jobs"`
	Next string     `json:"next,omitempty" doc:"cursor of the next page"`
	AsOf *time.Time `json:"as_of,omitempty"`
}

// Changed says how many jobs a request changed.
type Changed struct {
	Changed int `json:"changed"`
	// Of and Running tell of an array.
	Of      int `json:"of,omitempty" doc:"of an array: how many of its jobs had not ended"`
	Running int `json:"running,omitempty" doc:"of an array: how many of these had GPUs"`
}

// Reason is why somebody asks for something.
type Reason struct {
	Text string `json:"text,omitempty" maxLength:"1000"`
}

// Node is a node.
type Node struct {
	Name    string     `json:"name"`
	GPUType string     `json:"gpu_type,omitempty"`
	GPUs    int32      `json:"gpus"`
	Used    float64    `json:"gpus_used"`
	State   string     `json:"state" enum:"up,down,drained,draining"`
	By      string     `json:"by,omitempty"`
	Text    string     `json:"text,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Jobs    []string   `json:"jobs,omitempty"`
	Busy    []GPU      `json:"activity,omitempty" doc:"measured activity of each GPU"`
	Kept    []Kept     `json:"reservations,omitempty" doc:"for what it is kept, now and later"`
}

// GPU is how busy a GPU is.
type GPU struct {
	Index          int32    `json:"index"`
	Percent        *float64 `json:"busy_percent,omitempty"`
	MemoryUsedMiB  int64    `json:"memory_used_mib,omitempty"`
	MemoryTotalMiB int64    `json:"memory_total_mib,omitempty"`
}

// Nodes is all nodes.
type Nodes struct {
	Nodes []Node `json:"nodes"`
}

// Status is how things stand.
type Status struct {
	Version       string    `json:"version"`
	Now           time.Time `json:"now"`
	Ready         bool      `json:"ready"`
	Trouble       string    `json:"trouble,omitempty" doc:"what keeps changes from being made"`
	World         string    `json:"world"`
	Shadow        bool      `json:"shadow,omitempty" doc:"everything is decided and journalled, and nothing done"`
	Policy        string    `json:"policy"`
	GPUs          int64     `json:"gpus"`
	GPUsAvailable float64   `json:"gpus_available"`
	GPUsUsed      float64   `json:"gpus_used"`
	Waiting       int       `json:"waiting"`
	WaitingGPUs   float64   `json:"waiting_gpus"`
	Running       int       `json:"running"`
	Held          int       `json:"held"`
	Nodes         int       `json:"nodes"`
	NodesDown     int       `json:"nodes_down,omitempty"`
	NodesDrained  int       `json:"nodes_drained,omitempty"`
	Journal       Journal   `json:"journal"`
	You           You       `json:"you"`
}

// You is who asks, as the daemon knows them.
type You struct {
	User string `json:"user"`
	Role string `json:"role"`
}

// Journal is where the journal stands.
type Journal struct {
	Batches int64     `json:"batches"`
	Since   time.Time `json:"since"`
	Chain   string    `json:"chain" doc:"SHA-256 of the chain, in hexadecimal"`
	Bytes   int64     `json:"bytes,omitempty"`
}

// Text is a document that people edit: budgets, a policy.
type Text struct {
	Name string `json:"name,omitempty"`
	YAML string `json:"yaml" maxLength:"4000000"`
	By   string `json:"by,omitempty" doc:"who set it"`
	Tag  string `json:"tag,omitempty" doc:"as in the ETag"`
}

// Trial is what another policy would do now.
type Trial struct {
	Policy string        `json:"policy"`
	Starts []TrialAction `json:"starts"`
	Stops  []TrialAction `json:"stops"`
	// First are the jobs that would be first in line, before and after.
	Before  []string `json:"first_now"`
	After   []string `json:"first_then"`
	Waiting int      `json:"waiting"`
}

// TrialAction is one thing that it would do.
type TrialAction struct {
	Job string `json:"job"`
	Why string `json:"why"`
}

// Explanation is where a job stands, and what its start turns on.
type Explanation struct {
	Job   string    `json:"job"`
	State string    `json:"state"`
	AsOf  time.Time `json:"as_of"`
	// Lines say it in sentences.
	Lines []string `json:"lines"`
	Rank  int      `json:"rank,omitempty"`
	Of    int      `json:"of,omitempty"`
	Ahead []string `json:"ahead,omitempty" doc:"the nearest before it in line, the next before it last"`
	// Need in GPUs, Free the most that are free in one pool that it may use, Block the largest block of
	// those in its shape, of Want that it needs.
	Need        int32        `json:"need"`
	Free        int32        `json:"free"`
	Block       int32        `json:"block"`
	Want        int32        `json:"want"`
	Protections []Protection `json:"protections,omitempty" doc:"runs in its pools that may not be stopped yet, the next to end first"`
	Accounts    []Account    `json:"accounts,omitempty" doc:"the way to its account, by pool"`
	Stops       int32        `json:"stops,omitempty"`
}

// Protection is a run that may not be stopped before a time.
type Protection struct {
	Job   string    `json:"job"`
	Until time.Time `json:"until"`
	GPUs  int32     `json:"gpus"`
}

// Account is accounts of the budgets with what they had.
type Account struct {
	Pool     string    `json:"pool,omitempty"`
	Leaf     string    `json:"leaf,omitempty"`
	Standing string    `json:"standing,omitempty" doc:"entitled: below its share, goes first; served: had its share; spent: took back as much idle time as it may"`
	AsOf     time.Time `json:"as_of"`
	Levels   []Level   `json:"levels"`
}

// Level is one account. GPU-time is GPU-hours in the window of the policy.
type Level struct {
	Account     string  `json:"account"`
	Depth       int32   `json:"depth"`
	Share       float64 `json:"share_of_all"`
	Charged     float64 `json:"charged_gpu_hours"`
	Outstanding float64 `json:"outstanding_gpu_hours" doc:"protections of runs that are still to come"`
	Unallocated float64 `json:"unallocated_gpu_hours"`
	Fair        float64 `json:"fair_gpu_hours" doc:"its share of what the window offered"`
	Place       int     `json:"place,omitempty" doc:"among siblings with waiting work, 1 = first"`
	Of          int     `json:"of,omitempty"`
}

// Accounts is all accounts.
type Accounts struct {
	Accounts []Account `json:"accounts"`
}
