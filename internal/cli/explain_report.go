package cli

import (
	"fmt"
	"strings"

	"github.com/escala-sched/escala/engine"
	"github.com/escala-sched/escala/fact"
	"github.com/escala-sched/escala/internal/journal"
	"github.com/escala-sched/escala/internal/report"
	"github.com/escala-sched/escala/workload"
)

// explainSchema is the version of the JSON that explain prints. Keys are added within
// a version, never renamed or removed.
const explainSchema = 1

// explainer makes the explanation of one job.
type explainer struct {
	path    string
	header  *journal.Header
	history *history
	folded  *journal.Folded
	found   engine.Explanation
}

// explained is what explain prints as JSON. Times are seconds of the workload's
// clock, GPU-time is GPU-hours.
type explained struct {
	SchemaVersion int    `json:"schemaVersion"`
	Journal       string `json:"journal"`
	Policy        string `json:"policy"`
	Cluster       string `json:"cluster"`
	// EpochUnix is absent without a calendar.
	EpochUnix *float64 `json:"epochUnix,omitempty"`
	At        float64  `json:"at"`
	Job       jobBrief `json:"job"`
	State     string   `json:"state"`
	Since     *float64 `json:"since,omitempty"`
	Outcome   string   `json:"outcome,omitempty"`
	// Why it waits, was refused, or ended without having run.
	Why   *whyReport  `json:"why,omitempty"`
	Waits *waitReport `json:"waits,omitempty"`
	Run   *runReport  `json:"run,omitempty"`
	// Plan is the proposed one that its run follows, or that is followed while it waits.
	Plan *proposedReport `json:"plan,omitempty"`
	// Ran is what the last run of a job that ended was, under policies with budgets.
	Ran *ranReport `json:"ran,omitempty"`
	// Held is the place that is kept for it.
	Held    []nodeShare  `json:"held,omitempty"`
	Stop    *stopReport  `json:"stop,omitempty"`
	Account *accountView `json:"account,omitempty"`
	// Elsewhere is its account in the other pools that it may run in while it waits.
	Elsewhere []*accountView `json:"elsewhere,omitempty"`
	// Starts so far, and Stops of runs that were.
	Starts int `json:"starts"`
	Stops  int `json:"stops"`
	// withdrawn before it started, having waited so many seconds.
	withdrawn bool
	waited    float64
}

type jobBrief struct {
	ID     string  `json:"id"`
	Number int32   `json:"number"`
	User   string  `json:"user,omitempty"`
	Team   string  `json:"team,omitempty"`
	GPUs   float64 `json:"gpus"`
}

type whyReport struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// waitReport is what concerns a waiting job alone.
type waitReport struct {
	Rank int    `json:"rank"`
	Of   int    `json:"of"`
	Need string `json:"need"`
	Free int32  `json:"freeGPUs"`
	// Most is the largest block in its shape of Want that it needs, in Unit: gpus, or
	// tasks (parts on one node each) of a job that is cut over nodes.
	Most int32  `json:"largestBlock"`
	Want int32  `json:"blockWanted"`
	Unit string `json:"blockUnit"`
	// Text says the same in words.
	Text string      `json:"text"`
	Date *dateReport `json:"promised,omitempty"`
	// Undated says why a job that is large enough for a date has none.
	Undated *whyReport `json:"notPromised,omitempty"`
	// Unallocated: it waits to run charged to nobody, as number FillRank of FillOf such.
	Unallocated bool          `json:"unallocated,omitempty"`
	FillRank    int           `json:"unallocatedRank,omitempty"`
	FillOf      int           `json:"unallocatedOf,omitempty"`
	Head        []aheadReport `json:"ahead"`
	Safe        []safeReport  `json:"protections"`
	// More protections than are listed.
	More int `json:"moreProtections"`
}

type dateReport struct {
	At   float64 `json:"at"`
	Text string  `json:"text,omitempty"`
}

type aheadReport struct {
	jobBrief
	Rank int    `json:"rank"`
	Why  string `json:"why"`
	Text string `json:"text"`
}

type safeReport struct {
	jobBrief
	Until float64 `json:"until"`
}

// explain makes the report of the job that was found.
func (x *explainer) explain() *explained {
	h := x.history
	x.found, _ = x.folded.Engine.Explain(h.number)
	out := &explained{SchemaVersion: explainSchema, Journal: x.path, Policy: x.header.Policy.Name, Cluster: x.header.Cluster.Name,
		At: inSeconds(x.folded.Now), Job: x.brief(h.number), State: x.found.State, Starts: len(h.runs)}
	if e := x.header.Workload.Epoch; e != workload.Unknown {
		unix := inSeconds(e)
		out.EpochUnix = &unix
	}
	if t := x.since(); t != workload.Unknown {
		since := inSeconds(t)
		out.Since = &since
	}
	for i := range h.runs {
		if h.runs[i].stop != nil || h.runs[i].end.Kind == fact.JobStopped {
			out.Stops++
		}
	}
	x.reason(out)
	if out.withdrawn = x.withdrawn(); out.withdrawn {
		out.waited = inSeconds(h.cancelled - h.jobs[h.number].spec.Submit)
	}
	switch x.found.State {
	case "waiting":
		out.Waits = x.waits()
	case "starting", "running", "stopping":
		out.Run = x.run(h.run())
	case "held":
		out.Held = x.places(h.held.Place)
	case "ended":
		out.Ran = x.ran(h.run())
	}
	out.Plan = x.proposed()
	if r := h.lastStop(); r != nil {
		out.Stop = x.stopped(r)
	}
	if x.found.Account != nil && x.found.State != "ended" {
		out.Account = x.account(x.found.Account)
		for _, a := range x.found.Elsewhere {
			out.Elsewhere = append(out.Elsewhere, x.account(a))
		}
	}
	return out
}

