package observe

// GPU-time since the process began. A GPU-second is one physical GPU for one second.
var (
	installedTime  = counter("escala_installed_gpu_seconds_total", "GPU-time of installed GPUs.")
	availableTime  = counter("escala_available_gpu_seconds_total", "GPU-time of GPUs that are up and take work or carry some.")
	assignedTime   = counter("escala_assigned_gpu_seconds_total", "GPU-time assigned to jobs, from the start decision to the release, by class of work.", "class")
	heldTime       = counter("escala_held_gpu_seconds_total", "GPU-time kept free for a job while those stopped for it shut down.")
	fragmentedTime = counter("escala_fragmented_gpu_seconds_total", "GPU-time idle while some waiting job fits by count and none in shape.")
	lostTime       = counter("escala_lost_gpu_seconds_total", "GPU-time of work that has to be done again, by what stopped the run.", "cause")
	restartTime    = counter("escala_restart_gpu_seconds_total", "GPU-time that starts after the first spend before work goes on, booked when the run ends.")
	owedTime       = counter("escala_account_owed_gpu_seconds_total", "GPU-time that an account was owed: by the hour its share of what is available, but no more than it asks for.", "account")
	chargedTime    = counter("escala_account_charged_gpu_seconds_total", "GPU-time that an account was charged.", "account")
	deliveredTime  = counter("escala_account_delivered_gpu_seconds_total", "The smaller of what an account was charged and owed since the process began.", "account")
	accountShare   = gauge("escala_account_share_ratio", "Share of everything that an account is given by the budgets in force.", "account")
)

// The cluster as it stands.
var (
	installedGPUs = gauge("escala_installed_gpus", "GPUs installed.")
	availableGPUs = gauge("escala_available_gpus", "GPUs that are up and take work or carry some.")
	assignedGPUs  = gauge("escala_assigned_gpus", "GPUs assigned to starting, running and stopping jobs.")
	heldGPUs      = gauge("escala_held_gpus", "GPUs kept free for a job while those stopped for it shut down.")
	nodesBy       = gauge("escala_nodes", "Nodes by state: up, down, draining (work goes on there), drained.", "state")
)

// Jobs.
var (
	waitingJobs = gauge("escala_waiting_jobs", "Jobs that could start but for capacity and order, those for which others still leave included. Held jobs, and those that wait for another job, are none.", "team", "size")
	waitingGPUs = gauge("escala_waiting_gpus", "GPUs that waiting jobs ask for.", "team", "size")
	runningJobs = gauge("escala_running_jobs", "Jobs with GPUs, from the start decision to the release.", "team", "class")
	runningGPUs = gauge("escala_running_gpus", "GPUs of these jobs.", "team", "class")
	keptJobs    = gauge("escala_kept_jobs", "Jobs that do not wait for GPUs: held, blocked (by another job), parked (idle sessions).", "state")

	submittedJobs = counter("escala_jobs_submitted_total", "Jobs submitted.", "team", "size")
	startedJobs   = counter("escala_job_starts_total", "Decisions to start a job.", "team", "class")
	failedStarts  = counter("escala_job_start_failures_total", "Starts that did not come true.")
	finishedJobs  = counter("escala_jobs_finished_total", "Jobs that ended, by outcome.", "team", "outcome")
	refusedJobs   = counter("escala_jobs_refused_total", "Jobs that can never run here.")
	preemptions   = counter("escala_preemptions_total", "Runs stopped whose jobs wait again, other than by a node failure, by cause.", "cause")
	nodeFailures  = counter("escala_node_failure_stops_total", "Runs ended by the failure of a node.")
)

// Waits, one sample for each job, or requeue. Time in which a job is held does not count.
var (
	quotaWait     = histogram(waitBuckets, "escala_job_quota_wait_seconds", "From the submission to the first decision that assigns GPUs.", "size")
	admissionWait = histogram(waitBuckets, "escala_job_admission_wait_seconds", "From the submission until the checks before the first start are done, where the world tells.", "size")
	readyWait     = histogram(waitBuckets, "escala_job_ready_wait_seconds", "From the submission to the first confirmed start.", "size")
	requeueWait   = histogram(waitBuckets, "escala_job_requeue_wait_seconds", "From the stop of a run to the next decision that assigns GPUs.", "size")
	queueTime     = histogram(waitBuckets, "escala_job_queue_time_seconds", "All time in the queue of jobs that ended, waits after stops included.", "size")
	completion    = histogram(waitBuckets, "escala_job_completion_seconds", "From the submission to the end, of jobs that ran.", "size")
)

