package slurm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/escala-sched/escala/trace"
)

// DecodeJobs reads the jobs that squeue --json, scontrol show job --json and slurmrestd write, of Slurm 21.08 and later.
// Jobs that cannot be read are left out and told. Slurm tells those too that ended of late.
func DecodeJobs(data []byte) (jobs []Job, odd []error, err error) {
	list, err := objects(data, "jobs")
	if err != nil {
		return nil, nil, err
	}
	for _, o := range list {
		j, err := o.job()
		if err != nil {
			odd = append(odd, fmt.Errorf("job %d: %w", j.Number, err))
			continue
		}
		jobs = append(jobs, j)
	}
	return jobs, odd, nil
}

func (o object) job() (j Job, err error) {
	j.Number, j.Het = o.whole("job_id"), o.whole("het_job_id")
	if j.Number <= 0 {
		return j, fmt.Errorf("%v is no ID", o["job_id"])
	}
	j.State = waits(jobState(o.list("job_state")))
	if j.State == "" {
		return j, fmt.Errorf("%v is no state", o["job_state"])
	}
	j.Reason, j.User, j.UID, j.Account, j.QOS, j.Partitions = o.text("state_reason"), o.text("user_name"), o.whole("user_id"), o.text("account"), o.text("qos"), o.list("partition")
	if d := o.text("state_description"); d != "" {
		j.Reason = d
	}
	j.Submit, j.Eligible, j.Start, j.End, j.Limit = o.time("submit_time"), o.time("eligible_time"), o.time("start_time"), o.time("end_time"), o.minutes("time_limit")
	j.Where, j.Features, j.Licenses, j.Reservation = o.text("required_nodes"), o.text("features"), o.text("licenses"), o.text("resv_name")
	j.NumNodes, j.NumTasks, j.NumCPUs, j.CPUsPerTask = o.count("node_count"), o.count("tasks"), o.count("cpus"), o.count("cpus_per_task")
	j.PerJob, j.PerNode, j.PerSocket, j.PerTask = o.text("tres_per_job"), o.text("tres_per_node"), o.text("tres_per_socket"), o.text("tres_per_task")
	for _, word := range append(o.list("shared"), o.list("exclusive")...) {
		switch strings.ToLower(word) {
		case "none", "user", "mcs", "true", "topo":
			j.Exclusive = true
		}
	}
	j.Dependency, j.Nice, j.Restarts, j.Requeue, j.Batch = o.text("dependency"), o.whole("nice"), o.count("restart_cnt"), o.yes("requeue"), o.yes("batch_flag")
	priority, _ := o.number("priority")
	j.Priority = priority / 0xffffffff // as squeue shows it
	j.Name, j.Comment, j.AdminComment, j.Command, j.WorkDir, j.Excluded = raw(o["name"]), raw(o["comment"]), raw(o["admin_comment"]), raw(o["command"]), raw(o["current_working_directory"]), o.text("excluded_nodes")
	j.HetOffset, j.MaxNodes = o.count("het_job_offset"), max(o.count("max_nodes"), j.NumNodes)
	j.MemoryPerNode, j.MemoryPerCPU = max(o.whole("memory_per_node"), 0), max(o.whole("memory_per_cpu"), 0)
	j.Deadline, j.MinLimit = o.time("deadline"), o.minutes("time_minimum")
	j.Allocated, j.Exit = o.text("tres_alloc_str"), o.exit()
	if err := o.names(&j); err != nil {
		return j, err
	}
	return j, o.gpus(&j)
}

// raw is a text of an owner, as it is.
func raw(v any) string {
	s, _ := v.(string)
	return s
}

// names reads which job it is, and where.
func (o object) names(j *Job) (err error) {
	j.ID = strconv.FormatInt(j.Number, 10)
	if array := o.whole("array_job_id"); array > 0 {
		j.Array, j.Throttle = array, int32(min(o.count("array_max_tasks"), math.MaxInt32))
		spec := o.text("array_task_string")
		if task, told := o.number("array_task_id"); told && spec == "" {
			spec = strconv.FormatInt(int64(task), 10)
		}
		if err := j.task(spec); err != nil {
			return err
		}
		if j.Tasks == nil {
			j.Throttle = 0
		}
	}
	nodes := o.text("nodes")
	if nodes == "" {
		nodes = o.in("job_resources").text("nodes")
	}
	if j.Nodes, err = Hosts(nodes); err != nil {
		return err
	}
	if len(j.Nodes) == 0 {
		j.Allocated = ""
	}
	return nil
}

// gpus reads the GPUs of each node: one item of the list for each.
func (o object) gpus(j *Job) error {
	detail := o.list("gres_detail")
	if len(detail) != len(j.Nodes) {
		return nil
	}
	for i, text := range detail {
		g, err := trace.ParseGPUs(text)
		if err != nil {
			return fmt.Errorf("gres_detail %q: %w", text, err)
		}
		if g.Count == 0 {
			continue
		}
		if j.GPUsOn == nil {
			j.GPUsOn = map[string]trace.GPUs{}
		}
		j.GPUsOn[j.Nodes[i]] = g
	}
	return nil
}

// exit reads the status of wait(2), or an object that tells code and signal.
func (o object) exit() int32 {
	e := o.in("exit_code")
	if e == nil || e["number"] != nil {
		return exitOf(uint32(max(o.whole("exit_code"), 0) & 0xffff))
	}
	if sig := e.in("signal").whole("id", "signal_id"); sig > 0 && sig < 128 {
		return 128 + int32(sig)
	}
	return int32(e.whole("return_code") & 0xff)
}

