package metrics

// Metrics are the numbers of one run. Ratios are 0..1, times seconds, GPU-time
// GPU-hours. The JSON keys are a contract with scripts: none is renamed or
// removed within a schema version, others may be added.
type Metrics struct {
	// Window that the numbers are over, and the jobs submitted in it. Real-time
	// applications are no jobs, here and below: they are in Services.
	Window Bounds `json:"window"`
	Jobs   int    `json:"jobs"`

	// Occupancy is assigned / available GPU-time in the window; OccupancyMakespan
	// the same from the first submission to the last finish.
	Occupancy         float64 `json:"occupancy"`
	OccupancyMakespan float64 `json:"occupancy_makespan"`
	// GoodputOccupancy leaves out GPU-time that was lost again or spent on restarting.
	GoodputOccupancy float64 `json:"goodput_occupancy"`
	// ServedOccupancy is occupancy without what real-time applications held and did not
	// serve with: what was assigned to batch work and what met a demand. Nil without applications.
	ServedOccupancy         *float64 `json:"served_occupancy,omitempty"`
	ServedOccupancyMakespan *float64 `json:"served_occupancy_makespan,omitempty"`
	// Availability is available / installed GPU-time in the window.
	Availability float64 `json:"availability"`
	// AllocatedGPURatio is assigned / installed GPUs right after the window's last submission.
	AllocatedGPURatio float64 `json:"allocated_gpu_ratio"`
	// Fragmentation is GPU-time idle while jobs wait that fit by count but in no
	// shape / available GPU-time.
	Fragmentation float64 `json:"fragmentation"`

	Wait            Dist `json:"wait"`
	QueueTime       Dist `json:"queue_time"`
	JCT             Dist `json:"jct"`
	BoundedSlowdown Dist `json:"bounded_slowdown"`
	// DebugWait is the wait of jobs of at most 8 GPUs with a declared minimum
	// runtime of at most 15 minutes, nil without such jobs.
	DebugWait *Dist `json:"debug_wait,omitempty"`
	// Makespan is last finish - first submission.
	Makespan float64 `json:"makespan"`

	Preemptions                int64   `json:"preemptions"`
	PreemptionsPerJob          float64 `json:"preemptions_per_job"`
	PreemptionsPer1000GPUHours float64 `json:"preemptions_per_1000_gpu_hours"`
	NodeFailures               int64   `json:"node_failures"`

	// LostGPUHours is work done again, RestartGPUHours restart overhead, and
	// LossGPUHours their sum.
	LostGPUHours    float64 `json:"lost_gpu_hours"`
	RestartGPUHours float64 `json:"restart_gpu_hours"`
	LossGPUHours    float64 `json:"loss_gpu_hours"`
	// LostByCause splits the lost work by what stopped it.
	LostByCause map[string]float64 `json:"lost_by_cause,omitempty"`
	// HeldGPUHours was kept free in the window for winners whose victims still left.
	HeldGPUHours float64 `json:"held_gpu_hours"`

	// AllocatedGPUHours, UnallocatedGPUHours and SquatGPUHours (parked jobs that do
	// nothing) were assigned in the window; UnallocatedShare is unallocated / (allocated
	// + unallocated).
	AllocatedGPUHours   float64 `json:"allocated_gpu_hours"`
	UnallocatedGPUHours float64 `json:"unallocated_gpu_hours"`
	SquatGPUHours       float64 `json:"squat_gpu_hours,omitempty"`
	UnallocatedShare    float64 `json:"unallocated_share"`
	// AllocatedPreemptions are stops of allocated work in the window, Thrash those of
	// them within 3 h of the job's previous one.
	AllocatedPreemptions                int64   `json:"allocated_preemptions"`
	AllocatedPreemptionsPer1000GPUHours float64 `json:"allocated_preemptions_per_1000_gpu_hours"`
	Thrash                              int64   `json:"thrash"`
	// LostByClass splits lost work and restart overhead of the window's jobs: allocated,
	// unallocated, squat.
	LostByClass map[string]ClassLoss `json:"lost_by_class,omitempty"`
	// Classes and Sizes are waits of classes of jobs; those withdrawn enter as lower bounds.
	Classes []ClassWait `json:"classes,omitempty"`
	Sizes   []ClassWait `json:"sizes,omitempty"`
	// Dates promised, nil where none was; Drains of nodes, nil where none was.
	Dates  *Dates  `json:"dates,omitempty"`
	Drains *Drains `json:"drains,omitempty"`
	// Services are the real-time applications, nil without any.
	Services *Services `json:"services,omitempty"`
	// Value is what batch work of the window was worth, less penalties for demand that
	// was not met; FinishedValue counts jobs alone that ended in it. Nil where all GPU-hours
	// are worth the same and nothing is demanded.
	Value         *float64 `json:"value,omitempty"`
	FinishedValue *float64 `json:"finished_value,omitempty"`
	// Budget is what accounts were owed and got, nil without budgets.
	Budget *BudgetUse `json:"budget,omitempty"`

	// Jain is Jain's index over JainN groups (JainBy: team, partition or user).
	Jain   float64 `json:"jain"`
	JainN  int     `json:"jain_n"`
	JainBy string  `json:"jain_by"`
	// Starvation: jobs that waited longer than a day, and the longest wait.
	Starvation Starvation `json:"starvation"`

	// Unstarted and Unfinished jobs exist where the run was cut; Unfinished
	// started and did not end. Refused, NeverReady and Withdrawn jobs never
	// started and enter no distribution.
	Cut        bool `json:"cut,omitempty"`
	Unstarted  int  `json:"unstarted"`
	Unfinished int  `json:"unfinished"`
	Refused    int  `json:"refused"`
	NeverReady int  `json:"never_ready"`
	Withdrawn  int  `json:"withdrawn"`

	// InstalledGPUs of the cluster, and GPU-hours assigned over the makespan.
	InstalledGPUs float64 `json:"installed_gpus"`
	GPUHours      float64 `json:"gpu_hours"`
	// Cost of assigned and of idle GPU-time over the makespan, in the currency of
	// the cluster file; nil without prices. KWh likewise, nil without watts.
	Cost     *float64 `json:"cost,omitempty"`
	IdleCost *float64 `json:"idle_cost,omitempty"`
	KWh      *float64 `json:"kwh,omitempty"`

	// Types and Groups split GPU-time by GPU type and by team, partition or user.
	Types  []TypeUse  `json:"-"`
	Groups []GroupUse `json:"-"`
	// WaitCDF[i] is the part of jobs that waited at most CDFPoint(i).
	WaitCDF []float64 `json:"-"`
}

// Bounds are a window in seconds of the input's clock.
type Bounds struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Starvation counts long waits.
type Starvation struct {
	// Jobs that waited longer than 24 h before their first start.
	Jobs int `json:"jobs"`
	// Longest wait in seconds.
	Longest float64 `json:"longest"`
}

// TypeUse is the use of one GPU type over the makespan.
type TypeUse struct {
	Name                string
	GPUs                float64
	GPUHours, IdleHours float64
	Cost, IdleCost, KWh float64
}

// GroupUse is what one team, partition or user got.
type GroupUse struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// Services are its real-time applications.
	Services int `json:"services,omitempty"`
	// GPUHours its jobs had in the window; Delivered of what they demanded, 0..1.
	GPUHours  float64 `json:"gpu_hours"`
	Delivered float64 `json:"delivered"`
	// MeanWait and P90Wait in seconds.
	MeanWait float64 `json:"mean_wait"`
	P90Wait  float64 `json:"p90_wait"`
}
