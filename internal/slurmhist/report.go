package slurmhist

import (
	"strconv"

	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/workload"
)

// Report is what was used of a history and what was not: import.json.
type Report struct {
	SchemaVersion int    `json:"schemaVersion"`
	Source        string `json:"source"`
	Version       string `json:"version,omitempty"`
	// Inputs are the files and calls that were read.
	Inputs  []Input  `json:"inputs"`
	Records int      `json:"records"`
	Runs    int      `json:"runs"`
	Jobs    int      `json:"jobs"`
	GPUHour float64  `json:"gpu_hours"`
	Arrays  int      `json:"arrays"`
	From    string   `json:"from,omitempty"`
	To      string   `json:"to,omitempty"`
	Cluster Capacity `json:"cluster"`
	// LeftOut are jobs that are not in the workload, Simplified those that are there otherwise
	// than they were, by cause. A job may be in several causes of the latter.
	LeftOut    []Item `json:"left_out"`
	Simplified []Item `json:"simplified"`
	// Requeues are runs that ended with their job back in the queue, by how they ended;
	// GPUHours are those of work that was lost.
	Requeues  []Item    `json:"requeues"`
	Contracts Contracts `json:"contracts"`
	// Limits are rules of the site that are not modelled; their Jobs are QOS.
	Limits []Item `json:"limits_not_modelled"`
	// BrokenComments are comments for escala that cannot be read.
	BrokenComments []Item   `json:"broken_comments,omitempty"`
	Outages        *Outages `json:"outages,omitempty"`
	// Warnings are things that could not be asked.
	Warnings []string `json:"warnings,omitempty"`
	// Model says what of Slurm's configuration is in the policy of the replay.
	Model    Modelled  `json:"model"`
	Budgets  *Budgets  `json:"budgets,omitempty"`
	Fidelity *Fidelity `json:"fidelity,omitempty"`
	// Check has all figures of what happened and of the replay.
	Check *report.Check `json:"check,omitempty"`
	Files []Output      `json:"files"`
	Next  string        `json:"next"`

	requeued tally
	arrays   map[int64]bool
}

// Input is something that was read.
type Input struct {
	What string `json:"what"`
	// Name of the file, or the command.
	Name   string `json:"name,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Slurm is the version that wrote it.
	Slurm string `json:"slurm,omitempty"`
}

// Output is a file that was written.
type Output struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Capacity says what the cluster was made of.
type Capacity struct {
	Name  string   `json:"name"`
	Nodes int      `json:"nodes"`
	GPUs  int64    `json:"gpus"`
	Types []string `json:"types"`
	// Told nodes are from Slurm's description, Deduced ones from what ran.
	Told    int `json:"told"`
	Deduced int `json:"deduced"`
	// WithoutGPUs were left out; Split are nodes of several GPU types, which are several nodes
	// here; Large have more GPUs than a node may have.
	WithoutGPUs int `json:"without_gpus"`
	Split       int `json:"split"`
	Large       int `json:"cut_to_64_gpus,omitempty"`
	// Untyped: GPU types were left out, since jobs ran over several.
	Untyped bool `json:"types_left_out,omitempty"`
}

// Contracts counts jobs that declared something to escala.
type Contracts struct {
	Declared int     `json:"declared"`
	GPUHours float64 `json:"gpu_hours"`
}

func (r *Report) contracts(declared bool, d *draft) {
	if declared {
		r.Contracts.Declared++
		r.Contracts.GPUHours += d.hours
	}
	if d.first.task >= 0 {
		if r.arrays == nil {
			r.arrays = map[int64]bool{}
		}
		r.arrays[d.first.number] = true
	}
}

func (r *Report) again(d *runDraft, lost workload.Span, state string) {
	r.requeued.add(state, gpuHours(d.gpus, lost), "")
}

// count fills in what is counted at the end.
func (r *Report) count(h *History) {
	r.Jobs, r.Runs, r.Arrays = len(h.Workload.Jobs), len(h.Runs), len(r.arrays)
	for i := range h.drafts {
		r.GPUHour += h.drafts[i].hours
	}
	r.GPUHour, r.Contracts.GPUHours = round(r.GPUHour), round(r.Contracts.GPUHours)
	r.Requeues = r.requeued.list()
	c := &r.Cluster
	c.Name, c.Nodes, c.GPUs, c.Types = h.Cluster.Name, len(h.Cluster.Nodes), h.Cluster.GPUs(), []string{}
	seen := map[string]bool{}
	for i := range h.Cluster.Nodes {
		if t := h.Cluster.Nodes[i].GPUType; t != "" && !seen[t] {
			seen[t] = true
			c.Types = append(c.Types, t)
		}
	}
	if r.LeftOut == nil {
		r.LeftOut = []Item{}
	}
	if r.Simplified == nil {
		r.Simplified = []Item{}
	}
	if r.Limits == nil {
		r.Limits = []Item{}
	}
	if r.Requeues == nil {
		r.Requeues = []Item{}
	}
	e := h.Workload.Epoch
	r.From, r.To = stamp(e+h.Workload.Jobs[0].Submit), stamp(e+h.end())
}

func (h *History) end() (end workload.Time) {
	for i := range h.Runs {
		end = max(end, h.Runs[i].End)
	}
	return end
}

// Empty tells whether no job is in the figures.
func (h *History) Empty() bool {
	_, last := h.Workload.Window()
	return h.since != 0 && last < h.since
}

// Note writes into the workload what every comparison of it should say.
func (h *History) Note() {
	w, r := h.Workload, h.Report
	w.Source = "Slurm's accounting"
	w.Dropped = nil
	for _, i := range r.LeftOut {
		w.Dropped = append(w.Dropped, workload.Dropped{Cause: i.Cause, Count: i.Jobs, First: i.Example})
	}
	line := "How far to believe it: not known, no replay of the recorded policy was made."
	if r.Fidelity != nil {
		line = r.Fidelity.Line
	}
	w.Notes = append(w.Notes, line)
	if c := &r.Cluster; c.Told == 0 {
		w.Notes = append(w.Notes, "The cluster was deduced from what ran: GPUs that were never in use at once are missing.")
	}
	jobs := 0
	for _, i := range r.Simplified {
		jobs = max(jobs, i.Jobs)
	}
	if len(r.Simplified) > 0 {
		w.Notes = append(w.Notes, "Imported from Slurm with simplifications of "+strconv.Itoa(len(r.Simplified))+" kinds, the most frequent of "+strconv.Itoa(jobs)+" jobs: import.json lists them.")
	}
}
