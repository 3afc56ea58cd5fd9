package api

import (
	"time"

	"github.com/escala-sched/escala/metrics"
)

// Observed is what another scheduler did with a job. What is not there is not known, or has not
// come.
type Observed struct {
	Started *time.Time `json:"started,omitempty" doc:"when it really started; not there = it never did, or as was told before"`
	Ended   *time.Time `json:"ended,omitempty" doc:"when it really ended"`
	Outcome string     `json:"outcome,omitempty" enum:"completed,failed,cancelled,timeout,node-fail,preempted,unknown" doc:"how it ended; completed if empty"`
	Exit    int32      `json:"exit,omitempty" doc:"its exit code"`
	On      string     `json:"on,omitempty" maxLength:"1000" doc:"where it really runs, or ran"`
}

// ObservedJob is one of many observations.
type ObservedJob struct {
	ID string `json:"id" minLength:"1" maxLength:"64" doc:"of the job"`
	Observed
}

// ObservedBatch is many observations at once.
type ObservedBatch struct {
	Jobs []ObservedJob `json:"jobs" minItems:"1" maxItems:"10000"`
}

// Shadow is how shadow and reality differ. Times are seconds, GPU-time is GPU-hours; each number
// is defined in docs/metrics.md.
type Shadow struct {
	Policy string    `json:"policy" doc:"that decides in shadow"`
	From   time.Time `json:"from" doc:"jobs that were submitted from here on"`
	To     time.Time `json:"to" doc:"up to here"`

	Jobs       ShadowCounts  `json:"jobs"`
	Wait       ShadowWaits   `json:"wait"`
	DebugWait  *ShadowWaits  `json:"debug_wait,omitempty"`
	Starts     ShadowStarts  `json:"starts"`
	Occupancy  ShadowPair    `json:"occupancy"`
	GPUHours   ShadowPair    `json:"gpu_hours"`
	Stops      ShadowStops   `json:"stops"`
	Guesses    ShadowGuesses `json:"guesses"`
	Order      ShadowOrder   `json:"order"`
	Teams      []ShadowTeam  `json:"teams" doc:"who gained most first"`
	List       []ShadowJob   `json:"differences" doc:"jobs whose starts differ most"`
	Incomplete string        `json:"incomplete,omitempty" doc:"what the report leaves out, in a sentence"`
}

// ShadowCounts count jobs by where they have started.
type ShadowCounts struct {
	Submitted  int `json:"submitted"`
	Both       int `json:"both"`
	OnlyShadow int `json:"only_shadow"`
	OnlyReal   int `json:"only_real"`
	Neither    int `json:"neither"`
	Untold     int `json:"untold" doc:"of which nothing was observed"`
	Refused    int `json:"refused" doc:"that can never run in shadow"`
}

// ShadowWaits are waits under both.
type ShadowWaits struct {
	Real   metrics.Dist `json:"real"`
	Shadow metrics.Dist `json:"shadow"`
}

// ShadowStarts compare the starts of jobs that have started in both.
type ShadowStarts struct {
	Earlier int `json:"earlier" doc:"jobs that shadow started earlier, by more than a second"`
	Later   int `json:"later"`
	Same    int `json:"same"`
	// EarlierBy and LaterBy are by how much.
	EarlierBy metrics.Dist `json:"earlier_by"`
	LaterBy   metrics.Dist `json:"later_by"`
	MeanSaved float64      `json:"mean_saved" doc:"mean of real start - shadow start"`
}

// ShadowPair is a number under both.
type ShadowPair struct {
	Real   float64 `json:"real"`
	Shadow float64 `json:"shadow"`
}

// ShadowStops are runs that shadow stopped, and what that would have cost.
type ShadowStops struct {
	Preemptions     int                `json:"preemptions"`
	LostGPUHours    float64            `json:"lost_gpu_hours"`
	RestartGPUHours float64            `json:"restart_gpu_hours"`
	LostByCause     map[string]float64 `json:"lost_by_cause,omitempty"`
}

// ShadowGuesses say how much rests on lengths of runs that reality had not told.
type ShadowGuesses struct {
	Finished int `json:"finished" doc:"shadow runs that ended by themselves"`
	Guessed  int `json:"guessed" doc:"those of them that ended by a guess"`
	// Told: reality has told their length since then.
	Told             int     `json:"told"`
	TooShort         int     `json:"too_short"`
	TooLong          int     `json:"too_long"`
	TooShortGPUHours float64 `json:"too_short_gpu_hours" doc:"that shadow gave away too early"`
	TooLongGPUHours  float64 `json:"too_long_gpu_hours" doc:"that shadow held for too long"`
}

// ShadowOrder counts pairs of jobs of one team that ask for the same, and have started in both.
type ShadowOrder struct {
	Pairs   int64 `json:"pairs" doc:"that started one after the other in both"`
	Swapped int64 `json:"swapped" doc:"those that started in another order"`
}

// ShadowTeam is what shadow would have changed for a team.
type ShadowTeam struct {
	Team       string     `json:"team"`
	Jobs       int        `json:"jobs" doc:"that have started in both"`
	Saved      float64    `json:"saved" doc:"sum of real wait - shadow wait"`
	RealWait   float64    `json:"real_wait" doc:"mean"`
	ShadowWait float64    `json:"shadow_wait" doc:"mean"`
	GPUHours   ShadowPair `json:"gpu_hours"`
}

// ShadowJob is a job of which shadow and reality differ.
type ShadowJob struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	User      string     `json:"user"`
	Team      string     `json:"team,omitempty"`
	GPUs      int32      `json:"gpus"`
	Submitted time.Time  `json:"submitted"`
	Real      *time.Time `json:"real_start,omitempty"`
	Shadow    *time.Time `json:"shadow_start,omitempty"`
	RealEnd   *time.Time `json:"real_end,omitempty"`
	ShadowEnd *time.Time `json:"shadow_end,omitempty"`
	Saved     float64    `json:"saved" doc:"real start - shadow start; of a job that has started in one of them alone, so far"`
	Stops     int        `json:"stops,omitempty" doc:"how often shadow stopped it for others"`
	Guess     bool       `json:"guess,omitempty" doc:"its shadow ended by a guess"`
	On        string     `json:"on,omitempty"`
}