func inSeconds(t workload.Time) float64 { return float64(t) / 1000 }

func (x *explainer) brief(n int32) jobBrief {
	j := x.history.jobs[n].spec
	return jobBrief{ID: j.ID, Number: n, User: j.User, Team: j.Team, GPUs: float64(j.Need.TotalMilli()) / 1000}
}

// reason says why the job does not run.
func (x *explainer) reason(out *explained) {
	h := x.history
	switch {
	case h.refused.At != workload.Unknown && (out.State == "refused" || out.State == "stuck"):
		out.Why = x.why(h.refused.Reason)
	case out.State == "ended":
		out.Outcome = workload.OutcomeCancelled.String() // unless its last run says otherwise
		r := h.run()
		switch {
		case r != nil && r.end.Kind == fact.JobFinished:
			out.Outcome = r.end.Outcome.String()
		case r != nil && r.end.Kind == fact.JobStopped && h.cancelled == workload.Unknown:
			out.Outcome = workload.OutcomePreempted.String()
		}
	case x.found.Waits:
		out.Why = x.why(x.found.Why)
		out.Why.Text = x.waitText(out.Why.Text)
	}
}

// waitText is the sentence of a reason to wait. Two of them read otherwise where
// they are reasons to act: a date that has come, and a hold for another job. The
// guard's can be told with numbers.
func (x *explainer) waitText(text string) string {
	f := &x.found
	switch {
	case f.State == "held" && len(x.history.victims) > 0:
		var names []string
		for _, n := range x.history.victims {
			names = append(names, x.history.jobs[n].spec.ID)
		}
		return fmt.Sprintf("Its place is held until %s that stopped for it %s left: %s.", pick(len(names) == 1, "the job", "the jobs"),
			pick(len(names) == 1, "has", "have"), strings.Join(names, ", "))
	case f.Why.Code == fact.GuardOff && f.Why.Want == 0 && f.Account != nil:
		return x.guardText()
	case f.Why.Code == fact.Promised && f.Block < f.Want:
		return fmt.Sprintf("It has a reservation for %s and does not fit before: %s.", x.Time(f.Promised), blockText(f.Free, f.Block, f.Want, f.Need))
	case f.Why.Code == fact.Promised:
		return fmt.Sprintf("It has a reservation for %s, and waits for it.", x.Time(f.Promised))
	}
	return text
}

// blockText says what is free in a shape: GPUs, or parts of a job that is cut over nodes.
func blockText(free, block, want, need int32) string {
	text := pick(free == 1, "1 GPU is free", gpusText(free)+" are free")
	switch {
	case block >= want:
		return text + ", and its shape fits"
	case free == 0:
		return text
	case want == need:
		return text + fmt.Sprintf(", the largest block in its shape is %d of %d", block, want)
	}
	return text + fmt.Sprintf(", with room in its shape for %d of its %d parts", block, want)
}

func (x *explainer) why(r fact.Reason) *whyReport {
	return &whyReport{Code: r.Code.String(), Text: report.Sentence(r, x)}
}

// since is when the job came into its state, [workload.Unknown] where that is not told.
func (x *explainer) since() workload.Time {
	h := x.history
	r := h.run()
	switch x.found.State {
	case "blocked":
		return h.jobs[h.number].spec.Submit
	case "waiting":
		return x.queued()
	case "held":
		return h.held.At
	case "starting":
		return r.start.At
	case "running":
		return r.confirmed
	case "stopping":
		if r.stop != nil {
			return r.stop.action.At
		}
	case "refused", "stuck":
		return h.refused.At
	case "ended":
		return h.jobs[h.number].ended
	}
	return workload.Unknown
}

// queued is when a waiting job began to wait: when its last run was over, or when it
// was submitted and what it depends on had ended.
func (x *explainer) queued() workload.Time {
	h := x.history
	if r := h.run(); r != nil {
		return r.left
	}
	j := h.jobs[h.number].spec
	t := j.Submit
	if len(j.After) == 0 {
		return t
	}
	needs := map[string]bool{}
	for _, d := range j.After {
		needs[d.Job] = true
	}
	for i := range h.jobs {
		if o := &h.jobs[i]; needs[o.spec.ID] {
			t = max(t, o.ended)
		}
	}
	return t
}

// mostProtections is how many are listed.
const mostProtections = 5

func (x *explainer) waits() *waitReport {
	f := &x.found
	w := &waitReport{Rank: f.Rank, Of: f.Waiting, Need: x.history.jobs[x.history.number].spec.Need.String(), Free: f.Free, Most: f.Block, Want: f.Want,
		Unit: pick(f.Want == f.Need, "gpus", "tasks"), Text: blockText(f.Free, f.Block, f.Want, f.Need),
		Head: []aheadReport{}, Safe: []safeReport{}}
	if f.Promised != 0 {
		w.Date = &dateReport{At: inSeconds(f.Promised)}
		if d := &x.history.dated; d.At != workload.Unknown {
			w.Date.Text = report.Sentence(d.Reason, x)
		}
	} else {
		w.Undated = x.undated()
	}
	if f.Account != nil && f.Fill {
		w.Unallocated = true
		w.FillRank, w.FillOf = x.fillRank()
	}
	for i, n := range f.Ahead {
		r := x.ahead(n, x.history.number)
		w.Head = append(w.Head, aheadReport{x.brief(n), f.Rank - len(f.Ahead) + i, r.code, r.text})
	}
	for i, p := range f.Protections {
		if i == mostProtections {
			w.More = len(f.Protections) - i
			break
		}
		w.Safe = append(w.Safe, safeReport{x.brief(p.Job), inSeconds(p.Until)})
	}
	return w
}