// The loop and its journal.
var (
	ready           = gauge("escala_ready", "1 if changes can be made now.")
	writable        = gauge("escala_journal_writable", "0 while the journal cannot be written.")
	loopLag         = gauge("escala_loop_lag_seconds", "How long a request to the loop takes, or has been waiting by now.")
	batches         = counter("escala_journal_batches_total", "Batches on disk.")
	journalBytes    = counter("escala_journal_bytes_total", "Bytes written to the journal.")
	facts           = counter("escala_facts_total", "Facts taken in.")
	actions         = counter("escala_actions_total", "Actions decided.")
	decisions       = counter("escala_decisions_total", "Times that the engine was asked.")
	refusedFacts    = counter("escala_facts_refused_total", "Reports that were late, doubled or about nothing known.")
	retries         = counter("escala_journal_retries_total", "Writes of the journal that failed and were tried again.")
	segmentBytes    = gauge("escala_journal_segment_bytes", "Size of the segment that is written.")
	storeBytes      = gauge("escala_store_bytes", "What the journal and all beside it take on disk.")
	diskSize        = gauge("escala_disk_size_bytes", "Size of the file system of the state directory.")
	diskFree        = gauge("escala_disk_free_bytes", "What is free of it for the daemon.")
	lastDecision    = gauge("escala_last_decision_timestamp_seconds", "Unix time of the last decision.")
	decisionSeconds = histogram(workBuckets, "escala_decision_seconds", "Time of the decisions of an instant.")
	appendSeconds   = histogram(workBuckets, "escala_journal_append_seconds", "Time until a batch is safe on disk, retries included.")
	turnSeconds     = histogram(workBuckets, "escala_turn_seconds", "Time of one turn of the loop that changed something.")
	listeners       = gauge("escala_event_listeners", "Clients that listen to events.")
)

// Forecasts and activity.
var (
	forecastStarts = counter("escala_forecast_starts_total", "First starts of jobs for which a start was forecast.")
	forecastWithin = counter("escala_forecast_starts_within_p90_total", "Those of them that came by their P90.")
	forecastAge    = gauge("escala_forecast_age_seconds", "Age of the state that forecasts shown now rest on; absent while nothing waits.")
	activityRatio  = gauge("escala_gpu_activity_ratio", "Mean activity of the GPUs that were measured, by how much of a GPU each value is about; absent where none was.")
	activityGPUs   = gauge("escala_gpu_activity_measured_gpus", "GPUs that were measured.")
	memoryUsed     = gauge("escala_gpu_memory_used_bytes", "GPU memory in use, of the GPUs that tell.")
	memoryTotal    = gauge("escala_gpu_memory_size_bytes", "GPU memory, of the GPUs that tell.")
	anomalies      = gauge("escala_gpu_activity_anomalies", "Values of the last measurement that could not be, and were cut.")
)

// What goes out and comes in.
var (
	httpRequests  = counter("escala_http_requests_total", "Requests answered.", "route", "method", "code")
	httpSeconds   = histogram(workBuckets, "escala_http_request_seconds", "Time until the answer began.", "route")
	hookDelivered = counter("escala_webhook_delivered_total", "Events that a receiver took.", "hook")
	hookFailed    = counter("escala_webhook_failures_total", "Deliveries that failed, and are tried again or given up.", "hook")
	hookDropped   = counter("escala_webhook_dropped_total", "Events given up.", "hook")
	hookBehind    = gauge("escala_webhook_behind_batches", "Batches of the journal that a webhook has not looked at yet.", "hook")
	buildInfo     = gauge("escala_build_info", "1; what the program was built from.", "version", "revision", "goversion")
)