// flagStates are shown by squeue instead of the state that they are added to, the first of them that is there.
var flagStates = []string{Completing, "STAGE_OUT", Configuring, "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING"}

// waits: what Slurm queued anew on hold waits like any other that is on hold.
func waits(state string) string {
	switch state {
	case "REQUEUE_HOLD", "SPECIAL_EXIT":
		return Pending
	}
	return state
}

// jobState is the one that squeue shows.
func jobState(list []string) string {
	for _, f := range flagStates {
		if slices.Contains(list, f) {
			return f
		}
	}
	if len(list) == 0 {
		return ""
	}
	return strings.ToUpper(list[0])
}

// DecodeNodes reads the nodes that scontrol show node --json, slurmrestd and sinfo --json (of 21.08 and 22.05) write.
func DecodeNodes(data []byte) ([]Node, error) {
	list, err := objects(data, "nodes")
	if err != nil {
		return nil, err
	}
	var out []Node
	for _, o := range list {
		n := Node{Name: o.text("name"), Reason: o.text("reason"), Partitions: o.list("partitions"), CPUs: o.count("effective_cpus", "cpus"), Memory: o.whole("real_memory"), CPUsUsed: o.count("alloc_cpus"), MemoryUsed: o.whole("alloc_memory")}
		if n.Name == "" {
			return nil, fmt.Errorf("a node has no name")
		}
		if n.Features = o.list("active_features"); n.Features == nil {
			n.Features = o.list("features")
		}
		states := append(o.list("state"), o.list("state_flags")...)
		n.State, n.Flags = nodeState(strings.ToUpper(strings.Join(states, "+")))
		if g := o.text("gres"); g != "" {
			if n.GPUs, err = trace.ParseGPUs(g); err != nil {
				return nil, fmt.Errorf("node %s: gres %q: %w", n.Name, g, err)
			}
			n.GPUsUsed = gpusUsed(o.text("gres_used"))
		}
		out = append(out, n)
	}
	return out, nil
}

// DecodeReservations reads the reservations that scontrol show reservation --json and slurmrestd write. now tells which
// are active.
func DecodeReservations(data []byte, now time.Time) ([]Reservation, error) {
	list, err := objects(data, "reservations")
	if err != nil {
		return nil, err
	}
	var out []Reservation
	for _, o := range list {
		r := Reservation{Name: o.text("name"), Start: o.time("start_time"), End: o.time("end_time"), Cores: o.count("core_count"), Partition: o.text("partition"), Flags: o.list("flags"),
			Users: o.list("users"), Accounts: o.list("accounts"), Groups: o.list("groups"), Licenses: o.text("licenses")}
		for i, f := range r.Flags {
			r.Flags[i] = strings.ToUpper(f)
		}
		if r.Nodes, err = Hosts(o.text("node_list")); err != nil {
			return nil, fmt.Errorf("reservation %s: %w", r.Name, err)
		}
		r.Active = !now.Before(r.Start) && now.Before(r.End)
		out = append(out, r)
	}
	return out, nil
}

// DecodePartitions reads the partitions that scontrol show partition --json and slurmrestd write. Slurm 23.02 and later do
// not tell there which is the default one, how nodes are shared and who is preempted how; 23.02 no state either.
func DecodePartitions(data []byte) ([]Partition, error) {
	list, err := objects(data, "partitions")
	if err != nil {
		return nil, err
	}
	var out []Partition
	for _, o := range list {
		p, err := o.partition()
		if err != nil {
			return nil, fmt.Errorf("partition %s: %w", p.Name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// partition reads one, of which the settings are flat until 22.05 and grouped after that.
func (o object) partition() (p Partition, err error) {
	p = Partition{Name: o.text("name"), State: o.text("state"), Default: slices.Contains(o.list("flags"), "default"), QOS: o.text("qos"), MinNodes: o.count("min nodes per job"), Tier: o.count("priority_tier"),
		DefaultTime: o.minutes("default_time_limit"), MaxTime: o.minutes("max_time_limit"), Grace: time.Duration(o.count("preemption_grace_time", "grace_time")) * time.Second,
		AllowAccounts: o.list("allowed_accounts"), AllowGroups: o.list("allowed_groups"), AllowQOS: o.list("allowed_qos"), DenyAccounts: o.list("denied_accounts"), DenyQOS: o.list("denied_qos"), PreemptMode: o.list("preemption_mode")}
	nodes, most := o.text("nodes"), o.whole("maximum_nodes_per_job")
	for i, m := range p.PreemptMode {
		p.PreemptMode[i] = strings.ToUpper(m)
	}
	if in := o.in("nodes"); in != nil {
		p.State, p.QOS, nodes, most = strings.Join(o.in("partition").list("state"), "+"), o.in("qos").text("assigned"), in.text("configured"), o.in("maximums").whole("nodes")
		p.DefaultTime, p.MaxTime, p.MinNodes, p.Tier = o.in("defaults").minutes("time"), o.in("maximums").minutes("time"), o.in("minimums").count("nodes"), o.in("priority").count("tier")
		p.AllowAccounts, p.AllowGroups, p.AllowQOS = o.in("accounts").list("allowed"), o.in("groups").list("allowed"), o.in("qos").list("allowed")
		p.DenyAccounts, p.DenyQOS = o.in("accounts").list("deny"), o.in("qos").list("deny")
	}
	if p.MaxNodes = Unlimited; most > 0 && most < Unlimited {
		p.MaxNodes = int(most)
	}
	p.Nodes, err = Hosts(nodes)
	return p, err
}
